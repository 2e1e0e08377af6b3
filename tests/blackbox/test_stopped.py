"""A run that cordon stops says so on stderr, with the reason of its result and what allows more."""
import json
import signal
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, SHORT, cordon

# Options, command, exit status, and what may be tried instead.
STOPPED = {
    "wall": (["--wall", "300ms"], ["sleep", "30"], 124, "--wall 600ms allows more"),
    "cpu": (["--cpu", "1s"], ["sh", "-c", "while :; do :; done"], 152, "--cpu 2s allows more"),
    "memory": (["--mem", "64M"], [PYTHON, "-c", "import time; x = b'x' * (256 << 20); time.sleep(30)"], 137,
               "--mem 128M allows more"),
    "output": (["--output", "1K", "--on-overflow", "kill"], ["yes"], 153,
               "--output 2K allows more; --on-overflow truncate drops what is too much"),
}


@pytest.mark.parametrize("limit", STOPPED)
def test_a_run_that_was_stopped_says_why(limit, tmp_path):
    options, command, rc, remedy = STOPPED[limit]
    told = tmp_path / "result.json"
    r = cordon("run", *options, "--result", told, "--", *command, stdout=subprocess.DEVNULL)
    assert r.rc == rc, r.told()
    reason = json.loads(told.read_text())["reason"]
    assert f"cordon: stopped '{command[0]}': {reason}\n  {remedy}\n" in r.err.decode(), r.told()


@pytest.mark.parametrize("option", [["--quiet"], ["--json"], ["--format", "text"]])
def test_a_run_that_was_stopped_is_silent_where_that_is_asked_for_or_told_otherwise(option):
    r = cordon("run", *option, "--wall", "100ms", "--", "sleep", "30")
    assert r.rc == 124 and b"stopped" not in r.err, r.told()


@pytest.mark.parametrize("end", ["exit 3", "kill -KILL $$", "kill -TERM $$", "kill -XCPU $$"])
def test_an_end_of_its_own_is_nothing_to_speak_of(end):
    r = cordon("run", "--", "sh", "-c", end)
    assert r.rc != 0 and b"stopped" not in r.err, r.told()


def test_the_caller_who_ends_a_run_knows_why():
    """Also if the limit comes before the command has heeded the signal."""
    argv = [BIN, "run", "--wall", "1s", *SHORT, "--", "sh", "-c",
            "trap '' TERM; echo on; while :; do sleep 0.1; done"]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"on\n"
        p.send_signal(signal.SIGTERM)
        err = p.communicate(timeout=30)[1]
    assert p.returncode == 128 + signal.SIGTERM and b"stopped" not in err, err


def test_a_forbidden_call_is_told_and_how_to_go_on():
    r = cordon("run", "--on-forbidden", "kill", "--", PYTHON, "-c",
               PRELUDE + "sc('mount', b'none', b'/tmp', b'tmpfs', 0, 0)")
    assert r.rc == 159, r.told()
    assert r.err.decode().splitlines()[-2:] == [
        f"cordon: stopped '{PYTHON}': ended by SIGSYS (signal 31) for a forbidden system call (on_forbidden: kill)",
        "  --on-forbidden errno lets the call fail instead; cordon-run(1) tells how to find it"], r.told()
