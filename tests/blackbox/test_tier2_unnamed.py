"""Without namespaces init hands on what would write: a call that the listener has no room for is counted, at least."""
import json
import os
import re
import select
import signal
import subprocess

from support import BIN, ENV, PYTHON
from tier2 import USER, mine, own  # noqa: F401

CALLS = 100
# Long names, so that few of them fill the way to the listener.
CODE = f"""
import os, sys, threading
path = '/' + './' * 1800 + sys.argv[1].lstrip('/')
def write():
    try: os.open(path, os.O_WRONLY)
    except OSError: pass
print('ready', flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=write) for _ in range({CALLS})]
for t in threads: t.start()
print('asked', flush=True)
for t in threads: t.join()
"""


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return list(map(int, f.read().split()))


def test_what_cannot_be_handed_on_is_counted(refuse, mine):  # noqa: F811
    kept = own(mine / "kept")
    argv = [*USER, refuse, "newuser=EPERM", "--", BIN, "run", "--backend", "native", "--profile", "test", "--quiet",
            "--result", "fd:2", "--", PYTHON, "-c", CODE, kept]
    with subprocess.Popen(argv, env=ENV, cwd=mine, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        listeners = [pid for pid in children(p.pid) if children(pid) == []]
        assert len(listeners) == 1, "init has a child"
        os.kill(listeners[0], signal.SIGSTOP)
        p.stdin.write(b"\n")
        p.stdin.flush()
        while not select.select([p.stdout], [], [], 0.1)[0]:
            os.kill(listeners[0], signal.SIGSTOP)  # the supervisor wakes it within a second
        assert p.stdout.readline() == b"asked\n"
        told = p.communicate(timeout=60)[1].decode()
    doc = json.loads(told[told.index("{"):])
    named = sum(v["count"] for v in doc["violations"])
    unnamed = sum(int(n) for w in doc["warnings"] for n in re.findall(r"^(\d+) calls of", w))
    assert named + unnamed == CALLS, doc["warnings"]
    assert unnamed > 0, "the control: there was no room for all of them"
