"""Forking without end, as root too: RLIMIT_NPROC means nothing to root."""
import subprocess

import pytest

from support import BIN, ENV, eventually, inside, marker, outside, pids_with, run

COUNT = """
held = []; why = None
for _ in range({most}):
    try: pid = os.fork()
    except OSError as e:
        why = errno.errorcode[e.errno]; break
    if pid == 0:
        signal.pause(); os._exit(0)
    held.append(pid)
for pid in held: os.kill(pid, 9)
for pid in held: os.waitpid(pid, 0)
say([len(held), why])
"""


@pytest.mark.parametrize("uid", ["nobody", "caller"])
def test_fork_bomb(uid):
    assert outside(COUNT.format(most=60)).answer == [60, None]
    n, why = inside(COUNT.format(most=60), "--pids", "32", "--uid", uid).answer
    assert why == "EAGAIN" and 24 <= n < 32


def test_a_real_bomb_ends_with_the_wall():
    """Every process forks for ever: bounded by --pids, ended by --wall, nothing left."""
    word = marker()
    r = inside(f"""
word = {word!r}
while True:
    try: os.fork()
    except OSError: pass
""", "--pids", "32", "--wall", "1s", "--grace", "200ms", status="TIMEOUT")
    assert r.seconds < 20
    assert eventually(lambda: not pids_with(word))
    assert r.doc["enforced"]["pids"]["applied"] is True


def test_two_sandboxes_do_not_share_the_limit():
    """One at its limit does not starve another of the same user."""
    with subprocess.Popen([BIN, "run", "--pids", "16", "--", "sh", "-c",
                           "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 60 & done; echo up; wait"],
                          env=ENV, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as p:
        assert p.stdout.readline() == b"up\n"
        try:
            assert inside(COUNT.format(most=10), "--pids", "16").answer == [10, None]
            assert run("--", "true").rc == 0
        finally:
            p.terminate()
