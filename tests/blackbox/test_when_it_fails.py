"""cordon-run(1), "WHEN A COMMAND FAILS INSIDE": a program says what stands there, and the option helps."""
import os
import pathlib
import re

import pytest

import support
from support import PYTHON, cordon

PAGE = "man/cordon-run.1.scd"
THREADS = "import threading\nall = threading.Event()\n" \
    "for _ in range(40): threading.Thread(target=all.wait, daemon=True).start()\nall.set()"
LISTEN = ("import socket\ns = socket.create_server(('127.0.0.1', 0))\n"
          "socket.create_connection(s.getsockname())")

# What it says, with which options it does not, the command.
ROWS = {
    "file": ("No such file or directory", ["--ro", "{place}/in"], ["cat", "{place}/in"]),
    "command": ("not found inside the sandbox", ["--ro", "{place}"], ["{place}/program"]),
    "package": ("No module named 'mine'", ["--ro", "{place}", "--env", "PYTHONPATH"], [PYTHON, "-c", "import mine"]),
    "write": ("Read-only file system", ["--rw", "{place}:/out"], ["sh", "-c", "echo >/out/x"]),
    "space": ("No space left on device", ["--tmp", "1G"], ["sh", "-c", "head -c 70M /dev/zero >/tmp/x"]),
    "network": ("Network is unreachable", ["--net", "loopback"], [PYTHON, "-c", LISTEN]),
    "fork": ("Cannot fork", ["--pids", "256"], ["sh", "-c", "for i in $(seq 40); do sleep .2 & done; wait"]),
    "thread": ("can't start new thread", ["--pids", "256"], [PYTHON, "-c", THREADS]),
    "open": ("Too many open files", ["--nofile", "4096"],
             [PYTHON, "-c", "files = [open('/dev/null') for _ in range(600)]"]),
}


def section():
    for top in (support.TOP, pathlib.Path(os.environ.get("CORDON_SOURCE", support.TOP))):
        if (top / PAGE).exists():
            return re.search(r"^# WHEN A COMMAND FAILS INSIDE\n(.*?)^# ", (top / PAGE).read_text(), re.M | re.S).group(1)
    raise AssertionError(f"{PAGE} is missing")


@pytest.mark.parametrize("name", ROWS)
def test_the_option_helps(place, name):
    words, options, command = ROWS[name]
    (place / "in").write_text("hello\n")
    (place / "mine.py").write_text("")
    (place / "program").write_text("#!/bin/sh\n")
    (place / "program").chmod(0o755)
    (place / "mine.py").chmod(0o644)
    options = [word.format(place=place) for word in options]
    command = [word.format(place=place) for word in command]
    env = {"PYTHONPATH": str(place)}
    before = ["--ro", f"{place}:/out"] if name == "write" else []
    r = cordon("run", *before, "--", *command, env=env)
    assert r.rc != 0 and words.encode() in r.err, r.told()
    r = cordon("run", *options, "--", *command, env=env)
    assert r.rc == 0 and words.encode() not in r.err, r.told()
    if name != "package":  # Python's words; the page has it in general
        assert words in section()
    assert all(option in section() for option in options if option.startswith("--"))


def test_memory_that_nobody_would_count():
    act = ["--", PYTHON, "-c", "import mmap; mmap.mmap(-1, 4096)"]
    r = support.run(*act)
    counted = r.doc["enforced"]["memory"]["mechanism"] != "watcher"
    assert (r.rc == 0) == counted and ("Function not implemented" in r.doc["stderr"]) != counted, r.told()
    assert cordon("run", "--mem", "none", *act).rc == 0
    assert "--mem none" in section() and "Function not implemented" in section()


def test_the_options_that_it_names_exist():
    known = set(re.findall(r"^  (--[a-z-]+)", cordon("run", "--help").text, re.M))
    assert set(re.findall(r"--[a-z][a-z-]*", section())) - {"--profile"} <= known
