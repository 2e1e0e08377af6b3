"""run(): results, statuses, and what a policy says."""

import asyncio
import copy
import dataclasses
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import cordon
import pytest

PYTHON = "/usr/bin/python3"


def test_the_first_example():
    result = cordon.run([PYTHON, "-c", "print(6 * 7)"])
    assert (result.status, result.rc, result.stdout, result.ok) == ("OK", 0, "42\n", True)
    assert result.cmd == [PYTHON, "-c", "print(6 * 7)"]
    assert result.stdout_data == b"42\n"
    assert result.enforced["network"].applied
    assert len(result.trace_id) == 32


def test_two_runs_compare_equal():
    one, two = (cordon.run(["sh", "-c", "echo same; exit 3"]) for _ in range(2))
    assert one == two and one.trace_id != two.trace_id
    assert one != cordon.run(["sh", "-c", "echo other; exit 3"])


@pytest.mark.parametrize("script, limits, status, rc", [
    ("exit 0", {}, "OK", 0),
    ("exit 7", {}, "NONZERO_EXIT", 7),
    ("kill -TERM $$", {}, "KILLED_TERM", 143),
    ("kill -KILL $$", {}, "KILLED_KILL", 137),
    ("kill -USR1 $$", {}, "SIGNALED", 138),
    ("sleep 60", {"wall_ms": 200, "grace_ms": 100}, "TIMEOUT", 124),
    ("while :; do :; done", {"cpu_ms": 300}, "CPU_LIMIT", 152),
    ("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", {"mem_bytes": 64 << 20}, "MEM_LIMIT", 137),
    ("while :; do echo flood; done", {"output_bytes": 4096, "on_overflow": "kill"}, "OUTPUT_LIMIT", 153),
])
def test_every_status(script, limits, status, rc):
    result = cordon.run(["sh", "-c", script], cordon.Policy(limits=cordon.Limits(**limits)))
    assert (result.status, result.rc) == (status, rc), result.explain()


def test_a_command_that_is_not_there():
    result = cordon.run(["no-such-command"])
    assert (result.status, result.rc) == ("SPAWN_FAILED", 127)
    assert "could not be started" in result.explain() and "Weaker" not in result.explain()


def test_a_command_that_is_not_shown_inside(tmp_path):
    """As the Python of a virtual environment: what to show is said, and is right."""
    program = tmp_path / "venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(PYTHON)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    result = cordon.run([program])
    assert result.refusal.startswith(f"run command '{program}': not found inside"), result.refusal
    assert f"  it exists on the host: --ro {tmp_path}/venv would show it" in result.explain().splitlines()
    assert "host:" not in str(result.document)
    assert cordon.run([program, "-c", ""], cordon.Policy(fs=cordon.Files(ro=[str(tmp_path / "venv")]))).ok
    elsewhere = tmp_path / "elsewhere" / "python3"
    elsewhere.parent.mkdir()
    elsewhere.symlink_to(tmp_path / "own")
    (tmp_path / "own").write_text("#!/bin/sh\n")
    (tmp_path / "own").chmod(0o755)
    program.unlink()
    program.symlink_to(elsewhere)
    shown = cordon.Policy(fs=cordon.Files(ro=[str(tmp_path / "venv")]))
    assert f"together with what it leads to: {tmp_path}/own" in cordon.run([program], shown).explain()
    (tmp_path / "venv" / "pyvenv.cfg").unlink()
    assert f"--ro {program.parent} would" in cordon.run([program]).explain()


def test_input_and_truncation():
    assert cordon.run(["cat"], input="grüß").stdout == "grüß"
    assert cordon.run(["cat"], input=b"\xff\0").stdout_data == b"\xff\0"
    result = cordon.run(["head", "-c", "5000", "/dev/zero"],
                        cordon.Policy(limits=cordon.Limits(output_bytes=1000)))
    assert result.ok and result.stdout_truncated and result.stdout_bytes == 5000
    assert "[TRUNCATED]" in result.stdout and result.stdout_data == bytes(1000)
    assert "stdout was cut: 5000 bytes were written." in result.explain()


@pytest.mark.parametrize("data", [b"", b"a\n", b"a", "grüß".encode(), b"\0\x1b\x7f", b"[TRUNCATED] 1 of 2 bytes\n", b"a\xff\xfeb"])
@pytest.mark.parametrize("cap", [3, 100])
def test_the_bytes_are_exact(data, cap):
    policy = cordon.Policy(limits=cordon.Limits(output_bytes=cap))
    result = cordon.run(["tee", "/dev/stderr"], policy, input=data)
    assert (result.stdout_data, result.stderr_data) == (data[:cap], data[:cap])
    assert result.stdout_truncated == (len(data) > cap)


def test_a_trace_id():
    assert cordon.run(["true"], trace_id="0123456789abcdef" * 2).trace_id == "0123456789abcdef" * 2
    with pytest.raises(cordon.PolicyError, match="32 lower-case hex digits"):
        cordon.run(["true"], trace_id="mine")


def test_the_ledger_is_read_when_it_is_asked_for():
    """And nobody can tell: a field like the others, also of a copy that was made before."""
    result = cordon.run(["true"])
    assert not {"document", "enforced"} & set(vars(result))
    copies = [pickle.loads(pickle.dumps(result)), copy.deepcopy(result), dataclasses.replace(result)]
    at_once = cordon.result.result_of(result.document)
    assert result.enforced["network"] == cordon.Enforcement(**result.document["enforced"]["network"])
    assert all(other == result and other.document == result.document for other in [*copies, at_once])
    assert list(result.document)[8:11] == ["traceId", "enforced", "profile"] and result.document["profile"] == "stage"
    assert result.enforced is result.enforced and result.document is result.document
    assert "enforced={'wall_time': Enforcement(" in repr(result) and not hasattr(cordon.Result, "enforced")


@pytest.mark.parametrize("word", [',"enforced":{', '","enforced":{}', '\\","enforced":{},"profile":"', ',"profile":'])
def test_words_that_look_like_the_ledger(word):
    result = cordon.run(["printf", "%s", word])
    assert result.stdout == word and result.cmd == ["printf", "%s", word]
    assert result.enforced["network"].applied and result.profile == "stage"


def test_another_version(monkeypatch):
    monkeypatch.setattr("cordon._command.INTERFACE", "7.")
    with pytest.raises(cordon.LibraryError, match="this package needs 7.x"):
        cordon.run(["true"])


def test_the_environment_is_the_policys():
    os.environ["APCORE_SECRET"] = "leak"
    try:
        assert "leak" not in cordon.run(["env"]).stdout
        named = cordon.Policy(env=cordon.Environment(allow=["PATH", "APCORE_SECRET"]))
        assert "APCORE_SECRET=leak" in cordon.run(["env"], named).stdout
        assert "APCORE_SECRET=given" in cordon.run(["env"], named, env={"APCORE_SECRET": "given"}).stdout
    finally:
        del os.environ["APCORE_SECRET"]


def test_binds(tmp_path):
    (tmp_path / "in").write_text("hello")
    script = ["sh", "-c", f"cat {tmp_path}/in; echo changed > {tmp_path}/in"]
    assert "hello" not in cordon.run(script).stdout
    result = cordon.run(script, cordon.Policy(fs=cordon.Files(ro=[str(tmp_path)])))
    assert result.stdout == "hello" and not result.ok and (tmp_path / "in").read_text() == "hello"
    elsewhere = cordon.Files(ro=[cordon.Bind(str(tmp_path), "/data")])
    assert cordon.run(["cat", "/data/in"], cordon.Policy(fs=elsewhere)).stdout == "hello"
    missing = cordon.Files(ro=[cordon.Bind("/no/such/place", optional=True)])
    assert cordon.run(["true"], cordon.Policy(fs=missing)).ok
    work = cordon.Files(work=cordon.Bind(str(tmp_path)))
    assert cordon.run(["sh", "-c", "echo made >out"], cordon.Policy(fs=work), check=True).ok
    assert (tmp_path / "out").read_text() == "made\n"


def test_a_refused_start_is_a_result(monkeypatch):
    monkeypatch.chdir("/")  # which the agent profile would have to give away
    refused = cordon.run(["true"], profile="agent")
    assert refused.status == "INTERNAL_ERROR" and "was not started" in refused.explain()
    assert "change into the project's directory" in refused.explain() and "Weaker" not in refused.explain()
    assert asyncio.run(cordon.run_async(["true"], profile="agent")) == refused


def test_mappings_profiles_and_timeouts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cordon.run(["true"], {"version": 1, "extends": "module"}).profile == "module"
    assert cordon.run(["true"], profile="agent", policy=cordon.Policy(net="none")).profile == "agent"
    assert cordon.run(["true"], "module").profile == "module"
    with pytest.raises(cordon.PolicyError, match="allowed words: stage, module"):
        cordon.run(["true"], "stages")
    assert cordon.run(["sleep", "60"], timeout=0.1).status == "TIMEOUT"
    assert cordon.run(["sleep", "60"], cordon.SandboxPolicy(), timeout=0.2).reason == "wall time of 200 ms reached"
    within = {"version": 1, "limits": {"wall_ms": 50000, "pids": 9}}
    result = cordon.run(["sleep", "60"], within, timeout=0.2)
    assert result.status == "TIMEOUT" and result.enforced["pids"].requested == 9
    with pytest.raises(ValueError, match="extends"):
        cordon.run(["true"], {"version": 1, "extends": "module"}, profile="agent")


def test_the_classes_have_what_the_document_has():
    known = json.loads((Path(__file__).parents[3] / "schema" / "policy.schema.json").read_text())["properties"]
    parts = {"fs": cordon.Files, "env": cordon.Environment, "limits": cordon.Limits, "proc": cordon.Process}
    for name, part in parts.items():
        assert {field.name for field in dataclasses.fields(part)} == set(known[name]["properties"]), name
    assert {field.name for field in dataclasses.fields(cordon.Policy)} == set(known) - {"version"}


def test_unlimited_is_not_the_default():
    normal = cordon.Policy(limits=cordon.Limits(wall_ms=cordon.UNLIMITED)).normalized()
    assert normal["limits"]["wall_ms"] is None and normal["limits"]["cpu_ms"] == 20000
    assert cordon.Policy().normalized()["limits"]["wall_ms"] == 30000


@pytest.mark.parametrize("policy, words", [
    ({"version": 1, "limitz": {}}, "/limitz"),
    ({"version": 1, "limits": {"pids": "many"}}, "/limits/pids"),
    ({"version": 1, "extends": "stag"}, "stage"),
])
def test_a_wrong_policy_is_named(policy, words):
    with pytest.raises(cordon.PolicyError, match=words):
        cordon.run(["true"], policy)
    with pytest.raises(ValueError):
        cordon.run(["true"], policy)


@pytest.mark.parametrize("command, error, words", [
    ("true", TypeError, "a list of words"), (b"true", TypeError, "a list of words"), ([], ValueError, "the command is empty"),
    (["a\0b"], ValueError, "holds a NUL"), ([7], TypeError, "int")])
def test_a_wrong_command(command, error, words):
    with pytest.raises(error, match=words):
        cordon.run(command)


def test_check_raises_typed_exceptions():
    cases = {("sh", "-c", "exit 3"): cordon.NonZeroExitError, ("no-such-command",): cordon.SpawnError,
             ("sleep", "60"): cordon.TimeoutError}
    for command, error in cases.items():
        with pytest.raises(error) as caught:
            cordon.run(list(command), timeout=0.3, check=True)
        assert caught.value.result.cmd == list(command)
        assert isinstance(caught.value, cordon.SandboxError)
    with pytest.raises(TimeoutError):  # Python's own, too
        cordon.run(["sleep", "60"], timeout=0.1, check=True)
    assert cordon.run(["true"], check=True).ok


def test_a_result_that_comes_between_two_looks():
    """poll() looks at the pipe, then at the process: the command may write and end in between."""
    from cordon import sandbox

    class Late:
        def __init__(self, run):
            self.run, self.events = run, run._events

        def poll(self, timeout):
            ready = self.events.poll(timeout)
            while self.run is not None and (self.run._process, 1) not in ready:
                ready = self.events.poll(timeout)
            if self.run is not None:
                ready, self.run = [(self.run._process, 1)], None
            return ready

    run = sandbox.start(["echo", "x"], {"version": 1})
    run._events = Late(run)
    try:
        assert sandbox.conclude(run, True).stdout == "x\n"
    finally:
        run.release()


def test_explain_says_what_was_weaker():
    text = cordon.result.result_of({**cordon.run(["true"]).document, "enforced": {"memory": {
        "requested": 1, "applied": False, "mechanism": "", "details": "no cgroup\x1b[2J"}}}).explain()
    assert "Weaker than asked: memory was not enforced (no cgroup\\x1b[2J)." in text


def test_doctor_between_signals():
    """A handler of Python's interrupts every wait of the library's: the answers stay what they are."""
    calm = cordon.doctor("limits")
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        found = cordon.doctor("limits")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert found == calm


def test_doctor():
    found = cordon.doctor("limits")
    assert found["landlock"]["available"] in (True, False) and found["userns"]["reason"]
    for profile in ("limit", "limits\0x"):
        with pytest.raises(cordon.PolicyError):
            cordon.doctor(profile)


def test_isolation_that_this_process_demands_is_demanded_whatever_environment_is_given(monkeypatch):
    policy = {"version": 1, "backend": "none", "allow_partial": True}
    run = lambda **env: cordon.run(["echo", "ran"], policy, env={"PATH": "/usr/bin:/bin", **env})
    for value in ("", "0"):
        monkeypatch.setenv("CORDON_REQUIRE_ISOLATION", value)
        assert run().stdout == "ran\n"
    refused = [run(CORDON_REQUIRE_ISOLATION="1")]
    monkeypatch.setenv("CORDON_REQUIRE_ISOLATION", "1")
    refused += [run(), run(CORDON_REQUIRE_ISOLATION="0")]
    for result in refused:
        assert (result.status, result.stdout) == ("INTERNAL_ERROR", "") and "CORDON_REQUIRE_ISOLATION" in result.reason


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc here")
@pytest.mark.parametrize("backend", ["posix", "none"])
def test_nothing_is_allocated_after_fork(tmp_path, site, backend):
    """Another thread may have held the allocator's lock when the process was forked; not every allocator mends that."""
    source = tmp_path / "malloc.c"
    source.write_text("""
        #include <pthread.h>
        #include <stddef.h>
        #include <unistd.h>
        extern void *__libc_malloc(size_t);
        static int forked;
        static void child(void) { forked = 1; }
        __attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, child); }
        void *malloc(size_t size) { if (forked) _exit(99); return __libc_malloc(size); }
    """)
    library = tmp_path / "malloc.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    code = """if True:
        import ctypes, os, sys
        from cordon._library import ErrorStruct, library, strings
        call, error = library(), ErrorStruct()
        call.cordon_run.restype, call.cordon_result_json.restype = ctypes.c_void_p, ctypes.c_char_p
        document = b'{"version": 1, "backend": "%s", "allow_partial": true}' % sys.argv[1].encode()
        policy = call.cordon_policy_parse(document, len(document), error)
        words = strings([b"sh", b"-c", b"mkdir -p a/b && touch a/b/c && pwd"])
        result = call.cordon_run(ctypes.c_void_p(policy), words, None, ctypes.byref(error))
        print(call.cordon_result_json(ctypes.c_void_p(result)).decode())
        if os.fork() == 0:
            bytearray(1 << 20)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
    """
    variables = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(site)}
    p = subprocess.run([sys.executable, "-c", code, backend], env=variables,
                       capture_output=True, text=True, check=True)
    document, seen = filter(None, p.stdout.splitlines())
    result = json.loads(document)
    assert result["status"] == "OK" and not os.path.exists(result["stdout"].strip()), result
    assert seen == "99"  # what is allocated there would have been seen
