"""Init of the tier without namespaces: what a command or a host does to it does not keep cordon for ever, nor the tree alive."""
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


# One that left its parent and every stream, and the number of init.
LEAVES = """
import os, time  # {word}
if os.fork() == 0:
    os.setsid()
    null = os.open('/dev/null', os.O_RDWR)
    for fd in range(3): os.dup2(null, fd)
    time.sleep(300)
print(os.getppid(), flush=True)
time.sleep(300)
"""


def test_a_host_that_gives_init_no_more_file_does_not_keep_the_tree_alive():
    word = marker()
    env = {**ENV, "CORDON_TEST_DISABLE": "userns,bwrap,cgroup"}
    with subprocess.Popen([TEST_BIN, "run", "--quiet", "--allow-partial", "--wall", "3s", "--grace", "0", "--",
                           PYTHON, "-c", LEAVES.format(word=word)],
                          env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        try:
            init = int(p.stdout.readline())
            left = set(pids_with(word)) - {p.pid}
            assert len(left) > 1
            with open(f"/proc/{init}/status") as f:
                fields = [line.split() for line in f if ":" in line]
            user, group = (int(w[1]) for name in ("Uid:", "Gid:") for w in fields if w[0] == name)
            subprocess.run(["prlimit", f"--pid={init}", "--nofile=0:0"], user=user, group=group, check=True)
            p.communicate(timeout=60)
            assert not left & set(pids_with(word))
        finally:
            p.kill()
            for pid in pids_with(word):
                os.kill(pid, signal.SIGKILL)


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
