"""Which backend runs, what it refuses, and what it says of itself (I21-I27).

The suites against each backend are tests/backends.py and `tests/run --backend`; here is what those do
not ask.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from support import (BIN, ENV, HERE, PRELUDE, PYTHON, ROOT, TEST_BIN, cordon, eventually, marker,
                     nothing_left, pids_with, run, swept)

BACKENDS = ["native", "bwrap", "posix", "none"]
PARTIAL = ["--allow-partial", "--quiet"]
# What the portable backends can claim of the default profile; everything else must say no.
PORTABLE = {"posix": {"open_files", "output"}, "none": {"output"}}


@pytest.fixture
def without_userns(refuse):
    """Runs on a host that refuses user namespaces to everybody, bwrap too."""
    return [refuse, "newuser=EPERM", "--"]


def document(argv, **kw):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=60, check=False, **{"env": ENV, **kw})
    return json.loads(p.stdout), p


# --- what the result says ----------------------------------------------------------------------

@pytest.mark.parametrize("backend", BACKENDS)
def test_i24_i25_the_result_names_it(backend):
    doc = run("--backend", backend, *PARTIAL, "--", "true").doc
    assert doc["status"] == "OK" and doc["backend"]["kind"] == backend
    assert doc["backend"]["effective"] is (backend != "none")
    assert doc["backend"].get("bwrap_path") == ("/usr/bin/bwrap" if backend == "bwrap" else None)


@pytest.mark.parametrize("backend", ["native", "bwrap"])
def test_p16_the_default_profile_is_enforced_in_full(backend):
    r = run("--backend", backend, "--", "true")
    assert (r.rc, r.doc["reason"], r.doc["warnings"]) == (0, "", []), r.told()
    for name, entry in r.doc["enforced"].items():
        assert entry["applied"] is True, (name, entry)


@pytest.mark.parametrize("backend", ["posix", "none"])
def test_portable_ledger_claims_little(backend):
    doc = run("--backend", backend, *PARTIAL, "--", "true").doc
    assert doc["reason"] == "PARTIAL_ENFORCEMENT"
    claimed = {name for name, entry in doc["enforced"].items() if entry["applied"]}
    assert claimed == PORTABLE[backend] - ({"open_files"} if ROOT else set())
    for entry in doc["enforced"].values():
        assert entry["applied"] or entry["details"]


# --- posix -------------------------------------------------------------------------------------

def test_posix_is_refused_where_the_policy_asks_for_more():
    r = run("--backend", "posix", "--", "echo", "ran")
    assert (r.rc, r.doc["status"], r.doc["stdout"]) == (125, "INTERNAL_ERROR", ""), r.told()
    assert b"--allow-partial" in r.err
    assert not any(e["applied"] for e in r.doc["enforced"].values())


def test_posix_requirement_is_refused_although_partial_is_allowed():
    r = cordon("run", "--backend", "posix", *PARTIAL, "--require", "network", "--", "echo", "ran")
    assert r.rc == 125 and b"network" in r.err and r.out == b""


def test_posix_bind_at_another_path_is_refused_in_words(place):
    r = cordon("run", "--backend", "posix", *PARTIAL, "--ro", f"{place}:/other", "--", "true")
    assert r.rc == 125 and b"/other" in r.err and b"mounts" in r.err


@pytest.mark.parametrize("backend", ["posix", "none"])
def test_portable_streams_environment_directory_and_end(backend):
    word = marker()
    with nothing_left(word):
        r = run("--backend", backend, *PARTIAL, "--", "sh", "-c",
                f"cat; env | sort; pwd; ls -A; echo {word} >f; exit 7", stdin=b"in\n",
                env={"TOKEN": word})
    assert (r.rc, r.doc["status"]) == (7, "NONZERO_EXIT"), r.told()
    lines = r.text.splitlines()
    assert lines[0] == "in" and word not in r.text
    home = [line for line in lines if line.startswith("HOME=")][0][5:]
    assert home == lines[-1] and home.startswith("/tmp/cordon-posix-") and not os.path.exists(home)


def test_posix_open_files():
    r = run("--backend", "posix", *PARTIAL, "--nofile", "50", "--", PYTHON, "-c", PRELUDE +
            "import resource; was = list(resource.getrlimit(resource.RLIMIT_NOFILE))\n"
            "try: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); say([was, True])\n"
            "except (ValueError, OSError): say([was, False])")
    was, raised = r.answer
    assert was == [50, 50] and (ROOT or not raised)
    assert r.doc["enforced"]["open_files"]["applied"] is (not ROOT), "root mostly can, and so it is not claimed"


@pytest.mark.parametrize("backend", ["posix", "none"])
def test_portable_deadline_ends_the_group(backend):
    word = marker()
    r = run("--backend", backend, *PARTIAL, "--wall", "300ms", "--grace", "200ms", "--", "sh", "-c",
            f"trap '' TERM; sleep 60 & : {word}; sleep 60; wait")
    assert (r.rc, r.doc["status"]) == (124, "TIMEOUT"), r.told()
    assert r.seconds < 20 and eventually(lambda: not pids_with(word))


def test_posix_a_session_of_its_own_survives_as_the_ledger_says():
    """The gap is real: were it closed, the ledger would have to claim it."""
    word = marker()
    code = ("import os, time\nr, w = os.pipe()\nif os.fork() == 0:\n os.setsid(); os.close(1); os.close(2)\n"
            f" os.write(w, b'x'); time.sleep(30)  # {word}\nos.read(r, 1)")
    r = run("--backend", "posix", *PARTIAL, "--", PYTHON, "-c", code)
    assert r.doc["enforced"]["processes"]["applied"] is False
    left = pids_with(word)
    assert len(left) == 1
    os.kill(left[0], signal.SIGKILL)


@pytest.mark.parametrize("backend", ["posix", "none"])
def test_what_is_left_and_writes_all_the_time_keeps_nobody(backend):
    """What was in the pipe when the command ended is passed on, and not what is put there while that is read."""
    word = marker()
    script = f"for i in 1 2 3; do setsid yes {word} & done; exit 7"
    with subprocess.Popen([BIN, "run", "--backend", backend, *PARTIAL, "--", "sh", "-c", script], env=ENV,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        count = 0
        while count < 16 << 20 and (data := p.stdout.read1(16384)):
            count += len(data)
            time.sleep(0.001)  # slower than they write: whenever there is room again, so is something to read
        for pid in pids_with(word):
            os.kill(pid, signal.SIGKILL)
        p.stdout.close()
        assert p.wait(30) == 7 and count < 16 << 20


def test_posix_a_command_that_kills_its_keeper_is_not_said_to_have_not_run():
    r = run("--backend", "posix", *PARTIAL, "--", "sh", "-c", "kill -9 $PPID")
    assert r.doc["status"] == "INTERNAL_ERROR" and "keeper" in r.doc["reason"], r.told()
    assert not r.doc["enforced"]["wall_time"]["applied"]
    assert all("nothing ran" not in e["details"] for e in r.doc["enforced"].values()), r.doc["enforced"]


@pytest.mark.parametrize("backend", ["posix", "none"])
def test_no_command_can_keep_its_work_directory(backend):
    code = "import os\nfor i in range(400): os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0); os.chmod(os.environ['HOME'], 0)"
    with nothing_left(marker()):
        r = run("--backend", backend, *PARTIAL, "--", PYTHON, "-c", code)
    assert (r.rc, r.err) == (0, b""), r.told()


@pytest.mark.parametrize("backend", ["posix", "none", "bwrap"])
def test_i12_the_caller_dies_and_everything_with_it(backend):
    word = marker()
    with nothing_left(word):
        with subprocess.Popen([BIN, "run", "--backend", backend, *PARTIAL, "--", "sh", "-c",
                               f"echo up; touch file; sleep 60; : {word}"], env=ENV, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
            assert p.stdout.readline() == b"up\n" and pids_with(word)
            p.kill()
        assert eventually(lambda: not pids_with(word))
        assert swept()


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts")
def test_what_is_mounted_in_the_work_directory_is_not_removed_with_it(place):
    """The command mounted it; what stands there is the caller's."""
    (place / "data").write_text("precious")
    r = run("--backend", "posix", *PARTIAL, "--", "sh", "-c", f"mkdir m m/n; mount --bind {place} m; pwd")
    directory = pathlib.Path(r.doc["stdout"].strip())
    try:
        assert (place / "data").read_text() == "precious", r.told()
        assert any("could not be removed as a whole" in warning for warning in r.doc["warnings"]), r.told()
    finally:
        subprocess.run(["umount", directory / "m"], check=True)
        (directory / "m/n").rmdir()
        (directory / "m").rmdir()
        directory.rmdir()


def test_a_keeper_that_the_command_stopped_goes_on_when_the_run_is_to_end():
    r = run("--backend", "posix", *PARTIAL, "--wall", "1s", "--grace", "0", "--", "sh", "-c",
            "kill -STOP $PPID; sleep 60", timeout=60)
    assert r.doc["status"] == "TIMEOUT", r.told()


@pytest.mark.parametrize("backend", ["posix", "bwrap"])
def test_signals_of_the_caller_are_passed_on(backend):
    with subprocess.Popen([BIN, "run", "--backend", backend, *PARTIAL, "--result", "fd:1", "--stdout-file", "fd:2",
                           "--", "sh", "-c",
                           "trap 'echo got; exit 3' TERM; echo up; while :; do sleep 0.05; done"], env=ENV,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        assert p.stderr.readline() == b"up\n"
        p.terminate()
        doc = json.loads(p.stdout.read())
    assert p.returncode == 143 and doc["status"] == "KILLED_TERM" and doc["stdout"].endswith("got\n"), doc


@pytest.mark.parametrize("backend", ["posix", "none"])
def test_portable_not_found_and_not_executable(backend, place):
    (place / "text").write_text("no program")
    assert cordon("run", "--backend", backend, *PARTIAL, "--", "no-such-command").rc == 127
    assert cordon("run", "--backend", backend, *PARTIAL, "--", place / "text").rc == 126


# --- none --------------------------------------------------------------------------------------

@pytest.mark.parametrize("flag,env,warns", [
    ([], {}, True), (["--unsafe-no-isolation"], {}, False), ([], {"CORDON_REQUIRE_ISOLATION": ""}, True),
    ([], {"CORDON_REQUIRE_ISOLATION": "0"}, True)])
def test_i23_none_warns_unless_told(flag, env, warns):
    r = cordon("run", "--backend", "none", *flag, "--", "echo", "ran", env=env)
    assert (r.rc, r.out) == (0, b"ran\n"), r.told()
    assert (b"isolates nothing" in r.err and b"--unsafe-no-isolation" in r.err) is warns, r.told()
    assert warns or r.err == b""


@pytest.mark.parametrize("flag", [[], ["--unsafe-no-isolation"]])
def test_n05_required_isolation_refuses_none(flag):
    for backend in (["none"], ["posix", "--allow-partial"]):
        r = cordon("run", "--backend", *backend, *flag, "--", "echo", "ran", env={"CORDON_REQUIRE_ISOLATION": "1"})
        assert r.rc == 2 and r.out == b"" and b"CORDON_REQUIRE_ISOLATION" in r.err, r.told()
    assert cordon("run", "--", "true", env={"CORDON_REQUIRE_ISOLATION": "1"}).rc == 0


def test_16_1_a_named_document_may_loosen_and_a_ceiling_refuses(place):
    (place / "p.json").write_text(json.dumps({"version": 1, "backend": "none"}))
    (place / "ceiling.json").write_text(json.dumps({"version": 1}))
    assert run("--policy", place / "p.json", "--unsafe-no-isolation", "--", "true").doc["backend"]["kind"] == "none"
    r = cordon("run", "--policy", place / "p.json", "--within", place / "ceiling.json", "--", "true")
    assert r.rc == 2 and b"/backend" in r.err


# --- auto --------------------------------------------------------------------------------------

def test_i21b_auto_is_native_without_a_word():
    r = run("--", "true")
    assert r.doc["backend"]["kind"] == "native" and r.err == b"" and r.doc["warnings"] == []


def test_auto_takes_bwrap_where_native_is_refused(refuse):
    """fsopen is refused: native cannot mount, bwrap does not know that call."""
    doc, p = document([refuse, "fsopen=EACCES", "--", BIN, "run", "--json", "--", "id", "-u"])
    assert doc["status"] == "OK" and doc["backend"]["kind"] == "bwrap", p
    assert doc["stdout"] == "65534\n" and any("by bwrap" in w for w in doc["warnings"])
    assert all(e["applied"] for e in doc["enforced"].values())


def test_auto_never_takes_posix_or_none(without_userns):
    doc, p = document([*without_userns, BIN, "run", "--json", "--", "echo", "ran"])
    assert p.returncode == 125 and doc["stdout"] == "" and b"--allow-partial" in p.stderr
    doc, p = document([*without_userns, BIN, "run", "--json", *PARTIAL, "--", "echo", "ran"])
    assert doc["backend"]["kind"] == "native" and doc["stdout"] == "ran\n"


@pytest.mark.parametrize("off,kind", [("userns", "bwrap"), ("native", "bwrap"), ("userns,bwrap", "native")])
def test_auto_by_switches(off, kind):
    doc, p = document([TEST_BIN, "run", "--json", *PARTIAL, "--", "true"], env={**ENV, "CORDON_TEST_DISABLE": off})
    assert doc["status"] == "OK" and doc["backend"]["kind"] == kind, p


def test_i22_auto_with_nothing_is_refused():
    doc, p = document([TEST_BIN, "run", "--json", *PARTIAL, "--", "echo", "ran"],
                      env={**ENV, "CORDON_TEST_DISABLE": "native,bwrap"})
    assert p.returncode == 125 and doc["stdout"] == "" and b"backend" in p.stderr


def test_native_never_takes_bwrap(refuse):
    doc, p = document([refuse, "fsopen=EACCES", "--", BIN, "run", "--backend", "native", *PARTIAL, "--json", "--", "true"])
    assert doc["backend"]["kind"] == "native" and doc["reason"] == "PARTIAL_ENFORCEMENT", p


# --- which bwrap -------------------------------------------------------------------------------

@pytest.fixture
def fake(place):
    """A bwrap that leaves a mark, in a directory that belongs to the caller alone."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="fake-", dir="/tmp"))
    top.chmod(0o755)
    (top / "bwrap").write_text(f"#!/bin/sh\ntouch {top}/used\nexec /usr/bin/bwrap \"$@\"\n")
    (top / "bwrap").chmod(0o755)
    yield top
    shutil.rmtree(top)


def test_i26_the_trusted_one_wins_over_path(fake):
    doc, p = document([BIN, "run", "--backend", "bwrap", "--json", "--", "true"],
                      env={**ENV, "PATH": f"{fake}:/usr/bin:/bin"})
    assert doc["backend"]["bwrap_path"] == "/usr/bin/bwrap" and p.stderr == b"" and not (fake / "used").exists()


def hidden(command):
    """Runs it where no trusted place has a bwrap."""
    return ["unshare", "-m", "sh", "-c", "mount --bind /dev/null /usr/bin/bwrap && exec \"$@\"", "sh", *command]


def test_i26_only_in_path_is_one_warning_and_only_if_safe(fake):
    if not ROOT:
        pytest.skip("only root can hide the system's own; tests/backend asks the rest")
    shutil.copy("/usr/bin/bwrap", fake / "bwrap")
    env = {**ENV, "PATH": f"{fake}:/usr/bin:/bin"}
    doc, p = document(hidden([BIN, "run", "--backend", "bwrap", *PARTIAL[:1], "--json", "--", "true"]), env=env)
    assert doc["backend"]["bwrap_path"] == str(fake / "bwrap"), p
    assert p.stderr.count(b"PATH") == 1, p
    fake.chmod(0o777)
    doc, p = document(hidden([BIN, "run", "--backend", "bwrap", *PARTIAL[:1], "--json", "--", "echo", "ran"]), env=env)
    assert doc["status"] == "INTERNAL_ERROR" and doc["stdout"] == "" and b"bwrap" in p.stderr, p


def test_bwrap_that_fails_says_so_in_its_own_words(without_userns):
    doc, p = document([*without_userns, BIN, "run", "--backend", "bwrap", "--json", "--", "echo", "ran"])
    assert (p.returncode, doc["status"], doc["stdout"], doc["stderr"]) == (125, "INTERNAL_ERROR", "", ""), p
    assert b"/usr/bin/bwrap" in p.stderr and b"bwrap: " in p.stderr


@pytest.mark.parametrize("errno", ["ENOSYS", "EPERM"])
def test_bwrap_where_the_command_cannot_be_looked_for(deny, errno):
    """Only by openat2() can init look into bwrap's tree: not to find anything there is not the command's fault."""
    argv = [BIN, "run", "--backend", "bwrap", "--json", "--", "echo", "ran"]
    assert document(argv)[0]["stdout"] == "ran\n"
    doc, p = document([*deny(errno, "openat2"), *argv])
    assert (p.returncode, doc["status"], doc["stdout"], doc["stderr"]) == (125, "INTERNAL_ERROR", "", ""), p
    assert b"openat2" in p.stderr, p


# --- bwrap: what only that backend has to show ---------------------------------------------------

def test_14_nothing_of_the_arguments_can_be_read_inside():
    word = marker()
    r = run("--backend", "bwrap", "--setenv", f"SECRET={word}", "--", PYTHON, "-c", PRELUDE +
            f"own = {word[::-1]!r}[::-1]\nhits = []\n"
            "for p in [p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]:\n"
            "    for f in ('cmdline', 'environ', 'mem', 'maps'):\n"
            "        try: hits.append((p, f, own in open(f'/proc/{p}/{f}', errors='replace').read(1 << 20)))\n"
            "        except OSError as e: pass\n"
            "say([os.environ['SECRET'] == own, [h for h in hits if h[2]]])")
    assert r.answer == [True, []]


def test_bwraps_pid_1_which_has_no_filter_is_out_of_reach():
    code = ("r = [sc('ptrace', 0x4206, 1, 0, 0), sc('process_vm_readv', 1, 0, 0, 0, 0, 0),"
            " tried(lambda: open('/proc/1/mem', 'r+b')), tried(os.listdir, '/proc/1/task')]\nsay(r)")
    for options in ([], ["--seccomp", "off", *PARTIAL]):
        r = run("--backend", "bwrap", *options, "--", PYTHON, "-c", PRELUDE + code)
        assert r.answer == ["EPERM", "EPERM", "ENOENT", "ENOENT"], r.told()


def test_bwrap_filter_is_ours():
    r = run("--backend", "bwrap", "--", PYTHON, "-c", PRELUDE +
            "say([sc('mount', b'none', b'/tmp', b'tmpfs', 0, 0), sc('io_uring_setup', 1, 0), sc('unshare', 0x10000000)])")
    assert r.answer == ["EPERM", "EPERM", "EPERM"]
    r = run("--backend", "bwrap", "--seccomp", "off", *PARTIAL, "--", "grep", "Seccomp_filters", "/proc/self/status")
    off = int(r.text.split()[1])
    assert int(run("--backend", "bwrap", "--", "grep", "Seccomp_filters", "/proc/self/status").text.split()[1]) == off + 1
    for name in ("syscalls", "network", "privileges"):
        assert r.doc["enforced"][name]["applied"] is False, name


def test_bwrap_status_is_the_payloads_own():
    if tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 15): # else bwrap's word counts
        assert run("--backend", "bwrap", "--", "sh", "-c", "exit 137").doc["exit"] == {"code": 137}
    doc = run("--backend", "bwrap", "--", "sh", "-c", "kill -SEGV $$").doc
    assert doc["status"] == "SIGNALED" and doc["exit"] == {"signal": 11}
    doc = run("--backend", "bwrap", "--on-forbidden", "kill", "--", PYTHON, "-c",
              PRELUDE + "sc('mount', b'none', b'/tmp', b'tmpfs', 0, 0)").doc
    assert doc["status"] == "FORBIDDEN_SYSCALL"


def test_bwrap_creates_nothing_in_the_users_tree(place):
    r = cordon("run", "--backend", "bwrap", "--rw", place, "--ro", f"/usr:{place}/missing", "--", "true")
    assert r.rc == 2 and not (place / "missing").exists(), r.told()


@pytest.mark.skipif(not ROOT, reason="an ordinary user's command is that user")
@pytest.mark.parametrize("tier2", [False, True], ids=["bwrap", "tier2"])
@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_root_is_told_what_its_command_cannot_write(place, without_userns, tier2, mode):
    """Where no mount maps owners, root's own files are somebody else's."""
    (place / "d").mkdir()
    (place / "d").chmod(mode)
    how = [*without_userns, BIN, "run", "--backend", "native"] if tier2 else [BIN, "run", "--backend", "bwrap"]
    doc, p = document([*how, "--json", *PARTIAL, "--rw", place / "d", "--", "mkdir", place / "d/x"])
    told = [w for w in doc["warnings"] if f"'{place}/d' (owner 0:0, mode {mode:o}) cannot be written inside" in w]
    assert (doc["exit"]["code"], len(told)) == ((0, 0) if mode == 0o777 else (1, 1)), p


def test_bwrap_guard_mode(place):
    (place / "in").mkdir(mode=0o777)
    (place / "in").chmod(0o777)
    (place / "out").write_text("x")
    partial = PARTIAL if ROOT else [] # bwrap maps no owners, and says so
    r = run("--backend", "bwrap", "--profile", "limits", *partial, "--", PYTHON, "-c", PRELUDE +
            f"say([tried(lambda: open('made', 'w')), tried(lambda: open('{place}/out', 'w')), "
            "tried(os.unlink, '/etc/hostname'), tried(os.chmod, '/etc/hostname', 0o600)])", cwd=place / "in")
    assert r.answer[0] == "ok" and set(r.answer[2:]) <= {"EROFS", "EACCES", "EPERM"}, r.told()
    assert (place / "out").read_text() == "x"
    assert (place / "in" / "made").exists()
    for name, entry in r.doc["enforced"].items():
        assert entry["applied"] or entry["requested"] is None or (ROOT and name == "privileges"), (name, entry)


# --- the plan ----------------------------------------------------------------------------------

@pytest.mark.parametrize("backend", BACKENDS)
def test_dry_run_shows_the_plan_of_the_backend(backend, place):
    r = cordon("run", "--backend", backend, *PARTIAL, "--dry-run", "--", "touch", place / "ran")
    assert r.rc == 0 and f"backend   {backend}".encode() in r.out, r.told()
    assert not (place / "ran").exists()


@pytest.mark.alone
def test_dry_run_shows_the_second_tier(without_userns):
    p = subprocess.run([*without_userns, BIN, "run", *PARTIAL, "--dry-run", "--", "echo", "ran"], env=ENV,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == 0 and b"none: this host refuses user namespaces" in p.stdout and b"write" in p.stdout, p
    assert not [n for n in os.listdir("/tmp") if n == f"cordon-{os.getuid()}"]


def test_dry_run_of_auto_shows_bwrap_where_that_would_run(refuse):
    p = subprocess.run([refuse, "fsopen=EACCES", "--", BIN, "run", "--dry-run", "--", "true"], env=ENV,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == 0 and b"backend   bwrap /usr/bin/bwrap" in p.stdout, p
