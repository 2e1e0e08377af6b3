"""/proc/self/fd/0 opens the caller's file again, with other rights than it was handed."""
import json
import subprocess

from support import BIN, ENV, PRELUDE, PYTHON

CODE = """
def rewrite(fd):
    f = os.open(f'/proc/self/fd/{fd}', os.O_WRONLY | os.O_NONBLOCK)
    os.pwrite(f, b'OVERWRITTEN', 0)
def truncate(fd):
    os.open(f'/proc/self/fd/{fd}', os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK)
def read(fd):
    f = os.open(f'/proc/self/fd/{fd}', os.O_RDONLY | os.O_NONBLOCK)
    return os.pread(f, 100, 0)
r = {n: tried(f, fd) for n, f, fd in (('rewrite 0', rewrite, 0), ('read 1', read, 1),
     ('truncate 2', truncate, 2), ('seek', lambda fd: os.lseek(fd, 0, 0), 1),
     ('ftruncate', lambda fd: os.ftruncate(fd, 0), 1),
     ('fchmod', lambda fd: os.fchmod(fd, 0o777), 1))}
"""


def attempt(place, argv):
    (place / "in").write_bytes(b"input")
    (place / "log").write_bytes(b"earlier lines\n")
    with open(place / "in", "rb") as i, open(place / "log", "ab") as o, \
            open(place / "log2", "ab") as e:
        e.write(b"earlier errors\n")
        e.flush()
        subprocess.run([*argv, PYTHON, "-c", PRELUDE + CODE + "say(r)"], env=ENV, stdin=i,
                       stdout=o, stderr=e, check=False, timeout=60)
    return (place / "in").read_bytes(), (place / "log").read_bytes(), \
        (place / "log2").read_bytes()


def test_reopened_stdio(place):
    text, log, log2 = attempt(place, [])
    assert text != b"input" and b"earlier" not in log2, "the control: outside it works"
    (place / "log2").unlink()
    mode = (place / "log").stat().st_mode
    text, log, log2 = attempt(place, [BIN, "run", "--"])
    assert text == b"input"
    assert log.startswith(b"earlier lines\n") and log2.startswith(b"earlier errors\n")
    assert (place / "log").stat().st_mode == mode
    answer = json.loads(log.splitlines()[-1])
    assert answer["rewrite 0"] in ("ESPIPE", "EACCES", "EPERM"), answer
    assert answer["seek"] == "ESPIPE"
