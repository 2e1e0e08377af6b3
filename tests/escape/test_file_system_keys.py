"""The key of an encrypted directory is the caller's by his number, and a file that is open for reading reaches it."""
import pytest

from support import inside, outside

# Of a file system that is not encrypted the answer is that it is not: the request has reached it.
WAYS = {"set policy": 0x800c6613, "add": 0xc0506617, "remove": 0xc0406618, "remove for all": 0xc0406619}


@pytest.mark.parametrize("how", WAYS)
def test_keys(place, how):
    code = f"""
import fcntl
with open({str(place / 'file')!r}) as f:
    say(tried(fcntl.ioctl, f, {WAYS[how]}, bytes(128)))
"""
    (place / "file").write_text("text")
    assert outside(code).answer != "EPERM"
    assert inside(code, "--ro", place).answer == "EPERM"
