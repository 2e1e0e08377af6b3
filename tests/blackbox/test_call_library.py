"""`cordon call`: modules that are libraries, calls without a sandbox, and the runner."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

import pytest

import support
from extensions import ECHO, LIBRARY, WORLD
from support import BIN, ENV, ROOT, cordon, marker, pids_with


# --- libraries -------------------------------------------------------------------------------


def test_a_library_module(modules):
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    r = modules.result("c.echo", given=b'{"a": "b"}')
    assert r.doc["value"] == {"a": "b"}
    assert r.doc["cmd"][1:3] == ["--internal-sandbox-runner", "c.echo"]  # M2
    assert r.doc["enforced"]["filesystem"]["applied"] is True
    assert r.doc["usage"]["processes"] == 1  # one sandbox, and one process in it


def test_what_a_library_prints_is_not_its_answer(modules):
    modules.add("c.chatty", library=LIBRARY % 'printf("noise"); puts("more"); (void)input; return strdup("1");')
    r = modules.result("c.chatty")
    assert r.doc["value"] == 1 and r.doc["stdout"] == "1" and r.doc["stderr"] == "noisemore\n"


@pytest.mark.parametrize("body,rc,status", [
    ("(void)input; return NULL;", 1, "NONZERO_EXIT"), ("(void)input; exit(3);", 3, "NONZERO_EXIT"),
    ("(void)input; abort();", 134, "SIGNALED"), ('(void)input; return strdup("1 2");', 65, "OUTPUT_PARSE_FAILED"),
    ('(void)input; return strdup("");', 65, "OUTPUT_PARSE_FAILED"),
    ("(void)input; for (;;) pause();", 124, "TIMEOUT")])
def test_a_library_that_fails(modules, body, rc, status):
    modules.add("c.bad", library=LIBRARY % body)
    r = modules.result("--timeout", "700ms", "--grace", "0", "c.bad")
    assert r.rc == rc and r.doc["status"] == status and r.doc["value"] is None, r.told()


def test_a_library_that_cannot_be_loaded_is_44(modules):
    where = modules.add("c.none", library="int nothing; \n")
    r = modules.result("c.none")
    assert r.rc == 44 and "cordon_module_call" in r.doc["stderr"]
    assert modules.call("--exit", "apcore", "c.none").rc == 44
    (where / "x.so").write_text("no library")
    assert modules.call("c.none").rc == 44
    (where / "x.so").unlink()
    r = modules.call("c.none")
    assert r.rc == 44 and b"/x.so': no such file" in r.err


def test_the_runner_is_found_beside_the_program_and_never_by_the_environment(modules, place):
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    (place / "bin").mkdir()
    (place / "libexec/cordon").mkdir(parents=True)
    shutil.copy2(BIN, place / "bin/cordon")
    runner = place / "libexec/cordon/cordon-module-runner"
    env = {"PATH": f"{pathlib.Path(BIN).parent}:{ENV['PATH']}"}
    r = modules.result("c.echo", binary=place / "bin/cordon", env=env)
    assert r.rc == 127 and r.doc["status"] == "SPAWN_FAILED", r.told()
    # A runner in its place gets the flag, the id and the library, and the input (M2).
    runner.write_text('#!/bin/sh\nread -r given\nprintf \'["%s","%s","%s",%s]\' "$@" "$given"\n')
    runner.chmod(0o755)
    subprocess.run(["chmod", "-R", "a+rX", str(place / "libexec")], check=True)
    r = modules.result("c.echo", binary=place / "bin/cordon", given=b'{"in": 1}')
    assert r.doc["value"] == ["--internal-sandbox-runner", "c.echo", f"{modules.path}/c.echo/x.so", {"in": 1}]


# --- without a sandbox -----------------------------------------------------------------------


def test_without_a_sandbox_it_is_the_callers_own_world(modules, place):
    modules.add("a.world", WORLD)
    env = {"SECRET": "1", "APCORE_AUTH_X": "2"}
    r = modules.result("--no-sandbox", "a.world", env=env, cwd=place)
    seen = r.doc["value"]
    assert seen["cwd"] == str(place) and seen["env"]["SECRET"] == "1" and seen["env"]["APCORE_AUTH_X"] == "2"
    assert seen["uid"] == os.getuid()
    assert r.doc["backend"] == {"kind": "none", "effective": False}
    assert not any(e["applied"] for e in r.doc["enforced"].values())
    assert b"nothing is enforced" in r.err
    assert modules.call("--no-sandbox", "--unsafe-no-isolation", "a.world").err == b""
    r = modules.call("--no-sandbox", "--unsafe-no-isolation", "a.world", env={"CORDON_REQUIRE_ISOLATION": "1"})
    assert r.rc == 2 and r.out == b"" and b"CORDON_REQUIRE_ISOLATION" in r.err, r.told()


@pytest.mark.parametrize("option", [
    ["--within", "CEILING"], ["--require", "network"], ["--policy", "REQUIRES"], ["--timeout", "5s"], ["--dry-run"],
    ["--die-with", str(os.getpid())], ["--stdout-file", "out"], ["--stderr-file", "out"]], ids=lambda o: o[0])
def test_without_a_sandbox_what_it_would_keep_is_refused(modules, place, option):
    modules.add("a.made", "open('made', 'w'); print(1)")
    (place / "CEILING").write_text('{"version": 1, "extends": "module"}')
    (place / "REQUIRES").write_text('{"version": 1, "extends": "module", "require": ["network"]}')
    r = modules.call("--no-sandbox", *option, "a.made", cwd=place)
    assert r.rc == 2 and b"sandbox" in r.err and r.out == b"", r.told()
    assert not (place / "made").exists() and not (place / "out").exists()
    assert modules.call("--no-sandbox", "--timeout", "none", "a.made", cwd=place).rc == 0
    assert (place / "made").exists()


def test_without_a_sandbox_no_policy_is_claimed_and_the_result_is_nobody_elses(modules, place):
    modules.add("a.faker", """
import json, os
seen = []
for fd in range(3, 64):
    try: os.write(fd, b'{"fake": 1}'); seen.append(fd)
    except OSError: pass
print(json.dumps(seen))""")
    with open(place / "r", "w+b") as f, open(place / "other", "wb") as other:
        r = modules.call("--no-sandbox", "--result", f"fd:{f.fileno()}", "a.faker",
                         pass_fds=[f.fileno(), other.fileno()])
        f.seek(0)
        doc = json.loads(f.read())
        assert doc["value"] == [other.fileno()], r.told()  # an ordinary child otherwise
    assert doc["cordon"]["policy_sha256"] is None


def test_no_variable_turns_the_sandbox_off(modules):
    modules.add("a.world", WORLD)
    for value in ("0", "false", "true", "1", ""):
        seen = modules.result("a.world", env={"APCORE_CLI_SANDBOX": value}).doc["value"]
        assert seen["uid"] == 65534 and seen["cwd"] == "/work"


def test_without_a_sandbox_failures_are_told_as_well(modules):
    modules.add("a.three", "import sys; print('why', file=sys.stderr); sys.exit(3)")
    modules.add("a.kill", "import os, sys; os.kill(os.getpid(), int(sys.stdin.read()))")
    modules.add("a.text", "print('hello')")
    modules.add("a.none", command=["no-such-program"])
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    call = lambda *args, **kw: modules.result("--no-sandbox", "--quiet", *args, **kw)
    r = call("a.three")
    assert (r.rc, r.doc["status"], r.doc["stderr"]) == (3, "NONZERO_EXIT", "why\n")
    for number, status in ((9, "KILLED_KILL"), (15, "KILLED_TERM"), (10, "SIGNALED")):  # as in a sandbox
        r = call("a.kill", given=str(number).encode())
        assert (r.rc, r.doc["status"], r.doc["exit"]) == (128 + number, status, {"signal": number})
    assert call("a.text").rc == 65
    assert (call("a.none").rc, call("a.none").doc["status"]) == (127, "SPAWN_FAILED")
    assert call("c.echo", given=b"[1]").doc["value"] == [1]
    word = marker()
    modules.add("a.daemon", f"""
import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', '{word}'])
print(1)""")
    start = time.monotonic()
    assert call("a.daemon").doc["value"] == 1
    assert time.monotonic() - start < 30  # it holds the pipe, and keeps nobody
    with contextlib.suppress(ProcessLookupError):
        for pid in pids_with(word):
            os.kill(pid, signal.SIGKILL)


def called(modules, *args):
    """A call under way."""
    p = subprocess.Popen([BIN, "call", "--extensions", modules.path, *args], env=ENV, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdin.write(b"null")
    p.stdin.close()
    return p


@pytest.mark.parametrize("ends", [["--no-sandbox", "--unsafe-no-isolation"], []], ids=["without", "sandbox"])
def test_a_signal_is_the_modules_and_the_call_is_recorded(modules, place, ends):
    modules.add("a.waits", "import os, sys, time; print('up', file=sys.stderr, flush=True); time.sleep(60)")
    result, log = place / "result.json", place / "log"
    with called(modules, *ends, "--result", result, "--audit-log", log, "a.waits") as p:
        assert p.stderr.readline() == b"up\n"
        p.send_signal(signal.SIGTERM)
        assert p.wait(30) == 143
    doc = json.loads(result.read_text())
    assert (doc["status"], doc["reason"]) == ("KILLED_TERM", "the caller sent SIGTERM (signal 15)")
    assert json.loads(log.read_text())["exit_code"] == 143


def test_who_ignores_a_signal_without_a_sandbox_is_killed_by_the_second(modules):
    modules.add("a.stays", "import signal, sys, time; signal.signal(15, signal.SIG_IGN)\n"
                           "print('up', file=sys.stderr, flush=True); time.sleep(60)")
    with called(modules, "--no-sandbox", "--unsafe-no-isolation", "a.stays") as p:
        assert p.stderr.readline() == b"up\n"
        p.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            p.wait(0.3)
        p.send_signal(signal.SIGTERM)
        assert p.wait(30) == 143


WAYS = {"sandbox": ["call"], "none": ["call", "--no-sandbox", "--unsafe-no-isolation"], "runner": ["--internal-sandbox-runner"]}


@pytest.mark.parametrize("way", WAYS)
def test_a_caller_that_ignores_its_children(modules, way):
    """The kernel then reaps them by itself, and nobody could be waited for."""
    modules.add("a.echo", ECHO)
    r = cordon(*WAYS[way], "a.echo", stdin=b"[1]", env={"APCORE_EXTENSIONS_ROOT": str(modules.path)},
               preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert (r.rc, r.out.strip()) == (0, b"[1]"), r.told()


@pytest.mark.parametrize("way", ["none", "runner"])
def test_a_kernel_without_descriptors_of_processes(modules, deny, way):
    modules.add("a.echo", ECHO)
    p = subprocess.run([*deny("ENOSYS", "pidfd_open"), BIN, *WAYS[way], "a.echo"], input=b"[1]", capture_output=True,
                       env={**ENV, "APCORE_EXTENSIONS_ROOT": str(modules.path)}, timeout=30, check=False)
    assert (p.returncode, p.stdout.strip()) == (0, b"[1]"), p.stderr


@pytest.mark.parametrize("way", WAYS)
def test_files_that_may_not_grow(modules, place, way):
    """An input that cannot be kept is an error in words, and not the end of cordon by SIGXFSZ."""
    modules.add("a.limit", "import resource, signal; print([resource.getrlimit(resource.RLIMIT_FSIZE)[0], "
                           "int(signal.getsignal(signal.SIGXFSZ))])")
    few = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    env = {"APCORE_EXTENSIONS_ROOT": str(modules.path)}
    r = cordon(*WAYS[way], "a.limit", stdin=b'"' + b"x" * 8192 + b'"', env=env, preexec_fn=few)
    assert r.rc in (1, 125, 126) and r.err.startswith(b"cordon: ") and b"too large" in r.err, r.told()
    r = cordon(*WAYS[way], "a.limit", stdin=b"1", env=env, preexec_fn=few)
    if r.rc == 0:  # Python ignores it by itself where it has its default.
        assert json.loads(r.out)[1] in (0, 1), r.told()
    else:  # an ordinary user's /dev/zero is a file without an end
        assert way == "sandbox" and not ROOT and b"ulimit -f unlimited" in r.err, r.told()


def test_a_word_of_the_command_that_grows_too_long(modules):
    modules.add("a.long", command=["echo", "{module}" * 10000])
    r = modules.call("a.long")
    assert r.rc == 44 and b"longer than 131071 bytes" in r.err, r.told()
    assert b"longer than 131071 bytes" in cordon("call", "--extensions", modules.path, "--list").err


# --- the runner flag -------------------------------------------------------------------------


def flag(*args, given=b"{}", **kw):
    return cordon("--internal-sandbox-runner", *args, stdin=given, **kw)


def test_the_runner_flag(modules):
    modules.add("a.echo", ECHO)
    modules.add("a.three", "import sys; print('why', file=sys.stderr); sys.exit(3)")
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    env = {"APCORE_EXTENSIONS_ROOT": str(modules.path)}
    assert b"internal-sandbox-runner" not in cordon("--help").out
    r = flag("a.echo", given=b'{"a": 1}', env=env)
    assert (r.rc, r.out, r.err) == (0, b'{"a":1}', b"")  # no newline (M28)
    assert flag("c.echo", given=b"[1,2]", env=env).out == b"[1,2]"
    r = flag("a.three", env=env)
    assert r.rc == 1 and r.out == b"" and b"why" in r.err and b"exited with 3" in r.err
    r = flag(env=env)
    assert r.rc == 1 and r.out == b"" and b"id is missing" in r.err  # M4
    r = flag("a.echo", given=b"{nonsense", env=env)
    assert r.rc == 1 and r.out == b"" and b"not a JSON value" in r.err  # M5
    for id_ in ("a.nothing", "../x"):
        r = flag(id_, env=env)
        assert r.rc == 1 and r.out == b"" and id_.encode() in r.err


def test_the_runner_flag_works_inside_a_sandbox(modules):
    modules.add("a.echo", ECHO)
    r = support.run("--ro", modules.path, "--ro", pathlib.Path(BIN).parent, "--setenv",
                    f"APCORE_EXTENSIONS_ROOT={modules.path}", "--", BIN, "--internal-sandbox-runner", "a.echo",
                    stdin=b'{"a":[]}')
    assert r.rc == 0 and r.doc["stdout"] == '{"a":[]}', r.told()
