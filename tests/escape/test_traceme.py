"""PTRACE_TRACEME makes init the tracer of its child, and stops are then reported to it like ends."""
import support
from support import inside

# A stop by a signal that has no effect, and one by exec.
CODE = """
say(sc('ptrace', 0, 0, 0, 0))
os.kill(os.getpid(), signal.SIGCHLD)
os.execv('/bin/sh', ['sh', '-c', 'echo still here; exit 7'])
"""


def test_a_stop_is_no_end():
    r = support.run("--", support.PYTHON, "-c", support.PRELUDE + CODE)
    assert (r.doc["status"], r.doc["exit"]) == ("NONZERO_EXIT", {"code": 7}), r.told()
    assert r.text == "0\nstill here\n", r.told()
    assert r.doc["usage"]["processes"] == 1


def test_a_signal_that_kills_still_kills():
    r = support.run("--", support.PYTHON, "-c", support.PRELUDE +
                    "sc('ptrace', 0, 0, 0, 0); os.kill(os.getpid(), signal.SIGUSR1); time.sleep(60)")
    assert (r.doc["status"], r.doc["exit"]) == ("SIGNALED", {"signal": 10}), r.told()


def test_an_orphan_that_is_traced():
    inside("""
if os.fork() == 0:
    if os.fork() > 0:
        os._exit(0)
    while os.getppid() != 1: time.sleep(0.01)
    sc('ptrace', 0, 0, 0, 0)
    for i in range(5): os.kill(os.getpid(), signal.SIGCHLD)
    os.execv('/bin/true', ['true'])
os.wait()
time.sleep(0.3)
""")
