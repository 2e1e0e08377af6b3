"""Without namespaces: init is killed from outside, and so nobody is left who ends the others."""
import json
import os
import signal
import subprocess

from support import ENV, PYTHON, TEST_BIN, eventually, marker, pids_with

# The payload dies with init, its child does not.
CODE = "import os, time\nif os.fork() == 0: time.sleep(30)\ntime.sleep(30)  # {word}"


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return list(map(int, f.read().split()))


def test_what_survives_is_not_claimed_to_be_dead():
    word = marker()
    env = {**ENV, "CORDON_TEST_DISABLE": "userns,bwrap,cgroup"}
    with subprocess.Popen([TEST_BIN, "run", "--json", "--quiet", "--allow-partial", "--wall", "20s", "--", PYTHON, "-c",
                           CODE.format(word=word)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        try:
            assert eventually(lambda: [kid for init in children(p.pid) for payload in children(init)
                                       for kid in children(payload)])
            os.kill(children(p.pid)[0], signal.SIGKILL)
            doc = json.loads(p.communicate(timeout=20)[0])
            left = pids_with(word)
        finally:
            for pid in pids_with(word):
                os.kill(pid, signal.SIGKILL)
    assert doc["status"] == "KILLED_KILL" and left, "the control: somebody survived"
    for name in ("processes", "wall_time", "memory", "cpu_time"): # nobody keeps them any more
        assert not doc["enforced"][name]["applied"], doc["enforced"][name]
    assert doc["enforced"]["syscalls"]["applied"]
