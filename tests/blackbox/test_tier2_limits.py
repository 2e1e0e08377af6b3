"""The tier without user namespaces: the end of everything, and limits; see tests/tier2.py."""
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, TEST_BIN, eventually, marker, pids_with
from tier2 import FORKS, PARTIAL, USER, applied, cordon, inside, outside, refusing  # noqa: F401

# Where the user has one, it holds the limits on this tier, too.
WITHOUT_CGROUP = {"binary": TEST_BIN, "env": {"CORDON_TEST_DISABLE": "cgroup"}}

DAEMON = """
if os.fork() == 0:
    os.setsid()
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        for fd in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), fd)
        os.execvp('sleep', ['{word}', '120'])
    os._exit(0)
os.wait(); time.sleep(0.2); say('started')
"""


def test_a_daemon_does_not_survive(inside):
    word = marker()
    assert outside(DAEMON.format(word=word)) == "started"
    survivors = pids_with(word)
    for pid in survivors:
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    assert survivors, "the control"
    word = marker()
    r = inside(DAEMON.format(word=word))
    assert r.answer == "started" and not pids_with(word)
    applied(r, "processes")
    assert "fork gate" in r.doc["enforced"]["processes"]["mechanism"]


# Each process forks a successor in a new session and ends: nobody holds still to be killed.
CHAINS = """
sys.argv.append({word!r})
for chain in range(6):
    if os.fork() == 0:
        while True:
            os.setsid() if os.getsid(0) != os.getpid() else 0
            try:
                if os.fork() != 0: os._exit(0)
            except OSError as e:
                time.sleep(0.001)
time.sleep(0.3)
say('started')
"""


def test_chains_that_fork_for_ever_end(inside):
    word = marker()
    r = inside(CHAINS.format(word=word), "--pids", "64")
    assert r.answer == "started" and not pids_with(word)
    applied(r, "processes", "wall_time")


def test_wall_time(inside):
    word = marker()
    r = inside(f"signal.signal(signal.SIGTERM, signal.SIG_IGN); {word} = 1\nos.fork()\ntime.sleep(60)",
               "--wall", "300ms", "--grace", "200ms", status="TIMEOUT")
    assert r.rc == 124 and r.doc["duration_ms"] < 20000 and not pids_with(word)
    applied(r, "wall_time", "processes")


def test_a_polite_request_reaches_everybody(inside):
    """Twice the time until both are up: on a slow machine the limit may come before."""
    for wall in (500, 1000, 2000, 4000, 8000):
        r = inside("child = 0\n"
                   "def bye(*_):\n"
                   "    if child: os.waitpid(child, 0)\n"
                   "    os.write(1, b'bye\\n'); os._exit(0)\n"
                   "signal.signal(signal.SIGTERM, bye)\n"
                   "child = os.fork()\nif child == 0: os.setsid()\n"
                   "os.write(1, b'up\\n'); time.sleep(60)",
                   "--wall", f"{wall}ms", "--grace", "5s", status="TIMEOUT")
        if r.doc["stdout"].count("up") == 2:
            break
    assert r.doc["stdout"].count("bye") == 2, r.told()


def test_pids(inside):
    r = inside(FORKS, "--pids", "10", **WITHOUT_CGROUP)
    assert r.answer == [9, "EAGAIN"]
    applied(r, "pids")
    assert r.doc["enforced"]["pids"]["mechanism"] == "fork gate"
    assert inside(FORKS, "--pids", "none").answer == [100, "ok"]


def test_threads_count(inside):
    code = "import threading\ne = threading.Event(); n = 0\ntry:\n" \
           "    for n in range(50): threading.Thread(target=e.wait).start()\n" \
           "except RuntimeError: pass\ne.set(); say(n)"
    assert inside(code, "--pids", "10").answer == 9


def test_the_limit_is_for_this_run_alone(inside):
    """RLIMIT_NPROC would count everything of the user's."""
    others = [subprocess.Popen([*USER, "sleep", "60"]) for _ in range(12)]
    try:
        assert inside(FORKS, "--pids", "10").answer == [9, "EAGAIN"]
    finally:
        for p in others:
            p.kill()
            p.wait()


def test_short_lived_children_are_not_counted_for_ever(inside):
    r = inside("import subprocess\nfor _ in range(60): subprocess.run(['true'], check=True)\nsay('ok')",
               "--pids", "3")
    assert r.answer == "ok"


def test_a_fork_bomb_stays_below_the_limit(inside):
    word = marker()
    seen = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            seen.append(len(pids_with(word)))

    watcher = threading.Thread(target=count)
    watcher.start()
    try:
        inside(f"{word} = 0\nend = time.monotonic() + 1.5\n"
               "while time.monotonic() < end:\n"
               "    try: os.fork()\n"
               "    except OSError: time.sleep(0.005)\n", "--pids", "20", "--wall", "20s")
    finally:
        stop.set()
        watcher.join()
    # The command lines of the caller's cordon and of init's start-up hold the word, too.
    assert 10 < max(seen) <= 20 + 2, max(seen)


# The parent of many ends while init counts them: they become init's, whose children were read first.
ORPHANS = """
import mmap, random
LIMIT, PADS, MANY = 64, 32, 30
go = mmap.mmap(-1, 4096)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def sleeper():
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        time.sleep(60); os._exit(0)
    return pid
def parent(delay):
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        for _ in range(MANY): sleeper()
        go[0] = 1
        while go[0] != 2: pass
        end = time.perf_counter() + delay
        while time.perf_counter() < end: pass
        os._exit(0)
    while go[0] != 1: time.sleep(0.0005)
    return pid
for _ in range(PADS): sleeper()
most, end = 0, time.monotonic() + 20
for _ in range(60):
    if time.monotonic() > end: break
    go[0] = 0
    gone, more = parent(random.random() * 0.0006), []
    go[0] = 2
    try:
        while len(more) < 2 * LIMIT: more.append(sleeper())
    except OSError: pass
    time.sleep(0.01)
    try:
        while len(more) < 2 * LIMIT: more.append(sleeper())
    except OSError: pass
    most = max(most, 1 + PADS + MANY + len(more))
    for pid in more: tried(os.kill, pid, 9)
    tried(os.killpg, gone, 9)
    while any(tried(os.kill, pid, 0) == 'ok' for pid in more) or tried(os.killpg, gone, 0) == 'ok': time.sleep(0.001)
say(most)
"""


def test_children_that_change_hands_while_they_are_counted(inside):
    r = inside(ORPHANS, "--pids", "64", "--mem", "none", "--cpu", "none", "--wall", "50s", **WITHOUT_CGROUP)
    assert 50 < r.answer <= 64, r.answer


def test_memory_of_the_tree(inside):
    hog = "import mmap\nfor _ in range(2): os.fork()\nm = mmap.mmap(-1, 40 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n" \
          "for i in range(0, 40 << 20, 4096): m[i] = 1\ntime.sleep(5)\nsay('won')"
    r = inside(hog, "--mem", "64M", status="MEM_LIMIT", **WITHOUT_CGROUP)
    applied(r, "memory")
    assert r.doc["enforced"]["memory"]["mechanism"] == "watcher"


def test_cpu_time(inside):
    r = inside("os.fork()\nwhile True: pass", "--cpu", "500ms", status="CPU_LIMIT")
    applied(r, "cpu_time")


def test_death_of_the_supervisor_ends_all(refuse):
    word = marker()
    argv = [*USER, refuse, "newuser=EPERM", "--", BIN, "run", "--backend", "native", *PARTIAL, "--", "sh", "-c",
            f"setsid sh -c 'sleep 120; : {word}' & echo up; wait"]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"up\n"
        assert eventually(lambda: pids_with(word))
        os.kill(p.pid, signal.SIGKILL)
    assert eventually(lambda: not pids_with(word))
    cordon([refuse, "newuser=EPERM", "--"], *PARTIAL, "--", "true")  # sweeps


def test_death_of_init_hangs_nobody_and_is_said(refuse):
    """Somebody with the right to kills init: forks fail, the payload dies, the ledger tells."""
    word = marker()
    code = PRELUDE + f"{word} = os.getppid()\nprint({word}, flush=True)\n" \
        "while True:\n    try: os.waitpid(os.fork() or os._exit(0), 0)\n    except OSError: pass\n"
    argv = [*USER, refuse, "newuser=EPERM", "--", BIN, "run", "--backend", "native", "--result", "fd:1", "--stdout-file", "fd:2", *PARTIAL,
            "--", PYTHON, "-c", code]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        init = int(p.stderr.readline())
        os.kill(init, signal.SIGKILL)
        doc = json.loads(p.stdout.read())
    assert doc["status"] == "KILLED_KILL", doc
    assert doc["enforced"]["processes"]["applied"] is False
    assert eventually(lambda: not pids_with(word))


# Lets nobody look into it, then takes what it can get.
UNSEEN = """
libc.prctl(4, 0, 0, 0, 0)
held = []
for _ in range(20): held.append(bytearray(b'x' * (10 << 20)))
time.sleep(0.5)
""" + FORKS


@pytest.mark.skipif(not ROOT, reason="only root mounts /proc")
@pytest.mark.parametrize("hidepid", [0, 1, 2])
def test_where_proc_hides_processes_nothing_is_claimed_by_looking_at_them(refuse, hidepid):
    """hidepid keeps a process that is not dumpable from its own user, too: a limit by looking at it does not hold."""
    hidden = ["unshare", "-m", "sh", "-ec", f'mount -t proc -o hidepid={hidepid} proc /proc; exec "$@"', "sh"]
    def under(*options):
        argv = [*hidden, *USER, refuse, "newuser=EPERM", "--", TEST_BIN, "run", "--backend", "native", "--json",
                *options, "--mem", "96M", "--pids", "8", "--cpu", "20s", "--", PYTHON, "-c", PRELUDE + UNSEEN]
        p = subprocess.run(argv, env={**ENV, **WITHOUT_CGROUP["env"]}, stdout=subprocess.PIPE, timeout=60, check=False)
        return json.loads(p.stdout)
    doc = under(*PARTIAL)
    claims = {name: doc["enforced"][name]["applied"] for name in ("memory", "pids", "cpu_time")}
    if hidepid == 0:
        assert doc["status"] == "MEM_LIMIT" and set(claims.values()) == {True}, doc
        return
    assert doc["status"] == "OK" and json.loads(doc["stdout"].splitlines()[-1]) == [100, "ok"], "the attack works"
    assert set(claims.values()) == {False}, claims
    assert doc["reason"] == "PARTIAL_ENFORCEMENT"
    assert under("--profile", "limits")["status"] == "INTERNAL_ERROR", "and a policy that wants them is refused"
