"""Filling the private file systems eats the host's memory."""
from support import inside, outside

CODE = """
def fill(path, mib):
    try: f = open(path, 'wb', 0)
    except OSError as e: return errno.errorcode[e.errno]
    r = tried(lambda: [f.write(b'x' * (1 << 20)) for _ in range(mib)])
    f.close(); os.unlink(path)
    return r
"""
PLACES = ["/tmp/f", "/work/f", "/dev/shm/f"]


def test_tmpfs_fill(place):
    assert outside(CODE + f"say(fill({str(place / 'f')!r}, 24))").answer == "ok"
    r = inside(CODE + f"say([fill(p, 24) for p in {PLACES!r}])", "--tmp", "4M")
    assert r.answer == ["ENOSPC"] * 3


def test_no_other_place_takes_anything():
    r = inside("""
seen = {}
for top, dirs, files in os.walk('/'):
    if top.startswith(('/proc', '/tmp', '/work', '/dev/shm')): dirs[:] = []; continue
    if top.count('/') > 3: dirs[:] = []
    p = top + '/probe'
    try: os.close(os.open(p, os.O_WRONLY | os.O_CREAT)); seen[top] = 'ok'
    except OSError as e: pass
say(seen)
""")
    assert r.answer == {}


def test_inodes_are_bounded_too():
    """A million empty files weigh as much as data."""
    r = inside("""
n = 0; why = 'ok'
try:
    while n < 300000:
        os.close(os.open(f'/tmp/{n}', os.O_CREAT | os.O_WRONLY)); n += 1
except OSError as e: why = errno.errorcode[e.errno]
say([n, why])
""", "--tmp", "1M")
    assert r.answer[1] == "ENOSPC", r.answer
