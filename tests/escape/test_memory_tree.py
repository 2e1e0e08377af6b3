"""A memory limit for each process is none for a tree: four children with a quarter each."""
import pytest

import backends
from support import PRELUDE, PYTHON, inside, outside, run

CODE = """
import mmap
def hold(mib):
    m = mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(0, mib << 20, 4096): m[i] = 1
    return m
kids = []
for _ in range(5):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        m = hold(60); os.write(w, b'x'); signal.pause(); os._exit(0)
    kids.append((pid, r)); os.close(w)
got = [os.read(r, 1) for _, r in kids]
for pid, _ in kids: os.kill(pid, 9); os.waitpid(pid, 0)
say(got.count(b'x'))
"""


def test_memory_tree():
    assert outside(CODE).answer == 5
    r = inside(CODE, "--mem", "128M", status="MEM_LIMIT")
    assert (r.rc, r.doc["rc"]) == (137, 137) and "5" not in r.text


HIDDEN = {
    "memfd": "fd = os.memfd_create('x')\nfor _ in range(200): os.write(fd, b'x' * (1 << 20))",
    "tmpfs": "f = open('/tmp/f', 'wb')\nfor _ in range(200): f.write(b'x' * (1 << 20))",
    "shm": "f = open('/dev/shm/f', 'wb')\nfor _ in range(200): f.write(b'x' * (1 << 20))",
    "sysv": "i = sc('shmget', 0, 200 << 20, 0o1600)\n"
            "assert isinstance(i, int), i\n"
            "libc.shmat.restype = ctypes.c_void_p\n"
            "p = libc.shmat(i, None, 0)\nctypes.memset(p, 1, 200 << 20)",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_memory_that_no_process_shows(how):
    """Pages without a resident size: bounded all the same, or the call does not exist."""
    code = HIDDEN[how] + "\nsay('has it all')"
    if backends.BACKEND == "native":  # others lack some of it altogether
        assert inside(code, "--mem", "none", "--tmp", "1G").answer == "has it all", "the control"
    r = run("--mem", "96M", "--tmp", "1G", "--", PYTHON, "-c", PRELUDE + code)
    assert "has it all" not in r.doc["stdout"], r.told()
    assert r.doc["status"] in ("MEM_LIMIT", "NONZERO_EXIT", "SIGNALED"), r.told()
