"""--tty, --progress and colours, on real terminals."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from support import BIN, ENV, PYTHON, TEST_BIN, cordon, eventually, marker, pids_with, run

LFLAG = 3


class Terminal:
    """A terminal with cordon as the foreground program of its session."""

    def __init__(self, *args, env=None, rows=24, columns=80, binary=BIN):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.shown = b""
        self.status = None
        slave = self.slave

        def take():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [binary, "run", *map(str, args)], stdin=slave, stdout=slave, stderr=slave,
            env={**ENV, "TERM": "xterm", **(env or {})}, preexec_fn=take)  # noqa: PLW1509

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        data = os.read(self.master, 65536) if ready else b""
        self.shown += data
        return bool(data)

    def expect(self, pattern, seconds=10):
        """Until the pattern has been shown; what stands up to its end is taken away."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern.encode(), self.shown)
            if found:
                self.shown = self.shown[found.end():]
                return found
            assert time.monotonic() < end, f"{pattern!r} is not in {self.shown!r}"
            self.read(0.2)

    def raw(self):
        return not termios.tcgetattr(self.slave)[LFLAG] & termios.ICANON

    def as_before(self):
        return termios.tcgetattr(self.slave) == self.before

    def is_stopped(self):
        return os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self, seconds=15):
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"does not end: {self.shown!r}"
            self.read(0.05)
        while self.read(0.1):
            pass
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@contextlib.contextmanager
def terminal(*args, **kw):
    t = Terminal(*args, **kw)
    try:
        yield t
    finally:
        t.close()


SHELL = ["--tty", "--setenv", "PS1=ready> ", "--", "bash", "--norc", "--noediting", "-i"]


def test_a_shell_and_its_exit_status():
    with terminal(*SHELL) as t:
        t.expect("ready> ")
        assert t.raw(), "keys pass through"
        t.type("echo $((6 * 7)) $(tty) $TERM\n")
        t.expect("42 /dev/pts/0 xterm\r\n")
        t.type("test -t 0 && test -t 1 && test -t 2 && echo th''ree\n")
        t.expect("three\r\n")
        t.type("echo b''y name >/dev/tty\n")
        t.expect("by name\r\n")
        t.type("exit 5\n")
        assert t.wait() == 5 and t.as_before()


def test_the_name_of_the_terminal_passes_unless_it_is_denied(place):
    (place / "p").write_text('{"version": 1, "env": {"deny": ["TER*"]}}')
    for args, seen in (([], "xterm"), (["--policy", place / "p"], "none")):
        with terminal("--tty", *args, "--", "/usr/bin/env", "sh", "-c", "echo is ${TERM-none}") as t:
            t.expect(f"is {seen}\r\n")


def test_job_control_inside():
    with terminal(*SHELL) as t:
        t.expect("ready> ")
        job = "sh -c 'echo u''p; exec sleep 1000'"  # by the word the job is known to be in the foreground
        t.type(f"{job}\n")
        t.expect("up\r\n")
        t.type("\x03")
        t.expect("ready> ")
        t.type(f"{job}\n")
        t.expect("up\r\n")
        t.type("\x1a")
        t.expect("Stopped")
        t.type("jobs; kill -9 %1; wait; echo done $((1 + 1))\n")
        t.expect("done 2\r\n")
        t.type("exit 0; exit 0\n")  # the first one may still know of a job
        assert t.wait() == 0


def test_size_at_the_start_and_later():
    # No handler: Python would run one late if the signal came just before it reads.
    probe = ("import os, signal, sys\nsize = lambda: os.write(1, b'%d %d\\n' % os.get_terminal_size())\n"
             "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\nsize()\n"
             "signal.sigwait([signal.SIGWINCH])\nsize()\nsys.stdin.readline()")
    with terminal("--tty", "--", PYTHON, "-c", probe, rows=31, columns=97) as t:
        t.expect("97 31\r\n")
        t.resize(40, 120)
        t.expect("120 40\r\n")
        t.type("\n")
        assert t.wait() == 0


def test_python_and_top():
    with terminal("--tty", "--", PYTHON, "-q", "-i") as t:
        t.expect(">>> ")
        t.type("print(6 * 7)\n")
        t.expect("42\r\n.*>>> ")  # not before it reads again
        t.type("\x04")
        assert t.wait() == 0
    with terminal("--tty", "--", "top") as t:
        t.expect("PID")
        t.type("q")
        assert t.wait() == 0 and t.as_before()


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_the_terminal_is_as_it_was_after_a_signal(sig):
    word = marker()
    with terminal("--tty", "--grace", "100ms", "--", "sh", "-c", "echo begun; sleep 1000", word) as t:
        t.expect("begun")
        assert t.raw()
        t.process.send_signal(sig)
        assert t.wait() == (-9 if sig == signal.SIGKILL else 128 + sig)
        assert eventually(t.as_before)
        assert eventually(lambda: not pids_with(word)), "the keeper of the terminal too is gone"


def test_the_terminal_is_as_it_was_while_it_is_stopped():
    with terminal("--tty", "--", "sh", "-c", "echo begun; read x; echo got $x") as t:
        t.expect("begun")
        t.process.send_signal(signal.SIGTSTP)
        assert eventually(t.is_stopped) and t.as_before()  # a shell does not continue what has not stopped yet
        t.resize(50, 60)
        t.process.send_signal(signal.SIGCONT)
        assert eventually(t.raw)
        t.type("again\n")
        t.expect("got again")
        assert t.wait() == 0 and t.as_before()


def test_a_limit_ends_it_and_leaves_the_terminal_in_order():
    with terminal("--tty", "--wall", "1s", "--grace", "0", "--", "sleep", "1000") as t:
        assert t.wait() == 124 and t.as_before()


INJECT = """
import fcntl, os, termios
def push(fd):
    try:
        for c in b'injected': fcntl.ioctl(fd, termios.TIOCSTI, bytes([c]))
        return 'ok'
    except OSError as e:
        return e.strerror
print('pushed', push(0), push(os.open('/dev/tty', os.O_RDWR)), os.fstat(0).st_dev, flush=True)
"""


def test_the_callers_terminal_does_not_cross_the_border():
    with terminal("--tty", "--seccomp", "off", "--allow-partial", "--", PYTHON, "-c", INJECT) as t:
        device = int(t.expect(r"pushed .* (\d+)\r\n").group(1))
        assert device != os.fstat(t.slave).st_dev, "another devpts"
        assert t.wait() == 0
        typed = select.select([t.slave], [], [], 0.2)[0]
        assert not typed, "something was typed into the terminal outside"
    with terminal("--tty", "--", PYTHON, "-c", INJECT) as t:
        t.expect("pushed Operation not permitted Operation not permitted")
        assert t.wait() == 0


def test_without_a_terminal_the_data_is_copied():
    r = cordon("run", "--tty", "--", "sh", "-c", "test -t 0 && test -t 2 && cat >&2", stdin=b"one\ntwo")
    assert r.rc == 0 and r.out == b"one\r\ntwo" and r.err == b"", r.told()
    big = b"".join(b"%0100d\n" % i for i in range(3000))
    r = cordon("run", "--tty", "--", "cat", stdin=big)
    assert r.out == big.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("data, command, said", [
    (b"echo 6 times $((6 * 7))\n", ["bash", "--norc"], b"6 times 42"),
    (b"print(6 * 7)\n", [PYTHON, "-q"], b"42"),
    (b"echo $((6 * 7))", ["sh"], b"42"),  # a line that does not end
    (b"", ["sh", "-c", "cat; cat; read x; echo 42"], b"42"),
], ids=["bash", "python", "line", "twice"])
def test_the_end_of_input_lasts(data, command, said):
    """Also for a program that reads single keys: it does not wait for ever for one that it missed."""
    r = cordon("run", "--tty", "--wall", "20s", "--", *command, stdin=data)
    assert r.rc == 0 and said in r.out, r.told()


def test_captured_as_one_stream_and_cut():
    r = run("--tty", "--", "sh", "-c", "echo out; echo err >&2")
    assert r.doc["stdout"] == "out\r\nerr\r\n" and r.doc["stderr"] == "", r.told()
    r = run("--tty", "--output", "10", "--", "sh", "-c", "seq 100")
    assert r.doc["stdout_truncated"] and r.doc["stdout"].startswith("1\r\n2\r\n3\r\n4"), r.told()
    r = run("--tty", "--output", "10", "--on-overflow", "kill", "--", "seq", "100")
    assert r.doc["status"] == "OUTPUT_LIMIT"


def test_in_guard_mode(place):
    r = cordon("run", "--profile", "limits", "--tty", "--", "sh", "-c", "tty; echo x >/dev/tty", cwd=place)
    assert r.rc == 0 and r.out == b"/dev/pts/0\r\nx\r\n", r.told()


def test_in_guard_mode_each_line_of_a_violation_begins_at_the_left():
    beside = f"/var/tmp/{marker()}"
    with terminal("--profile", "limits", "--tty", "--cwd", "/usr", "--", "touch", beside) as t:
        t.expect(f"TEST_SANDBOX_VIOLATION: attempted to write to {beside} [^\n]*\\)\r\n  fix: [^\n]*\r\n")
        t.wait()


def test_without_namespaces_it_is_refused():
    r = cordon("run", "--tty", "--allow-partial", "--", "true", binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "userns"})
    assert r.rc in (2, 125) and b"terminal" in r.err, r.told()
    assert b"went on" not in r.err, r.told()


@pytest.mark.parametrize("other", [["--stdin", "none"], ["--progress"]])
def test_contradictions(other):
    r = cordon("run", "--tty", *other, "--", "true")
    assert r.rc == 2 and b"--tty" in r.err, r.told()


# ---- the live line ----

ERASE = b"\r\x1b[K"
ERASED = re.escape(ERASE)
LINE = rb"cordon: \d+\.\d s, cpu \d+\.\d s, memory \d+\.\d MiB"


def test_progress_shows_a_line_and_takes_it_away():
    script = "for i in 1 2 3; do sleep 0.6; echo line $i; done; printf rest; sleep 0.6; echo .; sleep 0.6"
    with terminal("--progress", "--", "sh", "-c", script) as t:
        assert t.wait() == 0
        shown = t.shown
    assert len(re.findall(ERASED + LINE, shown)) >= 4, shown
    left = re.sub(ERASED, b"", re.sub(ERASED + LINE, b"", shown))
    assert left == b"line 1\r\nline 2\r\nline 3\r\nrest.\r\n", shown
    for line in re.split(b"\r\n", shown):  # a line of the payload's has nothing else in it
        assert re.sub(rb".*\x1b\[K", b"", line) in (b"line 1", b"line 2", b"line 3", b"rest.", b""), line


def test_progress_counts_what_the_tree_uses():
    # By its own time: a busy machine gives it little of the wall's.
    script = f"exec {PYTHON} -c 'x = bytearray(60 << 20); import time\nwhile time.process_time() < 1.5: pass'"
    with terminal("--progress", "--", "sh", "-c", script) as t:
        assert t.wait() == 0
        seen = re.findall(rb"cpu (\d+\.\d) s, memory (\d+\.\d) MiB", t.shown)
    assert max(float(m) for _, m in seen) > 55, seen
    assert max(float(c) for c, _ in seen) > 0.3, seen


def test_progress_without_a_terminal_is_silent():
    r = cordon("run", "--progress", "--", "sh", "-c", "sleep 0.6; echo x")
    assert r.rc == 0 and r.out == b"x\n" and r.err == b"", r.told()


def test_progress_fits_a_narrow_terminal():
    with terminal("--progress", "--", "sleep", "0.8", columns=12) as t:
        assert t.wait() == 0
        assert all(len(part) < 12 for part in t.shown.split(ERASE)), t.shown


# ---- colours ----

def test_colours_only_on_a_terminal_and_never_with_no_color():
    with terminal("--", "/no/such/program") as t:
        assert t.wait() == 127 and b"\x1b[1;31mcordon: \x1b[0m" in t.shown, t.shown
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        with terminal("--", "/no/such/program", env=env) as t:
            assert t.wait() == 127 and b"\x1b" not in t.shown, t.shown
    r = cordon("run", "--", "/no/such/program", env={"TERM": "xterm"})
    assert b"\x1b" not in r.err


def test_colours_of_the_result_as_text():
    for command, code in (("true", b"32"), ("false", b"31")):
        with terminal("--format", "text", "--", command) as t:
            t.wait()
            assert b"\x1b[" + code + b"mstatus=" in t.shown, t.shown
    with terminal("--json", "--", "true") as t:
        t.wait()
        assert json.loads(t.shown)["status"] == "OK"


# ---- in the background ----

# A shell with a job in the background: tells when that one stops or ends, and brings it to the front when told to.
LEADER = """
import os, select, signal, subprocess, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp, stdout=2)
while True:
    if select.select([3], [], [], 0.02)[0] and os.read(3, 1):
        os.tcsetpgrp(0, job.pid)
    pid, status = os.waitpid(job.pid, os.WNOHANG | os.WUNTRACED)
    if pid:
        os.write(1, b"stopped" if os.WIFSTOPPED(status) else b"ended %d" % os.waitstatus_to_exitcode(status))
        job.kill()
        break
"""


@contextlib.contextmanager
def in_background(*argv):
    """Its words go to a pipe of its own; on the terminal nothing is shown but what is typed."""
    master, slave = pty.openpty()
    order, orders = os.pipe()

    def take():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        os.dup2(order, 3)

    with subprocess.Popen([PYTHON, "-c", LEADER, *argv], stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ENV, preexec_fn=take, close_fds=False) as p:  # noqa: PLW1509
        try:
            yield p, master, orders
        finally:
            p.kill()
            for fd in (master, slave, order, orders):
                os.close(fd)


BACKENDS = {"native": [], "posix": ["--backend", "posix", "--allow-partial"]}


@pytest.mark.parametrize("backend", BACKENDS)
def test_keys_for_others_do_not_stop_a_run_in_the_background(backend):
    with in_background("cat") as (p, master, _):  # who reads is stopped
        os.write(master, b"for the shell\n")
        assert p.stdout.read() == b"stopped"
    run_it = [BIN, "run", "--quiet", *BACKENDS[backend]]
    with in_background(*run_it, "--wall", "1s", "--", "sleep", "30") as (p, master, _):
        os.write(master, b"for the shell\n")
        assert p.stdout.read() == b"ended 124", "its limit is kept"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_that_comes_to_the_front_gets_its_keys(backend):
    with in_background(BIN, "run", "--quiet", *BACKENDS[backend], "--wall", "20s", "--", "sh", "-c",
                       "echo ready >&2; read line; echo got $line >&2; exit 7") as (p, master, orders):
        assert p.stderr.readline() == b"ready\n"
        os.write(master, b"mine\n")
        assert not select.select([p.stderr, p.stdout], [], [], 0.5)[0], "not while it is another's"
        os.write(orders, b"f")
        assert p.stderr.readline() == b"got mine\n" and p.stdout.read() == b"ended 7"
