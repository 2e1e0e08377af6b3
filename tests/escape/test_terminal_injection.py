"""A payload on the caller's terminal pushes a command into its input queue (TIOCSTI)."""
import json
import os
import pty
import select
import signal

import pytest

from support import BIN, ENV, PRELUDE, PYTHON

INJECT = PRELUDE + """
import fcntl, termios
def push(fd):
    for c in b'injected\\n': fcntl.ioctl(fd, termios.TIOCSTI, bytes([c]))
def by_name():
    push(os.open('/dev/tty', os.O_RDWR))
r = {'tty': [os.isatty(i) for i in (0, 1, 2)], 'name': tried(by_name)}
for fd in (0, 1, 2): r[str(fd)] = tried(push, fd)
for name in ('TIOCLINUX', 'TIOCSETD'):
    r[name] = tried(fcntl.ioctl, 0, getattr(termios, name, 0x541C), b'\\x03\\0\\0\\0')
"""


def on_a_terminal(argv, answer):
    """Runs argv as the foreground program of a fresh terminal; what was pushed into its input."""
    pid, master = pty.fork()
    if pid == 0:
        signal.alarm(60)
        os.execve(argv[0], argv, {**ENV, "ANSWER": str(answer)})
    shown = b""
    while True:
        ready, _, _ = select.select([master], [], [], 60)
        try:
            data = os.read(master, 4096) if ready else b""
        except OSError:
            data = b""
        if not data:
            break
        shown += data
    os.waitpid(pid, 0)
    os.close(master)
    return shown


def test_terminal_injection(place):
    control = INJECT + "json.dump(r, open(os.environ['ANSWER'], 'w'))"
    on_a_terminal([PYTHON, "-c", control], place / "control")
    outside = json.loads((place / "control").read_text())
    assert outside["tty"] == [True] * 3, "the control has a terminal"

    shown = on_a_terminal([BIN, "run", "--result", str(place / "r"), "--", PYTHON, "-c",
                           INJECT + "say(r)"], place / "none")
    doc = json.loads((place / "r").read_text())
    assert doc["status"] == "OK", doc
    r = json.loads(doc["stdout"].splitlines()[-1])
    assert r["tty"] == [False] * 3
    for fd in "012":
        assert r[fd] in ("ENOTTY", "EPERM"), r
    assert r["name"] in ("ENXIO", "ENOENT", "EACCES"), r
    assert b"injected" not in shown.replace(b'"injected', b"")
    if outside["0"] != "ok":
        pytest.skip(f"this kernel refuses TIOCSTI to everybody ({outside['0']}): the refusal "
                    "inside was checked, the control is not possible")
