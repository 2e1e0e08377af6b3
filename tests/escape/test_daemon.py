"""A daemon (double fork, new session) outlives the command that started it."""
import os
import signal

from support import cordon, eventually, inside, marker, outside, pids_with

CODE = """
pid = os.fork()
if pid == 0:
    os.setsid()
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        null = os.open('/dev/null', os.O_RDWR)
        for fd in (0, 1, 2): os.dup2(null, fd)
        os.execvp('sleep', ['{word}', '120'])
    os._exit(0)
os.waitpid(pid, 0)
time.sleep(0.2)
say('started')
"""


def test_daemon():
    word = marker()
    assert outside(CODE.format(word=word)).answer == "started"
    survivors = [p for p in pids_with(word)]
    assert survivors, "the control: outside it lives on"
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    word = marker()
    r = inside(CODE.format(word=word))
    assert r.answer == "started" and r.seconds < 30
    assert eventually(lambda: not pids_with(word))
    assert r.doc["enforced"]["processes"]["applied"] is True


def test_a_tree_that_forks_for_ever_is_gone():
    word = marker()
    r = cordon("run", "--pids", "16", "--", "sh", "-c",
               f"f() {{ setsid sh -c 'sleep 0.01; sleep 120; : {word}' & }}; f; f; f; f; exit 0")
    assert r.rc == 0
    assert eventually(lambda: not pids_with(word))
