"""The program under the name noether-sandbox, for callers of that tool (N1-N7)."""
import json
import os
import resource
import signal
import subprocess

import pytest

import support
from support import BIN, ENV, TEST_BIN, listener_of


@pytest.fixture
def noether(place):
    """Runs it by a link, as it is installed."""
    (place / "bin").mkdir()
    links = {}
    for name, target in (("shipped", BIN), ("switched", TEST_BIN)):
        (place / "bin" / name).mkdir()
        links[name] = place / "bin" / name / "noether-sandbox"
        links[name].symlink_to(target)

    def call(*args, given=b"", env=None, which="shipped", **kw):
        p = subprocess.run([str(links[which]), *map(str, args)], input=given, env={**ENV, **(env or {})},
                           capture_output=True, timeout=60, check=False, **kw)
        return support.Run(list(args), p.returncode, p.stdout, p.stderr, None, 0.0)
    return call


def test_what_ran_once_is_not_run_again_without_isolation(place):
    """The listener of guard mode is lost: that is no reason to go on unprotected."""
    policy = place / "policy.json"
    policy.write_text('{"version": 1, "extends": "test"}')
    (place / "noether-sandbox").symlink_to(BIN)
    argv = [place / "noether-sandbox", "--policy-file", policy, "--", "sh", "-c", "echo ran; sleep 30"]
    with subprocess.Popen(argv, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ran\n"
        os.kill(listener_of(p.pid), signal.SIGKILL)
        out, err = p.communicate(timeout=20)
    assert (p.returncode, out) == (2, b"") and b"no isolation" not in err, err


def test_a_caller_that_ignores_its_children_gets_the_status_all_the_same(place):
    (place / "noether-sandbox").symlink_to(BIN)
    argv = [place / "noether-sandbox", "--isolate", "none", "--unsafe-no-isolation", "--", "sh", "-c", "exit 3"]
    p = subprocess.run(argv, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
                       preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert p.returncode == 3, p.stderr


def document(**more):
    return {"ro_binds": [], "network": False, "env_allowlist": ["PATH"], **more}


def test_the_policy_comes_from_standard_input(noether, place):
    (place / "in").write_text("text")
    given = json.dumps(document(ro_binds=[{"host": str(place), "sandbox": "/srv/in"}])).encode()
    r = noether("--", "cat", "/srv/in/in", given=given)
    assert (r.rc, r.out, r.err) == (0, b"text", b""), r.told()
    assert noether("--", "cat", "/srv/in/in").rc == 1  # without it there is nothing
    assert noether("--", "cat", given=given).out == b""  # the policy was all of it


@pytest.mark.parametrize("equals", [False, True])
def test_the_policy_comes_from_a_file_and_stdin_is_the_childs(noether, place, equals):
    policy = place / "p.json"
    policy.write_text(json.dumps(document()))
    args = [f"--policy-file={policy}"] if equals else ["--policy-file", policy]
    r = noether(*args, "--", "cat", given=b"for the child")
    assert (r.rc, r.out, r.err) == (0, b"for the child", b""), r.told()


@pytest.mark.parametrize("given", [b"", b"  \n\t "])
def test_nothing_is_the_pure_default(noether, given):
    r = noether("--", "sh", "-c", "id -u; pwd; echo $HOME $USER; ls -A /work; test ! -e /home && echo x > f && echo ok",
                given=given)
    assert r.out == b"65534\n/work\n/work nobody\nok\n", r.told()
    r = noether("--", support.PYTHON, "-c", "import socket; socket.create_connection(('127.0.0.1', 1), 1)", given=given)
    assert r.rc == 1 and b"unreachable" in r.err


def test_a_policy_that_is_too_long_or_wrong(noether, place):
    r = noether("--", "true", given=b" " * (1024 * 1024 + 1))
    assert r.rc == 2 and b"--policy-file" in r.err
    r = noether("--", "true", given=b"{nonsense")
    assert r.rc == 2 and r.err.startswith(b"noether-sandbox: read policy")
    r = noether("--", "true", given=b'{"ro_binds": [["/a", "/a"]], "network": false, "env_allowlist": []}')
    assert r.rc == 2 and b"/ro_binds/0" in r.err
    r = noether("--policy-file", place / "none", "--", "true")
    assert r.rc == 2 and b"none" in r.err
    r = noether("--", "true", given=json.dumps(document(
        ro_binds=[{"host": str(place / "none"), "sandbox": "/x"}])).encode())
    assert r.rc == 2 and b"none" in r.err  # a source that is missing


def test_exit_statuses(noether):
    assert noether("--", "sh", "-c", "exit 7").rc == 7
    assert noether("--", "sh", "-c", "kill -9 $$").rc == 137
    assert noether("--", "sh", "-c", "kill -TERM $$").rc == 143
    r = noether("--", "no-such-command")
    assert r.rc == 127 and b"no-such-command" in r.err
    for isolate in ("none",):
        assert noether(f"--isolate={isolate}", "--", "sh", "-c", "exit 7").rc == 7
        assert noether(f"--isolate={isolate}", "--", "sh", "-c", "kill -9 $$").rc == 137
        assert noether(f"--isolate={isolate}", "--", "no-such-command").rc == 127


@pytest.mark.parametrize("args", [["echo"], ["--"], ["--unknown", "--", "echo"], ["--isolate"], ["--policy-file"], [],
                                  ["--isolatex=none", "--", "echo"], ["--require-isolation=1", "--", "echo"]])
def test_wrong_words_are_2_and_the_usage(noether, args):
    r = noether(*args)
    assert r.rc == 2 and r.out == b"" and b"usage: noether-sandbox" in r.err, r.told()


def test_an_unknown_backend_is_named_with_the_choices(noether):
    for args, env in ((["--isolate=fly"], {}), (["--isolate", "fly"], {}), ([], {"NOETHER_ISOLATION": "fly"})):
        r = noether(*args, "--", "true", env=env)
        assert r.rc == 2 and b"fly" in r.err and b"auto, bwrap, none" in r.err


WHERE = ["--", "sh", "-c", "id -u"]
OWN = f"{os.getuid()}\n".encode()
INSIDE = b"65534\n"


def test_isolation_by_flag_and_variable_the_flag_wins(noether):
    assert noether(*WHERE).out == INSIDE
    for word in ("auto", "bwrap"):
        r = noether(f"--isolate={word}", *WHERE)
        assert r.out == INSIDE and r.err == b""
    r = noether("--isolate", "none", *WHERE)
    assert r.out == OWN and r.err.count(b"\n") == 1 and b"warning: no isolation" in r.err
    r = noether("--isolate", "none", "--unsafe-no-isolation", *WHERE)
    assert r.out == OWN and r.err == b""
    r = noether(*WHERE, env={"NOETHER_ISOLATION": "none"})
    assert r.out == OWN and b"warning: no isolation" in r.err
    assert noether("--isolate=auto", *WHERE, env={"NOETHER_ISOLATION": "none"}).out == INSIDE


@pytest.mark.parametrize("value,required", [("1", True), ("yes", True), ("0", False), ("", False)])
def test_required_isolation_refuses_none(noether, value, required):
    r = noether("--isolate=none", *WHERE, env={"NOETHER_REQUIRE_ISOLATION": value})
    assert (r.rc, r.out) == ((2, b"") if required else (0, OWN))
    assert not required or b"refusing to run without isolation" in r.err
    assert noether("--require-isolation", *WHERE).out == INSIDE
    assert noether("--require-isolation", "--isolate=none", *WHERE).rc == 2
    r = noether("--isolate=none", *WHERE, env={"CORDON_REQUIRE_ISOLATION": value})
    assert (r.rc, r.out) == ((2, b"") if required else (0, OWN))


def test_a_host_without_isolation_auto_warns_and_runs_unless_it_is_required(noether):
    """No namespaces, no bwrap, and no Landlock, which the tier without them needs."""
    env = {"CORDON_TEST_DISABLE": "userns,landlock,bwrap"}
    r = noether(*WHERE, env=env, which="switched")
    assert r.rc == 0 and r.out == OWN and r.err.count(b"\n") == 1, r.told()
    assert b"warning: no isolation" in r.err and b"bubblewrap" in r.err and b"--unsafe-no-isolation" in r.err
    assert noether("--unsafe-no-isolation", *WHERE, env=env, which="switched").err == b""
    r = noether("--", "sh", "-c", "echo $CALLER", env={**env, "CALLER": "seen"}, which="switched")
    assert r.out == b"seen\n"
    for args, more in ((["--require-isolation"], {}), ([], {"NOETHER_REQUIRE_ISOLATION": "1"}),
                       (["--isolate=bwrap"], {})):
        r = noether(*args, *WHERE, env={**env, **more}, which="switched")
        assert r.rc == 2 and r.out == b"", r.told()


def test_a_wrong_policy_is_never_a_reason_to_run_without(noether, place):
    given = json.dumps(document(ro_binds=[{"host": str(place / "none"), "sandbox": "/x"}])).encode()
    r = noether(*WHERE, given=given)
    assert r.rc == 2 and r.out == b""


@pytest.mark.parametrize("given", [
    document(ro_binds=[{"host": "/usr", "sandbox": "/etc/passwd/x"}]),
    document(ro_binds=[{"host": "/usr", "sandbox": "/" + 300 * "x"}]),
    {"version": 1, "require": ["memory:cgroup2"]}])
def test_a_wish_that_cannot_be_had_is_never_a_reason_to_run_without(noether, given):
    r = noether("--", "echo", "ran", given=json.dumps(given).encode())
    assert (r.rc, r.out) == (2, b"") and b"no isolation" not in r.err, r.err


def test_a_lack_of_descriptors_is_never_a_reason_to_run_without(noether):
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))  # noqa: E731
    assert noether("--isolate=none", "--", "echo", "ran", preexec_fn=few).out == b"ran\n"
    r = noether("--", "echo", "ran", preexec_fn=few)
    assert (r.rc, r.out) == (2, b"") and b"too many open files" in r.err, r.err


@pytest.mark.parametrize("backend", ["none", "posix"])
@pytest.mark.parametrize("flags", [[], ["--isolate=bwrap"], ["--require-isolation"]])
def test_no_document_takes_isolation_back(noether, flags, backend):
    given = json.dumps({"version": 1, "backend": backend}).encode()
    assert noether("--isolate=none", "--", "echo", "ran", given=given).out == b"ran\n"
    r = noether(*flags, "--", "echo", "ran", given=given)
    assert (r.rc, r.out) == (2, b"") and b"--isolate=none" in r.err, r.err


def test_it_isolates_and_does_not_limit(noether):
    """What an agent does may take hours: no limit of the profile holds."""
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_CPU)[0], len(bytearray(700 << 20)) >> 20)"
    r = noether("--", support.PYTHON, "-c", code)
    assert r.out.split() == [b"-1", b"700"], r.told()
    r = noether("--", "head", "-c", str(3 << 20), "/dev/zero")
    assert len(r.out) == 3 << 20 and r.err == b""


@pytest.mark.parametrize("extends", ["stage", "module"])
def test_limits_that_the_document_names_are_kept(noether, extends):
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_CPU)[0])"
    given = json.dumps({"version": 1, "extends": extends, "limits": {"nofile": 77}}).encode()
    r = noether("--", support.PYTHON, "-c", code, given=given)
    assert r.out.split() == [b"77", b"-1"], r.told()  # and only those
    given = json.dumps({"version": 1, "extends": extends, "limits": {"wall_ms": 300, "grace_ms": 0}}).encode()
    assert noether("--", "sleep", "50", given=given).rc == 124
    given = json.dumps(document(wall_time_s=1)).encode()
    assert noether("--", "sleep", "50", given=given).rc == 124


# --- what agentspec's adapter sends ----------------------------------------------------------

# Its documents for the trust levels of a file system, with sorted keys as it writes them, and the
# list of system paths that it adds where they exist.
SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc"]


def agentspec(workdir, network=False, ro=(), rw=()):
    binds = [{"host": p, "sandbox": p} for p in SYSTEM if os.path.exists(p)]
    binds += [{"host": str(p), "sandbox": str(p)} for p in ro]
    return json.dumps({
        "ro_binds": binds, "rw_binds": [{"host": str(p), "sandbox": str(p)} for p in rw], "work_host": str(workdir),
        "network": network, "env_allowlist": ["HOME", "PATH", "LANG", "TERM", "ANTHROPIC_API_KEY"]}, sort_keys=True)


RECORDED = [
    # flags, trust, what the command does, what it says
    (["--isolate=bwrap", "--require-isolation"], {}, 'pwd; echo x > made; echo "$ANTHROPIC_API_KEY"', b"/work\nkey\n"),
    (["--isolate=bwrap"], {}, "id -u; id -g", b"65534\n65534\n"),
    (["--isolate=bwrap", "--require-isolation"], {"ro": True}, 'cat "$1/ro/f"; touch "$1/ro/f" 2>/dev/null || echo no',
     b"file\nno\n"),
    (["--isolate=bwrap", "--require-isolation"], {"rw": True}, 'echo y > "$1/rw/f" && cat "$1/rw/f"', b"y\n"),
    (["--isolate=bwrap", "--require-isolation"], {"network": True}, "getent hosts localhost >/dev/null && echo known",
     b"known\n"),
    (["--isolate=bwrap", "--require-isolation"], {}, "echo $0 $2 --isolate=none", b"sh --flag --isolate=none\n"),
    (["--isolate=bwrap", "--require-isolation"], {}, "ls /lib64/ld-linux-* >/dev/null 2>&1; ls / | grep -c home", b"0\n"),
]


@pytest.mark.parametrize("by_file", [True, False])
@pytest.mark.parametrize("flags,trust,script,said", RECORDED)
def test_recorded_invocations_of_agentspec(noether, place, flags, trust, script, said, by_file):
    for name in ("work", "ro", "rw"):
        (place / name).mkdir()
        (place / name).chmod(0o777)
        (place / name / "f").write_text("file\n")
        (place / name / "f").chmod(0o666)
    text = agentspec(place / "work", network=trust.get("network", False), ro=[place / "ro"] if "ro" in trust else [],
                     rw=[place / "rw"] if "rw" in trust else [])
    args, given = list(flags), text.encode()
    if by_file:
        (place / "policy.json").write_text(text)
        args += ["--policy-file", str(place / "policy.json")]
        given = b""
    r = noether(*args, "--", "sh", "-c", script, "sh", str(place), "--flag", given=given,
                env={"ANTHROPIC_API_KEY": "key", "OTHER_SECRET": "no"})
    assert r.out == said, r.told()
    if "made" in script:
        assert (place / "work/made").read_text() == "x\n"
        assert (place / "work/made").stat().st_uid == os.getuid()


@pytest.mark.parametrize("form", [
    {"ro_binds": [{"host": "/bin", "sandbox": "/bin"}], "network": False, "env_allowlist": ["PATH"]},
    {"wall_time_s": 5, "mem_bytes": 268435456, "pids_max": 16}])
def test_the_older_forms_work_with_run_unchanged(place, form):
    (place / "p.json").write_text(json.dumps(form))
    r = support.run("--policy", place / "p.json", "--", "echo", "in", cwd=place)
    assert r.doc["status"] == "OK" and r.doc["stdout"] == "in\n", r.told()
