"""Full disk, few descriptors, closed streams, signals, a killed supervisor, many runs at once."""
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import time

import pytest

from support import (ALL, BIN, ENV, PYTHON, check_document, cordon, eventually, marker,
                     nothing_left, pids_with, run, swept)


@pytest.mark.parametrize("die", [True, False])
def test_a_run_dies_with_a_process(die):
    """Of a group of its own, with a caller that is killed: it ends only if it was told with whom."""
    word = marker()
    script = f"{BIN} run {'--die-with $$' if die else ''} -- sh -c 'trap \"\" TERM INT; sleep 60; : {word}' & wait"
    with subprocess.Popen(["sh", "-c", script], env=ENV, start_new_session=True) as p:
        assert eventually(lambda: len(pids_with(word)) >= 3)
        p.kill()
    gone = eventually(lambda: not pids_with(word), 20 if die else 1)
    for pid in pids_with(word):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert gone == die
    assert eventually(lambda: not pids_with(word))


def test_nothing_runs_for_a_process_that_is_gone():
    with subprocess.Popen(["true"]) as p:
        pass
    r = run("--die-with", str(p.pid), "--", "true")
    assert r.rc == 125 and r.doc["status"] == "INTERNAL_ERROR" and "--die-with" in r.doc["reason"], r.told()
    assert run("--die-with", str(os.getpid()), "--", "true").rc == 0


@pytest.mark.usefixtures("own_mounts")
def test_full_disk_for_the_result(place):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=0777", "tmpfs", str(place)], check=True)
    r = cordon("run", "--result", place / "r.json", "--", "head", "-c", "200000", "/dev/zero")
    assert r.rc == 125, r.told()
    assert b"r.json" in r.err and b"no space" in r.err.lower()
    assert len(r.out) == 200000
    assert os.listdir(place) == [], "a temporary file was left"


def test_full_device_for_stdout():
    with open("/dev/full", "wb") as full:
        r = cordon("run", "--json", "--", "true", stdout=full)
    assert r.rc == 125 and b"no space" in r.err.lower(), r.told()


def test_full_device_for_output_that_passes_through():
    with open("/dev/full", "wb") as full:
        r = cordon("run", "--", "echo", "hello", stdout=full)
    assert r.rc != 0 and b"no space" in r.err.lower(), r.told()


def test_reader_of_stdout_goes_away():
    """`cordon run -- yes | head -1` ends; nothing hangs."""
    word = marker()
    p = subprocess.run(["sh", "-c", f"{BIN} run -- sh -c 'yes {word}' | head -1"], env=ENV,
                       stdout=subprocess.PIPE, timeout=60, check=False)
    assert p.stdout.decode().strip() == word
    assert eventually(lambda: not pids_with(word))


@pytest.mark.parametrize("limit", list(range(3, 24)))
def test_few_descriptors(limit, place):
    """Each possible shortage: a whole run, or an error in one line; never a half-made sandbox."""
    with nothing_left():
        r = cordon("run", "--result", place / "r.json", "--", "echo", "ran",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    if r.rc == 0:
        assert r.out == b"ran\n"
        assert json.loads((place / "r.json").read_text())["status"] == "OK"
    else:
        assert r.rc in (125, 2), r.told()
        assert r.err.startswith(b"cordon: ") and r.out == b"", r.told()


def test_enough_descriptors_exist_for_a_small_limit(place):
    r = cordon("run", "--", "echo", "ran",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    assert r.out == b"ran\n", r.told()


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]])
def test_closed_streams(closed, place):
    """A closed 0, 1 or 2 must not become some other file of ours."""
    def close():
        for fd in closed:
            os.close(fd)

    argv = [BIN, "run", "--result", str(place / "r.json"), "--", "sh", "-c",
            "echo out; echo err >&2; cat; ls -l /proc/self/fd >&2"]
    p = subprocess.Popen(argv, env=ENV, preexec_fn=close, close_fds=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, _ = p.communicate(timeout=60)
    doc = json.loads((place / "r.json").read_text())
    check_document(doc)
    assert doc["stdout"] == "out\n" and doc["stderr"].startswith("err\n")
    if 1 not in closed:
        assert out == b"out\n"


@pytest.mark.parametrize("kib,rc", [(24, 125), (64, 125), (128, 0)])
def test_a_small_stack(kib, rc):
    r = cordon("run", "--", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (kib << 10, kib << 10)))
    assert r.rc == rc and (b"stack" in r.err) == (rc == 125), r.told()


ANSWERS = {"result": ["run", "--json", "--", "true"], "text": ["run", "--format", "text", "--", "true"],
           "output": ["run", "--", "echo", "x"], "plan": ["run", "--dry-run", "--", "true"], "version": ["--version"],
           "help": ["--help"], "help of run": ["run", "--help"], "help of test": ["test", "--help"],
           "help of call": ["call", "--help"], "help of fs": ["fs", "--help"], "policy": ["policy", "show"],
           "configuration": ["test", "--root", "/tmp", "--print-config"]}


@pytest.mark.parametrize("where", ["full", "closed"])
@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_that_cannot_be_delivered(what, where):
    argv = [BIN, *ANSWERS[what]]
    with open("/dev/full", "wb") as full:
        p = subprocess.run(argv if where == "full" else ["sh", "-c", 'exec "$@" >&-', "sh", *argv], env=ENV, check=False,
                           stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, timeout=60)
    words = b"pass on output" if what == "output" else b"standard output"
    assert p.returncode == (2 if what == "policy" else 125) and words in p.stderr, p


@pytest.mark.parametrize("name,number", [("TERM", 15), ("INT", 2), ("HUP", 1)])
def test_signals_to_cordon(name, number, place):
    word = marker()
    p = subprocess.Popen([BIN, "run", "--grace", "1s", "--result", str(place / "r.json"), "--",
                          "sh", "-c", f"echo up; sleep 60; : {word}"], env=ENV,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"up\n"
    p.send_signal(number)
    assert p.wait(timeout=30) == 128 + number
    p.stdout.close()
    doc = json.loads((place / "r.json").read_text())
    check_document(doc)
    assert doc["status"] in ("KILLED_TERM", "SIGNALED")
    assert "SIG" + name in doc["reason"]
    assert doc["stdout"] == "up\n"
    assert eventually(lambda: not pids_with(word))


def test_a_signal_is_passed_on_and_the_grace_is_used(place):
    p = subprocess.Popen([BIN, "run", "--grace", "10s", "--", "sh", "-c",
                          "trap 'echo tidy; exit 0' TERM; echo up; while :; do sleep 0.05; done"],
                         env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"up\n"
    p.send_signal(signal.SIGTERM)
    assert p.stdout.readline() == b"tidy\n"
    assert p.wait(timeout=30) == 143
    p.stdout.close()


def test_a_payload_that_ignores_the_signal_is_killed_after_the_grace():
    word = marker()
    p = subprocess.Popen([BIN, "run", "--grace", "300ms", "--", "sh", "-c",
                          f"trap '' TERM INT HUP; echo up; sleep 30; sleep 30; : {word}"],
                         env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"up\n"
    start = time.monotonic()
    p.send_signal(signal.SIGTERM)
    assert p.wait(timeout=30) == 143
    assert time.monotonic() - start < 10
    p.stdout.close()
    assert eventually(lambda: not pids_with(word))


def test_a_second_signal_kills_at_once():
    argv = [BIN, "run", "--grace", "10m", "--", "sh", "-c", "trap '' TERM INT; echo up; sleep 300; sleep 300"]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"up\n"
        p.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            p.wait(0.3)
        p.send_signal(signal.SIGINT)
        assert p.wait(timeout=30) in (128 + signal.SIGTERM, 128 + signal.SIGINT)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_the_caller_has_ignored_stays_so(sig):
    """As by nohup, or in the background of a shell."""
    with subprocess.Popen([BIN, "run", "--", "sh", "-c", "echo up; read x; echo went on"], env=ENV, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(sig, signal.SIG_IGN)) as p:
        assert p.stdout.readline() == b"up\n"
        p.send_signal(sig)
        assert p.communicate(b"\n", timeout=30)[0] == b"went on\n" and p.returncode == 0


def test_signals_at_any_moment_leave_a_result_or_nothing_run(place):
    """SIGTERM during set-up: the exit status tells, the document is whole if it is there."""
    word = marker()
    with nothing_left(word):
        for i in range(60):
            result = place / f"{i}.json"
            p = subprocess.Popen([BIN, "run", "--grace", "0", "--result", str(result), "--",
                                  "sh", "-c", f"sleep 60; : {word}"], env=ENV,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.012))
            p.send_signal(signal.SIGTERM)
            code = p.wait(timeout=30)
            assert code in (143, -signal.SIGTERM), code
            if result.exists():
                check_document(json.loads(result.read_text()))


def test_supervisor_killed_at_random_moments():
    """SIGKILL within the first 25 ms: nothing may survive it, whatever it was doing."""
    word = marker()
    rounds = 800 if ALL else 200
    with nothing_left(word):
        for _ in range(rounds):
            p = subprocess.Popen([BIN, "run", "--wall", "none", "--", "sh", "-c",
                                  f"setsid sleep 300 & sleep 300; : {word}"], env=ENV,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, 0.025))
            p.kill()
            p.wait()
        assert eventually(lambda: not pids_with(word)), "survivors"
        assert swept(), "survivors"


def test_supervisor_killed_as_a_stopped_tree():
    word = marker()
    p = subprocess.Popen([BIN, "run", "--", "sh", "-c", f"echo up; kill -STOP $$; : {word}"],
                         env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"up\n"
    p.kill()
    p.wait()
    p.stdout.close()
    assert eventually(lambda: not pids_with(word))


def test_two_hundred_at_once(place):
    word = marker()
    with nothing_left(word):
        running = [subprocess.Popen(
            [BIN, "run", "--wall", "120s", "--result", str(place / f"{i}"), "--", "sh", "-c",
             f"echo {i}; exit {i % 50}; : {word}"], env=ENV, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(200)]
        for i, p in enumerate(running):
            out, err = p.communicate(timeout=240)
            assert (p.returncode, out) == (i % 50, f"{i}\n".encode()), (i, err)
            # A user has a quota of keys, and 200 session keyrings are it: that may be said.
            assert all(line.startswith(b"cordon: warning: ") for line in err.splitlines()), err
            doc = json.loads((place / f"{i}").read_text())
            assert doc["stdout"] == f"{i}\n" and doc["rc"] == i % 50


def test_many_runs_leave_nothing():
    word = marker()
    with nothing_left(word):
        for args in (["true"], ["sh", "-c", f"sleep 60 & : {word}"], ["/no/such"],
                     ["sh", "-c", "kill -9 $$"]):
            for _ in range(5):
                cordon("run", "--", *args)
        cordon("run", "--wall", "200ms", "--grace", "0", "--", "sh", "-c", f"sleep 60; : {word}")
        cordon("run", "--mem", "64M", "--", PYTHON, "-c", "x = bytearray(300 << 20)")
        cordon("run", "--ro", "/no/such", "--", "true")


@pytest.mark.alone
def test_no_zombie_is_left_to_pid_1():
    """The init of the sandbox is reaped by cordon before it returns (kernel-notes T1)."""
    def zombies():
        n = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8",
                                                    errors="replace") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
                n += rest.split()[0] == "Z" and name.startswith("cordon")
        return n

    before = zombies()
    for _ in range(20):
        cordon("run", "--", "true")
    assert eventually(lambda: zombies() <= before)


def test_a_threadless_parent_that_ignores_sigchld():
    r = cordon("run", "--json", "--", "sh", "-c", "exit 7",
               preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert r.rc == 7, r.told()


def test_cwd_that_is_gone(place):
    gone = place / "gone"
    gone.mkdir()

    def leave():
        os.chdir(gone)
        os.rmdir(gone)

    r = cordon("run", "--", "pwd", preexec_fn=leave)
    assert r.out == b"/work\n", r.told()


def test_a_home_and_tmpdir_that_do_not_exist():
    assert cordon("run", "--", "true", env={"HOME": "/none", "TMPDIR": "/none"}).rc == 0


def test_an_empty_environment():
    p = subprocess.run([BIN, "run", "--", "/bin/sh", "-c", "echo $HOME"], env={},
                       stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    assert (p.returncode, p.stdout) == (0, b"/work\n")


def test_no_argv_at_all():
    """execve with an empty argv: an error or the usage, never a crash."""
    code = f"""
import ctypes, os
libc = ctypes.CDLL(None)
empty = (ctypes.c_char_p * 1)(None)
libc.execve({BIN.encode()!r}, empty, empty)
os._exit(99)
"""
    p = subprocess.run([PYTHON, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       check=False)
    assert p.returncode in (2, 99), p
