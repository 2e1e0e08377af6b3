"""Readers that are slow or do not read at all, and what cordon writes to."""
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import stat
import struct
import subprocess
import termios
import time

import pytest

from support import BIN, ENV, PYTHON, ROOT, check_document, cordon, eventually, pids_with

def exact_arguments(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")[:-1]


def is_full(pipe):
    """Bytes are in it, and there come no more."""
    waiting = lambda: struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
    before = waiting()
    time.sleep(0.3)
    return waiting() == before > 30000


MUCH = ["--", "head", "-c", "300000", "/dev/zero"]


def with_stuck_reader(args, signals=(), seconds=10):
    """The exit status with a reader that holds the pipe and reads nothing; None: it hangs."""
    read, write = os.pipe()
    with subprocess.Popen([BIN, "run", *args], env=ENV, stdin=subprocess.DEVNULL, stdout=write,
                          stderr=subprocess.DEVNULL) as p:
        os.close(write)
        try:
            for sig in signals:
                with pytest.raises(subprocess.TimeoutExpired):
                    p.wait(1.5)
                p.send_signal(sig)
            return p.wait(seconds)
        except subprocess.TimeoutExpired:
            p.kill()
            return None
        finally:
            os.close(read)


@pytest.mark.parametrize("command", [MUCH, ["--", "cat", "/dev/zero"]])
def test_wall_limit_with_a_stuck_reader(command):
    assert with_stuck_reader(["--wall", "1s", "--grace", "200ms", *command]) == 124


def test_runs_that_share_their_input_keep_their_limits():
    """All of them hear that something came, and one gets it: the others do not wait for more."""
    read, write = os.pipe()
    argv = [BIN, "run", "--quiet", "--wall", "4s", "--grace", "0", "--", "sleep", "50"]
    runs = [subprocess.Popen(argv, env=ENV, stdin=read) for _ in range(4)]
    os.close(read)
    try:
        for _ in range(1000):
            os.write(write, b"x")
            time.sleep(0.001)
        assert [p.wait(30) for p in runs] == [124] * len(runs)
    finally:
        os.close(write)
        for p in runs:
            p.kill()
            p.wait()


def test_a_stuck_reader_of_refused_writes(place):
    """Who is told of them reads nothing: limits and signals hold all the same, and the rest is said afterwards."""
    (place / "in").mkdir(mode=0o777)
    (place / "p").write_text('{"version": 1, "extends": "limits", "fs": {"private_tmp": false}}')
    mark = f"{time.time()}"
    code = f"""
import os
for i in range(600):
    try: open('../' + 'x' * 200 + str(i), 'w')
    except OSError: pass
os.execvp('sleep', ['sleep', '{mark}'])"""
    runs = lambda: any(exact_arguments(pid) == ["sleep", mark] for pid in pids_with(mark))
    with subprocess.Popen([BIN, "run", "--policy", place / "p", "--wall", "60s", "--grace", "0", "--", PYTHON, "-c", code],
                          env=ENV, cwd=place / "in", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        try:
            assert eventually(runs, 50)
            p.send_signal(signal.SIGTERM)
            assert eventually(lambda: not runs()), "the supervisor waits for a reader"
            err = p.stderr.read()
            assert p.wait(20) == 128 + signal.SIGTERM
        finally:
            p.kill()
    assert err.count(b"TEST_SANDBOX_VIOLATION: ") == 600


@pytest.mark.parametrize("options", [[], ["--json"], ["--stdout-file", "/dev/null", "--result", "/dev/stdout"]],
                         ids=["output", "json", "result"])
@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_with_a_stuck_reader(options, sig):
    rc = with_stuck_reader([*options, "--wall", "60s", "--grace", "200ms", *MUCH], [sig])
    assert rc in (128 + sig, -sig), "it hangs" if rc is None else rc


def test_a_stuck_reader_of_a_summary(place):
    """It is said when all files are there, and by a program that a signal ends."""
    (place / "tests").mkdir(mode=0o777)
    script = "echo x >real; head -c 300000 /dev/zero >&2"
    with subprocess.Popen([BIN, "test", "--root", place, "--result", place / "tests/r.json", "--", "sh", "-c", script],
                          env=ENV, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        try:
            assert eventually(lambda: is_full(p.stderr))
            p.send_signal(signal.SIGTERM)  # no more patience with what the command wrote
            assert eventually((place / "tests/r.json").exists), "the summary came first"
            with pytest.raises(subprocess.TimeoutExpired):
                p.wait(0.5)
            p.send_signal(signal.SIGTERM)
            assert p.wait(10) == -signal.SIGTERM
        finally:
            p.kill()
    assert json.loads((place / "tests/r.json").read_text())["violations"][0]["path"] == f"{place}/real"


def test_a_payload_that_ended_in_time_is_no_timeout(place):
    read, write = os.pipe()
    with subprocess.Popen([BIN, "run", "--wall", "2s", "--result", place / "r.json", "--", "head",
                           "-c", "100000", "/dev/zero"], env=ENV, stdin=subprocess.DEVNULL,
                          stdout=write) as p:
        os.close(write)
        with pytest.raises(subprocess.TimeoutExpired):
            p.wait(3.5)
        with open(read, "rb") as f:
            assert len(f.read()) == 100000
        assert p.wait(10) == 0
    assert json.loads((place / "r.json").read_text())["status"] == "OK"


def test_a_document_through_a_pipe_that_does_not_block():
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETFL, os.O_NONBLOCK)
    with subprocess.Popen([BIN, "run", "--json", *MUCH], env=ENV, stdin=subprocess.DEVNULL,
                          stdout=write, stderr=subprocess.PIPE) as p:
        os.close(write)
        with pytest.raises(subprocess.TimeoutExpired):
            p.wait(1.0)  # the pipe is full now
        with open(read, "rb") as f:
            check_document(json.loads(f.read()))


def test_output_without_a_limit_still_gives_a_document(place):
    """Bytes that take six characters each in JSON, more than any document may hold."""
    (place / "p").mkdir()
    r = cordon("run", "--profile", "agent", "--result", place / "r.json", "--", "head", "-c",
               "190000000", "/dev/zero", cwd=place / "p", stdout=subprocess.DEVNULL)
    assert r.rc == 0, r.told()
    doc = json.loads((place / "r.json").read_text())
    assert doc["status"] == "OK" and doc["stdout_truncated"] and doc["stdout_bytes"] == 190000000


@pytest.mark.parametrize("option", ["--result", "--stdout-file", "--stderr-file"])
def test_a_fifo_stays_a_fifo(place, option):
    os.mkfifo(place / "fifo")
    with subprocess.Popen(["cat", place / "fifo"], stdout=subprocess.PIPE) as reader:
        r = cordon("run", option, place / "fifo", "--", "sh", "-c", "echo out; echo err >&2")
        try:
            got = reader.communicate(timeout=30)[0]  # it comes in its own time, and is waited for
        except subprocess.TimeoutExpired:
            reader.kill()
            got = b""
    assert stat.S_ISFIFO(os.lstat(place / "fifo").st_mode), r.told()
    assert {"--result": b'"status":', "--stdout-file": b"out\n", "--stderr-file": b"err\n"}[option] in got, r.told()


def test_a_device_stays_a_device(place):
    if not ROOT:
        pytest.skip("only root can make a device node")
    os.mknod(place / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    for option in ("--result", "--stdout-file", "--stderr-file"):
        r = cordon("run", option, place / "null", "--", "echo", "out")
        assert stat.S_ISCHR(os.lstat(place / "null").st_mode), r.told()
        assert r.rc == 0, r.told()
