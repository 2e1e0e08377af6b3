"""Without namespaces, and without Landlock's scope, a command can stop init: that does not keep cordon for ever."""
import json
import os
import signal
import subprocess

from support import ENV, PYTHON, TEST_BIN, marker, pids_with

# More of them than cores, so that one runs wherever init would.
CODE = """
import os, signal  # {word}
init = os.getppid()
for _ in range(2 * os.cpu_count()):
    if os.fork() == 0: break
while True: os.kill(init, signal.SIGSTOP)
"""


def test_an_init_that_is_stopped_again_and_again_is_ended():
    word = marker()
    env = {**ENV, "CORDON_TEST_DISABLE": "userns,bwrap,cgroup,landlock"}
    with subprocess.Popen([TEST_BIN, "run", "--json", "--quiet", "--allow-partial", "--wall", "1s", "--grace", "0", "--",
                           PYTHON, "-c", CODE.format(word=word)],
                          env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        try:
            doc = json.loads(p.communicate(timeout=60)[0])
        finally:
            p.kill()
            for pid in pids_with(word):
                os.kill(pid, signal.SIGKILL)
    assert doc["status"] == "TIMEOUT"
    for name in ("processes", "wall_time"): # who ends the others was ended
        assert not doc["enforced"][name]["applied"], doc["enforced"][name]
