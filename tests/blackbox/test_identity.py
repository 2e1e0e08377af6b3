"""Who the payload is and what surrounds it: I9-I13, and the state that is reset for it."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, TEST_BIN, eventually, inside, marker, pids_with, run

STATUS = """
def status(pid='self'):
    lines = open(f'/proc/{pid}/status').read().splitlines()
    return dict(l.split(':\\t', 1) for l in lines if ':\\t' in l)
"""


def test_i09_nobody():
    assert run("--", "id", "-u").doc["stdout"] == "65534\n"
    assert run("--", "id", "-g").doc["stdout"] == "65534\n"


def test_i09_caller():
    r = run("--uid", "caller", "--", "sh", "-c", "id -u; id -g")
    assert r.doc["stdout"].split() == [str(os.getuid()), str(os.getgid())]


def host_ids(*options):
    """The ids of a running payload, as the host sees them."""
    word = marker()
    grouped = ["setpriv", "--groups=4,24"] if ROOT else []  # which root's command must not have
    with subprocess.Popen([*grouped, BIN, "run", *options, "--", "sh", "-c", f"echo up; sleep 60; : {word}"],
                          env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        try:
            assert p.stdout.readline() == b"up\n"
            inner = [q for q in pids_with(word) if q != p.pid]
            assert inner
            with open(f"/proc/{inner[0]}/status", encoding="utf-8") as f:
                status = dict(line.rstrip("\n").split(":", 1) for line in f if ":" in line)
        finally:
            p.terminate()
    return [set(map(int, status[key].split())) for key in ("Uid", "Gid", "Groups")]


@pytest.mark.parametrize("uid", ["nobody", "caller"])
def test_i09_the_host_uid_is_never_root(uid):
    uids, gids, groups = host_ids("--uid", uid)
    if ROOT:
        assert len(uids) == 1 and not uids & {0, 65534}, "a uid of its own, which no daemon shares"
        assert len(gids) == 1 and not gids & {0} and groups <= gids
    else:
        assert uids == {os.getuid()} and gids == {os.getgid()}


def test_i09_two_runs_of_root_have_different_uids():
    if not ROOT:
        pytest.skip("an ordinary user has one uid")
    assert host_ids()[0] != host_ids()[0]


def closed_places(r):
    return [w.split("'")[1] for w in r.doc["warnings"] if "cannot be written inside" in w]


@pytest.mark.parametrize("owner, mode, written", [((0, 0), 0o755, True), ((1500, 1500), 0o755, False), ((1500, 0), 0o777, False),
                                                  ((0, 1500), 0o755, False), ((0, 0), 0o555, False)])
def test_root_is_told_what_its_command_cannot_write(place, owner, mode, written):
    """Its command owns what is root's: a checkout of somebody else's, as in a container, is closed to it."""
    if not ROOT:
        pytest.skip("an ordinary user's command is that user")
    tree = place / "tree"
    tree.mkdir()
    os.chown(tree, *owner)
    tree.chmod(mode)
    for options in (["--rw", tree], ["--work", tree], ["--profile", "agent"], ["--profile", "limits"]):
        where = "/work" if "--work" in options else tree
        r = run(*options, "--", "mkdir", f"{where}/made", cwd=tree)
        assert (r.doc["status"] == "OK", closed_places(r)) == (written, [] if written else [str(tree)]), r.told()
        assert (tree / "made").exists() == written
        if written:
            (tree / "made").rmdir()
    assert closed_places(run("--ro", tree, "--", "true")) == []


def test_root_is_told_once_and_by_whom_it_works(place):
    if not ROOT:
        pytest.skip("an ordinary user's command is that user")
    options = []
    for name in ("a", "b"):
        (place / name).mkdir()
        os.chown(place / name, 1500, 1500)
        options += ["--rw", place / name]
    r = run(*options, "--", "true")
    assert r.doc["warnings"] == [f"'{place}/a' (owner 1500:1500, mode 755) cannot be written inside: root's command is a user of its "
                                 "own, who owns what is root's and no more. Start cordon as the owner, or chown it to root"]
    as_owner = subprocess.run(["setpriv", "--reuid", "1500", "--regid", "1500", "--clear-groups", BIN, "run", *map(str, options), "--",
                               "touch", f"{place}/a/x"], check=False, stderr=subprocess.PIPE)
    assert as_owner.returncode == 0, as_owner.stderr


def owners_of_keys():
    with open("/proc/key-users", encoding="ascii") as f:
        return {int(line.split(":")[0]) for line in f}


# Asks for the session keyring that it lacks, tells who has keys now, and takes away what that made.
ASK_FOR_KEYRING = """
import ctypes, os
keyctl = lambda *a: ctypes.CDLL(None).syscall(250, *a)
keyctl(0, -3, 0)
print(str(os.getuid()) in [l.split(':')[0].strip() for l in open('/proc/key-users')])
for ring in [keyctl(0, -5, 0), keyctl(0, -4, 0)]: keyctl(21, ring)
"""


def test_no_keys_of_a_users_own_are_left_behind():
    """The kernel keeps the keyrings of a user until it is started again, and root's runs have many users."""
    if not ROOT:
        pytest.skip("an ordinary user has one uid")
    stranger = str(1800000000 + os.getpid())
    asked = subprocess.run(["setpriv", "--reuid", stranger, "--regid", stranger, "--clear-groups",
                            PYTHON, "-c", ASK_FOR_KEYRING], check=True, stdout=subprocess.PIPE)
    assert asked.stdout == b"True\n", "to ask is enough"
    # Without a user namespace of its own: the keyrings of one end with it.
    r = run("--backend", "native", "--allow-partial", "--", "id", "-u", binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "userns"})
    user = int(r.doc["stdout"])  # of the host's, and of this run alone
    assert user > 65536 and eventually(lambda: user not in owners_of_keys())


def test_i10_no_capabilities():
    r = inside(STATUS + "say(status())")
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(r.answer[name], 16) == 0, name
    assert r.answer["NoNewPrivs"] == "1"
    assert r.answer["Seccomp"] == "2"


def test_i10_uid_caller_has_no_capabilities_either():
    r = inside(STATUS + "say(status())", "--uid", "caller")
    assert int(r.answer["CapEff"], 16) == int(r.answer["CapBnd"], 16) == 0


def test_init_keeps_no_capability():
    """It needs them until everything stands; what took it over afterwards would have none."""
    with subprocess.Popen([BIN, "run", "--", "sleep", "60"], env=ENV, stdin=subprocess.DEVNULL) as p:
        def settled():
            for init in pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split():
                text = pathlib.Path(f"/proc/{init}/status").read_text(errors="replace")
                status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
                return status["NSpid"].split()[-1] == "1" and status["NoNewPrivs"] == "1" and \
                    int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
        try:
            assert eventually(settled)
        finally:
            p.terminate()


def test_i10_setuid_setgid_chroot_fail():
    r = inside("""
say([tried(os.setuid, 0), tried(os.setgid, 0), tried(os.chroot, '/tmp'),
     tried(os.setgroups, [0])])
""")
    assert set(r.answer) == {"EPERM"} or set(r.answer) <= {"EPERM", "EINVAL"}


def test_i11_fresh_namespaces():
    code = "say({n: os.readlink('/proc/self/ns/' + n) for n in ('user', 'pid', 'uts', 'ipc', " \
           "'mnt', 'cgroup', 'net')})"
    r = inside(code)
    for name, link in r.answer.items():
        assert link != os.readlink(f"/proc/self/ns/{name}"), name
    shared = inside(code, "--net", "host").answer
    assert shared["net"] == os.readlink("/proc/self/ns/net")
    assert shared["mnt"] != os.readlink("/proc/self/ns/mnt")


def test_i11_hostname():
    assert run("--", "uname", "-n").doc["stdout"] == "cordon\n"


def test_i12_sandbox_dies_with_the_parent():
    word = marker()
    with subprocess.Popen([BIN, "run", "--", "sh", "-c", f"sleep 60; : {word}"], env=ENV,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as p:
        inner = lambda: [q for q in pids_with(word) if q != p.pid]  # noqa: E731
        assert eventually(inner), "the payload never started"
        p.send_signal(signal.SIGKILL)
        p.wait()
    assert eventually(lambda: not pids_with(word))


def test_i13_new_session():
    r = inside("say([os.getsid(0), os.getpgid(0), os.getpid()])")
    sid, pgid, pid = r.answer
    assert sid == pgid == pid


def test_signals_are_reset():
    """The caller's ignored and blocked signals do not reach the payload."""
    argv = [BIN, "run", "--", "grep", "-E", "SigBlk|SigIgn", "/proc/self/status"]

    def before():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def look(command):
        p = subprocess.run(command, env=ENV, preexec_fn=before, stdout=subprocess.PIPE,
                           restore_signals=False, check=True)
        return [int(line.split()[1], 16) for line in p.stdout.decode().splitlines()]

    assert all(look(argv[3:])), "the control: these are inherited outside"
    assert look(argv) == [0, 0]


def test_umask_and_nice_are_reset():
    argv = ["sh", "-c", "umask; nice"]

    def before():
        os.umask(0o077)
        os.nice(5)

    def look(command):
        return subprocess.run(command, env=ENV, preexec_fn=before, stdout=subprocess.PIPE,
                              check=True).stdout.split()

    nicer = str(os.nice(0) + 5).encode()  # whoever runs the tests may be nice already
    assert look(argv) == [b"0077", nicer]
    inner = look([BIN, "run", "--", *argv])
    assert inner[0] == b"0022"
    # Raising the priority again needs a right that an ordinary user has not.
    assert inner[1] == b"0" or not ROOT and inner[1] == nicer


def test_the_callers_own_flags_are_not_inherited():
    """Its parent-death signal, and that it cannot be looked into."""
    code = PRELUDE + """
def flags():
    death = ctypes.c_int()
    libc.prctl(2, ctypes.byref(death), 0, 0, 0)  # PR_GET_PDEATHSIG
    return [death.value, libc.prctl(3, 0, 0, 0, 0)]  # PR_GET_DUMPABLE
if len(sys.argv) > 1:
    libc.prctl(1, signal.SIGUSR1, 0, 0, 0); libc.prctl(4, 0, 0, 0, 0)
    assert flags() == [signal.SIGUSR1, 0]
    os.execv(sys.argv[1], sys.argv[1:])
say(flags())
"""
    argv = [PYTHON, "-c", code]
    p = subprocess.run([*argv, BIN, "run", "--", *argv], env=ENV, stdout=subprocess.PIPE, check=True)
    assert json.loads(p.stdout) == [0, 1]


def test_payload_stdio_are_pipes():
    r = inside("say([os.readlink(f'/proc/self/fd/{i}')[:5] for i in (0, 1, 2)])", stdin=b"x")
    assert r.answer == ["pipe:"] * 3


def test_standard_streams_can_be_opened_by_name():
    r = run("--", "sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin", stdin=b"fed")
    assert r.doc["stdout"] == "out\n" + "fed" and r.doc["stderr"] == "err\n" and r.doc["status"] == "OK"


def test_stdin_is_pumped():
    data = os.urandom(3 << 20)
    r = run("--", PYTHON, "-c",
            "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())",
            stdin=data)
    assert r.doc["stdout"].strip() == hashlib.sha256(data).hexdigest()


def test_stdin_none():
    r = run("--stdin", "none", "--", "cat", stdin=b"secret")
    assert r.doc["stdout"] == "" and r.doc["status"] == "OK"


def test_a_payload_that_does_not_read_its_stdin():
    r = run("--", "true", stdin=b"x" * (5 << 20))
    assert r.doc["status"] == "OK"
