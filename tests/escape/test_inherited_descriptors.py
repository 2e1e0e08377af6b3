"""A descriptor that the caller left open is used by the payload."""
import os

from support import inside, outside

READ = """
try: got = os.read(int({fd}), 100).decode()
except OSError as e: got = errno.errorcode[e.errno]
say([got, sorted(int(f) for f in os.listdir('/proc/self/fd'))])
"""


def test_inherited_descriptors(place):
    (place / "secret").write_text("secret")
    with open(place / "secret", "rb") as f:
        high = os.dup2(f.fileno(), 900)
        code = READ.format(fd=f.fileno())
        assert outside(code, pass_fds=[f.fileno(), high]).answer[0] == "secret"
        f.seek(0)
        got, fds = inside(code, pass_fds=[f.fileno(), high]).answer
        os.close(high)
    assert got == "EBADF"
    assert fds[:3] == [0, 1, 2] and len(fds) <= 4 and fds[-1] <= 4  # listdir's own is the fourth


def test_inherited_directory_as_a_way_out(place):
    """fchdir or openat on a directory of the host."""
    (place / "secret").write_text("secret")
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    code = f"say(tried(lambda: os.open('secret', os.O_RDONLY, dir_fd={fd})))"
    try:
        assert outside(code, pass_fds=[fd]).answer == "ok"
        assert inside(code, pass_fds=[fd]).answer == "EBADF"
    finally:
        os.close(fd)
