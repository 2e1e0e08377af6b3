"""Devices: nothing but the harmless ones, and those not open for what they do not need."""
from support import cordon, inside, outside

CODE = """
import stat
seen = {}
for top, dirs, files in os.walk('/dev'):
    for n in files:
        p = top + '/' + n
        m = os.lstat(p)
        if stat.S_ISCHR(m.st_mode) or stat.S_ISBLK(m.st_mode):
            seen[p] = [os.major(m.st_rdev), os.minor(m.st_rdev), stat.S_ISBLK(m.st_mode)]
say(seen)
"""
HARMLESS = {"/dev/null": [1, 3], "/dev/zero": [1, 5], "/dev/full": [1, 7], "/dev/random": [1, 8],
            "/dev/urandom": [1, 9], "/dev/tty": [5, 0], "/dev/ptmx": [5, 2],
            "/dev/pts/ptmx": [5, 2]}


def test_devices():
    assert len(outside(CODE).answer) > len(HARMLESS), "the host has more"
    seen = inside(CODE).answer
    for path, (major, minor, block) in seen.items():
        assert HARMLESS.get(path) == [major, minor] and not block, path


def test_random_cannot_be_written():
    """Only Landlock refuses this, so it also shows that Landlock is in force."""
    code = "say(tried(lambda: os.open('/dev/urandom', os.O_WRONLY)))"
    assert outside(code).answer == "ok"
    assert inside(code).answer == "EACCES"


def test_no_device_through_a_bind_of_dev():
    r = cordon("run", "--ro", "/dev:/hostdev", "--", "sh", "-c", "head -c1 /hostdev/zero")
    assert r.rc != 0 and r.out == b"", r.told()
