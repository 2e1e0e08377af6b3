"""cordon's own program is overwritten through /proc/1/exe: the next run is the payload's."""
import hashlib
import shutil

import pytest

from support import BIN, inside

CODE = """
r = {}
for pid in [p for p in os.listdir('/proc') if p.isdigit()]:
    path = f'/proc/{pid}/exe'
    if int(pid) == os.getpid(): continue
    r[pid] = [tried(lambda: os.readlink(path)), tried(lambda: os.open(path, os.O_RDONLY)),
              tried(lambda: os.open(path, os.O_WRONLY)),
              tried(lambda: os.open(path, os.O_PATH))]
r['self'] = tried(lambda: os.open('/proc/self/exe', os.O_WRONLY))
say(r)
"""


@pytest.mark.parametrize("uid", ["nobody", "caller"])
def test_own_binary(place, uid):
    own = place / "cordon"
    shutil.copy(BIN, own)
    own.chmod(0o777)
    with open(own, "r+b") as f:
        assert f.read(4) == b"\x7fELF", "the control: the caller may write it"
    digest = hashlib.sha256(own.read_bytes()).hexdigest()
    r = inside(CODE, "--uid", uid, binary=str(own)).answer
    assert "1" in r
    assert all(why in ("EACCES", "EPERM") for why in r["1"]), r["1"]
    assert r["self"] in ("EACCES", "EROFS", "ETXTBSY", "EPERM")
    assert hashlib.sha256(own.read_bytes()).hexdigest() == digest
