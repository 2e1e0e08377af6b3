"""Signals at any moment of a run: nothing survives, nothing is left, and who is told gets an answer."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest
from support import ALL, BIN, ENV, eventually, marker, nothing_left, pids_with, swept

MOMENTS = 200 if ALL else 40
SECONDS = 0.012  # a run of /bin/true takes a few milliseconds


def started(word):
    return subprocess.Popen([BIN, "run", "--grace", "100ms", "--", "/bin/sh", "-c", "sleep 60; :", word], env=ENV,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_at_random_moments(sig):
    word = marker()
    chance = random.Random(7)
    with nothing_left(word):
        for _ in range(MOMENTS):
            p = started(word)
            time.sleep(chance.uniform(0, SECONDS))
            p.send_signal(sig)
            code = p.wait(timeout=30)
            assert code in (-sig, 128 + sig), code
        assert eventually(lambda: not pids_with(word))
        assert swept()


def test_stopped_and_continued_at_random_moments():
    chance = random.Random(11)
    with nothing_left():
        for _ in range(MOMENTS):
            p = subprocess.Popen([BIN, "run", "--", "/bin/sh", "-c", "echo whole; exit 7"], env=ENV,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            time.sleep(chance.uniform(0, SECONDS))
            p.send_signal(signal.SIGSTOP)
            time.sleep(0.005)
            p.send_signal(signal.SIGCONT)
            out, _ = p.communicate(timeout=30)
            assert (p.returncode, out) == (7, b"whole\n")


def test_the_group_is_killed_by_a_terminal():
    """Ctrl-C reaches cordon and not what runs inside, which is told by cordon."""
    word = marker()
    with nothing_left(word):
        p = subprocess.Popen([BIN, "run", "--grace", "100ms", "--", "/bin/sh", "-c", "sleep 60; :", word], env=ENV,
                             stdin=subprocess.DEVNULL, start_new_session=True)
        assert eventually(lambda: pids_with(word))
        os.killpg(p.pid, signal.SIGINT)
        assert p.wait(timeout=30) == 128 + signal.SIGINT


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return "Z"


def lives(pid):
    return state(pid) != "Z"


def test_who_stops_the_group_stops_no_watcher():
    """Init is in a group of its own: what runs on is still looked after."""
    word = marker()
    with nothing_left(word):
        p = subprocess.Popen([BIN, "run", "--grace", "100ms", "--", "/bin/sh", "-c", "echo up; sleep 60; :", word], env=ENV,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        assert p.stdout.readline() == b"up\n"
        init, = children(p.pid)
        os.killpg(p.pid, signal.SIGSTOP)
        assert eventually(lambda: state(p.pid) == "T") and os.getpgid(init) != p.pid and state(init) not in "TZ"
        os.killpg(p.pid, signal.SIGCONT)
        p.send_signal(signal.SIGTERM)
        assert p.wait(timeout=30) == 128 + signal.SIGTERM
        p.stdout.close()


def program(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:  # gone, or about to be
        return "nothing"


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bwrap is not there")
def test_killed_while_it_writes_what_bwrap_is_to_do(tmp_path):
    """The process that will be bwrap waits for its arguments, and init for that one."""
    binds = [{"host": "/usr", "sandbox": f"/b/{i}"} for i in range(4000)]
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"version": 1, "fs": {"ro": binds}}))
    waited = tries = 0
    while waited < MOMENTS // 8 and tries < 5 * MOMENTS:
        tries += 1
        p = subprocess.Popen([BIN, "run", "--backend", "bwrap", "--policy", policy, "--", "/bin/true"], env=ENV,
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        below = []
        while p.poll() is None and len(below) < 2:
            below = [*children(p.pid), *(last for child in children(p.pid) for last in children(child))]
        p.send_signal(signal.SIGSTOP)
        time.sleep(0.002)
        waited += [os.path.basename(program(pid)) for pid in below] == [os.path.basename(os.path.realpath(BIN))] * 2
        p.kill()
        p.wait(timeout=30)
        assert eventually(lambda: not any(map(lives, below)))  # pylint: disable=W0640
    assert waited > 0, f"the moment was never met in {tries} tries"
