"""The tier without user namespaces: each claim of its ledger, attacked from inside.

The host refuses for real: tests/tools/refuse stands before the release program and answers as the
filters of containers do. All of it as an ordinary user; where the suite runs as root it becomes one.
An attack first succeeds outside, by the same user.
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import pytest

from support import (BIN, ENV, HERE, PRELUDE, PYTHON, ROOT, TEST_BIN, Run, check_document, eventually,
                     marker, pids_with, temp_files)

UID = 61234
USER = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if ROOT else []
PARTIAL = ["--allow-partial", "--quiet"]


@pytest.fixture
def mine(place):
    """A directory that belongs to the user of these tests."""
    path = place / "mine"
    path.mkdir()
    if ROOT:
        os.chown(path, UID, UID)
    return path


def own(path, text="secret"):
    path.write_text(text)
    if ROOT:
        os.chown(path, UID, UID)
    return path


def cordon(prefix, *args, binary=BIN, env=None, stdin=b"", wrap=(), **kw):
    argv = [*USER, *prefix, *wrap, binary, "run", "--json", *map(str, args)]
    p = subprocess.run(argv, env={**ENV, **(env or {})}, input=stdin, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, check=False, **kw)
    r = Run(argv, p.returncode, p.stdout, p.stderr, None, 0.0)
    r.doc = json.loads(p.stdout)
    check_document(r.doc)
    return r


@pytest.fixture
def refusing(refuse):
    """Runs cordon on a host that refuses user namespaces."""
    return lambda *args, **kw: cordon([refuse, "newuser=EPERM", "--"], *args, **kw)


@pytest.fixture
def inside(refusing):
    def call(code, *options, status="OK", **kw):
        r = refusing(*PARTIAL, *options, "--", PYTHON, "-c", PRELUDE + code, **kw)
        assert r.doc["status"] == status, r.told()
        return r
    return call


def outside(code):
    p = subprocess.run([*USER, PYTHON, "-c", PRELUDE + code], env=ENV, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, check=False)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout.strip().splitlines()[-1])


def applied(r, *names):
    for name in names:
        assert r.doc["enforced"][name]["applied"] is True, (name, r.doc["enforced"][name])


def missing(r, *names):
    for name in names:
        entry = r.doc["enforced"][name]
        assert entry["requested"] is not None and entry["applied"] is False, (name, entry)


# --- chosen, refused, reported -----------------------------------------------------------------

def test_refused_by_name_without_allow_partial(refusing):
    r = refusing("--", "echo", "ran")
    assert (r.rc, r.doc["status"], r.doc["stdout"]) == (125, "INTERNAL_ERROR", ""), r.told()
    for word in (b"clone3", b"operation not permitted", b"filesystem", b"seccomp filter",
                 b"--allow-partial"):
        assert word in r.err, r.told()
    assert not any(e["applied"] for e in r.doc["enforced"].values())


@pytest.mark.parametrize("spec", ["newuser=EPERM", "newuser=EACCES", "newuser=ENOSPC", "newuser=EUSERS",
                                  "newuser=ENOSYS", "clone3=EPERM", "fsopen=EACCES", "mount=EPERM",
                                  "pivot_root=EPERM", "unshare=EPERM"])
def test_every_refusal_is_met_by_doing(refuse, spec):
    """Whichever step is refused: nothing of the caller's input is lost, and the step is named."""
    data = os.urandom(200000).hex().encode()
    r = cordon([refuse, spec, "--"], *PARTIAL, "--output", "1M", "--", "cat", stdin=data)
    assert r.doc["status"] == "OK" and r.doc["stdout"].encode() == data, r.told()[:2000]
    assert r.doc["reason"] == "PARTIAL_ENFORCEMENT"
    name = spec.split("=")[1]
    assert any("user namespaces" in w and name in w for w in r.doc["warnings"]), r.doc["warnings"]
    missing(r, "filesystem")


def test_another_failure_is_no_refusal(refuse):
    r = cordon([refuse, "newuser=EAGAIN", "--"], *PARTIAL, "--", "echo", "ran")
    assert r.rc == 125 and b"ulimit -u" in r.err, r.told()


def nested(script):
    """In a user namespace of its own, as the same uid, with the rights to change its sysctls."""
    uid = UID if ROOT else os.getuid()
    gid = UID if ROOT else os.getgid()
    return ["unshare", "-U", "-m", f"--map-user={uid}", f"--map-group={gid}", "--keep-caps", "sh", "-c",
            script + '; exec setpriv --ambient-caps=-all --inh-caps=-all "$@"', "sh"]


def test_the_sysctl_for_real():
    zero = nested("echo 0 >/proc/sys/user/max_user_namespaces")
    r = cordon(zero, "--", "true")
    assert r.rc == 125 and b"user.max_user_namespaces" in r.err, r.told()
    r = cordon(zero, *PARTIAL, "--", "echo", "ran")
    assert r.doc["stdout"] == "ran\n", r.told()


def test_the_switch_of_the_test_program():
    r = cordon([], *PARTIAL, "--", "echo", "ran", binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "userns"})
    assert r.doc["stdout"] == "ran\n", r.told()
    missing(r, "filesystem")


@pytest.mark.parametrize("options", [["--ro", "/usr:/other"], ["--net", "loopback"]])
def test_what_takes_a_namespace_is_refused_in_words(refusing, options):
    r = refusing(*PARTIAL, *options, "--", "echo", "ran")
    assert r.rc == 125 and r.doc["stdout"] == "" and b"without user namespaces" in r.err, r.told()


def test_what_is_listed_must_be_there_and_no_link(refusing, mine):
    (mine / "link").symlink_to("/usr")
    for path, word in ((mine / "none", b"no such file"), (mine / "link", b"symbolic link")):
        r = refusing(*PARTIAL, "--ro", path, "--", "echo", "ran")
        assert r.rc == 2 or r.rc == 125, r.told()
        assert word in r.err and r.doc["stdout"] == "", r.told()


# --- files -------------------------------------------------------------------------------------

HIDDEN = """
p = {path!r}
d = os.path.dirname(p)
say([tried(lambda: open(p).read()), tried(os.listdir, d), tried(lambda: open(p, 'a').close()),
     tried(lambda: open(d + '/new', 'w').close()), tried(os.truncate, p, 0), tried(os.link, p, d + '/hard'),
     tried(os.mkdir, d + '/dir'), tried(os.rename, p, p + '2'), tried(os.unlink, p + '2')])
"""


def test_hidden_files(inside, mine):
    code = HIDDEN.format(path=str(own(mine / "f")))
    r = inside(code)
    assert all(x in ("EACCES", "EPERM", "ENOENT") for x in r.answer), r.answer
    assert r.answer[:4] == ["EACCES"] * 4
    assert (mine / "f").read_text() == "secret" and os.listdir(mine) == ["f"]
    assert outside(code) == ["ok"] * 9


def test_names_of_hidden_files_are_visible_and_the_ledger_says_so(inside, mine):
    r = inside(f"say(os.stat({str(own(mine / 'f'))!r}).st_size)")
    assert r.answer == 6
    missing(r, "filesystem")
    entry = r.doc["enforced"]["filesystem"]
    assert "stat()" in entry["details"] and "landlock" in entry["mechanism"]


CHANGES = """
import fcntl
p = {path!r}
fd = os.open(p, os.O_RDONLY)
def setflags():
    b = fcntl.ioctl(fd, 0x80086601, bytes(8)); fcntl.ioctl(fd, 0x40086602, b)
say([tried(lambda: open(p, 'a').close()), tried(lambda: os.close(os.open(p, os.O_RDONLY | os.O_TRUNC))),
     tried(os.truncate, p, 1), tried(os.chmod, p, 0o600), tried(os.fchmod, fd, 0o600),
     tried(os.chown, p, -1, -1), tried(os.fchown, fd, -1, -1), tried(os.utime, p), tried(os.utime, fd),
     tried(os.setxattr, p, 'user.a', b'x'), tried(os.setxattr, fd, 'user.b', b'x'),
     tried(os.removexattr, p, 'user.a'), tried(os.unlink, p) if {unlink} else 'EACCES', tried(setflags)])
"""


def test_read_only_files_do_not_change(inside, mine):
    path = own(mine / "f")
    before = os.stat(path)
    r = inside(CHANGES.format(path=str(path), unlink=True), "--ro", mine)
    assert set(r.answer) <= {"EACCES", "EPERM"}, r.answer
    after = os.stat(path)
    assert (before.st_mode, before.st_mtime_ns, before.st_ctime_ns, path.read_text()) == \
        (after.st_mode, after.st_mtime_ns, after.st_ctime_ns, "secret")
    control = outside(CHANGES.format(path=str(path), unlink=False))
    assert control[:9] == ["ok"] * 9 and set(control[9:12]) <= {"ok", "ENOTSUP"}, control


def test_writable_files(inside, mine):
    r = inside(f"os.chdir({str(mine)!r}); open('a', 'w').write('x'); os.mkdir('d'); os.rename('a', 'd/b')\n"
               "os.symlink('b', 'd/l'); say(sorted(os.listdir('d')))", "--rw", mine)
    assert r.answer == ["b", "l"] and (mine / "d/b").read_text() == "x"


def test_read_only_inside_writable_cannot_be_kept(refusing, mine):
    (mine / "keep").mkdir()
    options = ["--rw", mine, "--ro", mine / "keep"]
    r = refusing(*options, "--", "echo", "ran")
    assert r.rc == 125 and r.doc["stdout"] == "", r.told()
    r = refusing(*PARTIAL, *options, "--", "echo", "ran")
    missing(r, "filesystem")
    assert "read-only inside something writable" in r.doc["enforced"]["filesystem"]["details"]


def test_protected_names_cannot_be_kept(refusing, mine):
    r = refusing("--profile", "agent", *PARTIAL, "--", "pwd", cwd=mine)
    assert r.doc["stdout"].strip() == str(mine), r.told()
    missing(r, "filesystem")
    assert ".git/hooks" in r.doc["enforced"]["filesystem"]["details"]


def test_the_work_directory(inside):
    before = temp_files()
    r = inside("w = os.environ['HOME']; open('f', 'w').write('x')\n"
               "say([w, os.environ['TMPDIR'], os.getcwd(), oct(os.stat(w).st_mode), os.listdir(w)])")
    home, tmp, cwd, mode, entries = r.answer
    assert home == tmp == cwd and mode == "0o40700" and entries == ["f"]
    assert "/cordon-" in home and not os.path.exists(home)
    assert not {p for p in temp_files() - before if "cordon" in p}


def test_the_work_directory_is_removed_whatever_is_in_it(inside, mine):
    own(mine / "f")
    r = inside(f"os.symlink({str(mine)!r}, 'link'); os.mkdir('closed'); open('closed/f', 'w').close()\n"
               "os.mkdir('none', 0); w = os.getcwd()\n"
               "for i in range(200): os.mkdir('d'); os.chdir('d')\n"
               "say(w)", "--ro", mine)
    assert not os.path.lexists(r.answer) and (mine / "f").read_text() == "secret"


def test_a_killed_supervisor_leaves_a_directory_that_the_next_run_sweeps(refuse):
    argv = [*USER, refuse, "newuser=EPERM", "--", BIN, "run", *PARTIAL, "--", "sh", "-c", "pwd; exec sleep 50"]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        left = p.stdout.readline().decode().strip()
        assert os.path.isdir(left)
        cordon([refuse, "newuser=EPERM", "--"], *PARTIAL, "--", "true")
        assert os.path.isdir(left), "swept while in use"
        os.kill(p.pid, signal.SIGKILL)
    cordon([refuse, "newuser=EPERM", "--"], *PARTIAL, "--", "true")
    assert not os.path.exists(left)


# --- network, ipc ------------------------------------------------------------------------------

@contextlib.contextmanager
def listening(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.bind(address)
        s.listen()
        if family == socket.AF_UNIX and address[0] == "/":
            os.chmod(address, 0o777)
        yield s


CONNECT = "say(tried(lambda: socket.socket(socket.{f}, socket.SOCK_STREAM).connect({a!r})))"


def test_no_network(inside):
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as s:
        code = CONNECT.format(f="AF_INET", a=s.getsockname())
        assert outside(code) == "ok"
        r = inside(code)
    assert r.answer == "EAFNOSUPPORT"
    applied(r, "network")
    families = inside("say([f for f in range(46) for t in (1, 2, 3, 5) "
                      "if tried(lambda: socket.socket(f, t)) == 'ok'])")
    assert families.answer == []


def test_the_host_network_by_choice_and_still_no_daemons(inside, mine):
    with listening(socket.AF_INET, ("127.0.0.1", 0)) as s:
        assert inside(CONNECT.format(f="AF_INET", a=s.getsockname()), "--net", "host").answer == "ok"


@pytest.mark.parametrize("net", ["none", "host"])
@pytest.mark.parametrize("abstract", [False, True])
def test_unix_sockets(inside, mine, net, abstract):
    os.chmod(mine, 0o777)
    address = "\0" + marker() if abstract else str(mine / "s")
    with listening(socket.AF_UNIX, address):
        code = CONNECT.format(f="AF_UNIX", a=address)
        assert outside(code) == "ok"
        r = inside(code, "--net", net, "--ro", mine)
    assert r.answer == "EAFNOSUPPORT"
    applied(r, "ipc")


def test_a_pair_is_no_way_to_a_daemon(inside, mine):
    os.chmod(mine, 0o777)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(mine / "d"))
        os.chmod(mine / "d", 0o777)
        code = "say(tried(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]" \
               f".sendto(b'x', {str(mine / 'd')!r})))"
        assert outside(code) == "ok"
        assert inside(code, "--rw", mine).answer == "EAFNOSUPPORT"
    assert inside("a, b = socket.socketpair(); a.send(b'x'); say(b.recv(1) == b'x')").answer is True


def test_system_v_and_queues(inside):
    key = int.from_bytes(os.urandom(3), "big") + 1
    made = outside(f"say(sc('shmget', {key}, 4096, 0o1600))")
    assert isinstance(made, int)
    name = marker()
    try:
        code = f"say([sc('shmget', {key}, 0, 0), sc('mq_open', {name!r}.encode(), 0o102, 0o600, 0), " \
               "sc('msgget', 0, 0o1600)])"
        r = inside(code)
        assert r.answer == ["ENOSYS"] * 3
        applied(r, "ipc")
        control = outside(code)
        assert all(isinstance(x, int) for x in control), control
        subprocess.run([*USER, "ipcrm", "-q", str(control[2])], check=False)
        outside(f"say(libc.mq_unlink({('/' + name).encode()!r}))")
    finally:
        subprocess.run([*USER, "ipcrm", "-M", str(key)], check=True)


# --- other processes ---------------------------------------------------------------------------

OTHERS = """
import resource
pid = {pid}
say([tried(os.kill, pid, signal.SIGCONT), tried(lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGCONT)),
     tried(resource.prlimit, pid, resource.RLIMIT_CORE, (0, 0)), tried(os.setpriority, 0, pid, 19),
     tried(os.sched_setaffinity, pid, os.sched_getaffinity(0)),
     tried(lambda: open(f'/proc/{{pid}}/environ').read()), tried(lambda: open(f'/proc/{{pid}}/cmdline').read()),
     tried(os.listdir, f'/proc/{{pid}}/fd'), tried(os.readlink, f'/proc/{{pid}}/cwd')])
"""


def test_processes_outside(inside):
    with subprocess.Popen([*USER, "sleep", "60"], env=ENV) as other:
        try:
            assert eventually(lambda: pathlib.Path(f"/proc/{other.pid}/comm").read_text() == "sleep\n")
            r = inside(OTHERS.format(pid=other.pid))
            assert set(r.answer) <= {"EPERM", "EACCES"}, r.answer
            applied(r, "processes", "environment")
            assert outside(OTHERS.format(pid=other.pid)) == ["ok"] * 9
        finally:
            other.kill()


def test_init_is_out_of_reach(inside):
    r = inside(OTHERS.format(pid="os.getppid()"))
    assert set(r.answer) <= {"EPERM", "EACCES"}, r.answer
    assert inside("say(sc('ptrace', 16, os.getppid(), 0, 0))").answer == "EPERM"


SIGIO = """
import fcntl
a, b = socket.socketpair()
fcntl.fcntl(a, 10, signal.SIGKILL)  # F_SETSIG
fcntl.fcntl(a, fcntl.F_SETOWN, {pid})
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
b.send(b'x')
say('sent')
"""


def test_a_signal_by_way_of_a_descriptor(inside):
    for run, dies in ((inside, False), (outside, True)):
        with subprocess.Popen([*USER, "sleep", "60"], env=ENV) as other:
            try:
                assert eventually(lambda: pathlib.Path(f"/proc/{other.pid}/comm").read_text() == "sleep\n")
                run(SIGIO.format(pid=other.pid))
                assert (other.wait(5) == -signal.SIGKILL) if dies else (other.poll() is None)
            finally:
                other.kill()


def test_whole_users_and_groups_cannot_be_slowed(inside):
    code = "say([tried(os.setpriority, os.PRIO_USER, 0, 19), tried(os.setpriority, os.PRIO_PROCESS, 0, 5)])"
    assert inside(code).answer == ["EPERM", "ok"]


def test_nothing_is_told_about_hidden_directories(inside, mine):
    code = "say('ok' if libc.inotify_init() >= 0 else errno.errorcode[ctypes.get_errno()])"
    assert outside(code) == "ok"
    assert inside(code).answer == "ENOSYS"


def test_environment(inside):
    word = marker()
    r = inside("say(sorted(os.environ))", env={"SECRET": word})
    assert "SECRET" not in r.answer
    code = "hits = []\nfor p in [os.getpid(), os.getppid()]:\n" \
           f"    hits.append(tried(lambda: open(f'/proc/{{p}}/environ').read()))\nsay(hits[1])"
    assert inside(code, env={"SECRET": word}).answer == "EACCES"


def test_privileges(inside):
    code = "import ctypes.util\nsay([os.getuid(), libc.prctl(39, 0, 0, 0, 0), tried(os.setuid, 0)])"
    r = inside(code)
    assert r.answer == [UID if ROOT else os.getuid(), 1, "EPERM"]
    applied(r, "privileges", "syscalls")
    assert "caller's own uid" in r.doc["enforced"]["privileges"]["details"]


DEVICES = "say([tried(lambda: os.close(os.open(p, f))) for p, f in (('/dev/null', os.O_RDWR), ('/dev/zero', 0), " \
          "('/dev/urandom', 0), ('/dev/ptmx', os.O_RDONLY | os.O_NOCTTY), ('/dev/urandom', os.O_WRONLY))])"


@pytest.mark.parametrize("options", [[], ["--profile", "limits"]])
def test_devices(inside, options, mine):
    assert outside(DEVICES) == ["ok"] * 5
    r = inside(DEVICES, *options, cwd=mine)
    assert r.answer == ["ok"] * 3 + ["EACCES"] * 2
    applied(r, "devices")


# --- the end of everything, and limits ---------------------------------------------------------

DAEMON = """
if os.fork() == 0:
    os.setsid()
    for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        for fd in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), fd)
        os.execvp('sh', ['sh', '-c', 'sleep 120; : {word}'])
    os._exit(0)
os.wait(); time.sleep(0.2); say('started')
"""


def test_a_daemon_does_not_survive(inside):
    word = marker()
    assert outside(DAEMON.format(word=word)) == "started"
    survivors = pids_with(word)
    for pid in survivors:
        os.kill(pid, signal.SIGKILL)
    assert survivors, "the control"
    word = marker()
    r = inside(DAEMON.format(word=word))
    assert r.answer == "started" and not pids_with(word)
    applied(r, "processes")
    assert "fork gate" in r.doc["enforced"]["processes"]["mechanism"]


# Each process forks a successor in a new session and ends: nobody holds still to be killed.
CHAINS = """
sys.argv.append({word!r})
for chain in range(6):
    if os.fork() == 0:
        while True:
            os.setsid() if os.getsid(0) != os.getpid() else 0
            try:
                if os.fork() != 0: os._exit(0)
            except OSError as e:
                time.sleep(0.001)
time.sleep(0.3)
say('started')
"""


def test_chains_that_fork_for_ever_end(inside):
    word = marker()
    r = inside(CHAINS.format(word=word), "--pids", "64")
    assert r.answer == "started" and not pids_with(word)
    applied(r, "processes", "wall_time")


def test_wall_time(inside):
    word = marker()
    r = inside(f"signal.signal(signal.SIGTERM, signal.SIG_IGN); {word} = 1\nos.fork()\ntime.sleep(60)",
               "--wall", "300ms", "--grace", "200ms", status="TIMEOUT")
    assert r.rc == 124 and r.doc["duration_ms"] < 20000 and not pids_with(word)
    applied(r, "wall_time", "processes")


def test_a_polite_request_reaches_everybody(inside):
    r = inside("child = 0\n"
               "def bye(*_):\n"
               "    if child: os.waitpid(child, 0)\n"
               "    os.write(1, b'bye\\n'); os._exit(0)\n"
               "signal.signal(signal.SIGTERM, bye)\n"
               "child = os.fork()\nif child == 0: os.setsid()\ntime.sleep(60)",
               "--wall", "500ms", "--grace", "5s", status="TIMEOUT")
    assert r.doc["stdout"].count("bye") == 2


FORKS = """
r, w = os.pipe()
count = 0
try:
    while count < 100:
        if os.fork() == 0: os.read(r, 1); os._exit(0)
        count += 1
except OSError as e: say([count, errno.errorcode[e.errno]])
else: say([count, 'ok'])
os.close(w)
"""


def test_pids(inside):
    r = inside(FORKS, "--pids", "10")
    assert r.answer == [9, "EAGAIN"]
    applied(r, "pids")
    assert r.doc["enforced"]["pids"]["mechanism"] == "fork gate"
    assert inside(FORKS, "--pids", "none").answer == [100, "ok"]


def test_threads_count(inside):
    code = "import threading\ne = threading.Event(); n = 0\ntry:\n" \
           "    for n in range(50): threading.Thread(target=e.wait).start()\n" \
           "except RuntimeError: pass\ne.set(); say(n)"
    assert inside(code, "--pids", "10").answer == 9


def test_the_limit_is_for_this_run_alone(inside):
    """RLIMIT_NPROC would count everything of the user's."""
    others = [subprocess.Popen([*USER, "sleep", "60"]) for _ in range(12)]
    try:
        assert inside(FORKS, "--pids", "10").answer == [9, "EAGAIN"]
    finally:
        for p in others:
            p.kill()
            p.wait()


def test_short_lived_children_are_not_counted_for_ever(inside):
    r = inside("import subprocess\nfor _ in range(60): subprocess.run(['true'], check=True)\nsay('ok')",
               "--pids", "3")
    assert r.answer == "ok"


def test_a_fork_bomb_stays_below_the_limit(inside):
    word = marker()
    seen = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            seen.append(len(pids_with(word)))

    watcher = threading.Thread(target=count)
    watcher.start()
    try:
        inside(f"{word} = 0\nend = time.monotonic() + 1.5\n"
               "while time.monotonic() < end:\n"
               "    try: os.fork()\n"
               "    except OSError: time.sleep(0.005)\n", "--pids", "20", "--wall", "20s")
    finally:
        stop.set()
        watcher.join()
    # The command lines of the caller's cordon and of init's start-up hold the word, too.
    assert 10 < max(seen) <= 20 + 2, max(seen)


def test_memory_of_the_tree(inside):
    hog = "import mmap\nfor _ in range(2): os.fork()\nm = mmap.mmap(-1, 40 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n" \
          "for i in range(0, 40 << 20, 4096): m[i] = 1\ntime.sleep(5)\nsay('won')"
    r = inside(hog, "--mem", "64M", status="MEM_LIMIT")
    applied(r, "memory")
    assert r.doc["enforced"]["memory"]["mechanism"] == "watcher"


def test_cpu_time(inside):
    r = inside("os.fork()\nwhile True: pass", "--cpu", "500ms", status="CPU_LIMIT")
    applied(r, "cpu_time")


def test_death_of_the_supervisor_ends_all(refuse):
    word = marker()
    argv = [*USER, refuse, "newuser=EPERM", "--", BIN, "run", *PARTIAL, "--", "sh", "-c",
            f"setsid sh -c 'sleep 120; : {word}' & echo up; wait"]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"up\n"
        assert eventually(lambda: pids_with(word))
        os.kill(p.pid, signal.SIGKILL)
    assert eventually(lambda: not pids_with(word))
    cordon([refuse, "newuser=EPERM", "--"], *PARTIAL, "--", "true")  # sweeps


def test_death_of_init_hangs_nobody_and_is_said(refuse):
    """Somebody with the right to kills init: forks fail, the payload dies, the ledger tells."""
    word = marker()
    code = PRELUDE + f"{word} = os.getppid()\nprint({word}, flush=True)\n" \
        "while True:\n    try: os.waitpid(os.fork() or os._exit(0), 0)\n    except OSError: pass\n"
    argv = [*USER, refuse, "newuser=EPERM", "--", BIN, "run", "--result", "fd:1", "--stdout-file", "fd:2", *PARTIAL,
            "--", PYTHON, "-c", code]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as p:
        init = int(p.stderr.readline())
        os.kill(init, signal.SIGKILL)
        doc = json.loads(p.stdout.read())
    assert doc["status"] == "KILLED_KILL", doc
    assert doc["enforced"]["processes"]["applied"] is False
    assert eventually(lambda: not pids_with(word))


# --- what is switched off is not claimed, and the attack works -----------------------------------

def off(layers, *args):
    return cordon([], *args, binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "userns," + layers})


@pytest.mark.parametrize("layer,entries", [
    ("gate", ["processes", "wall_time", "pids"]), ("seccomp", ["syscalls", "network", "ipc", "processes"]),
    ("landlock", ["filesystem", "devices", "environment", "processes"]), ("keyring", ["ipc"]),
    ("watcher", ["memory", "cpu_time"]), ("rlimits", ["open_files"]), ("capabilities", ["privileges"])])
def test_the_ledger_follows(layer, entries):
    whole = off("cgroup", *PARTIAL, "--", "true")
    assert whole.doc["status"] == "OK"
    applied(whole, *[e for e in entries if e != "filesystem"])
    r = off("cgroup," + layer, *PARTIAL, "--", "true")
    assert r.doc["status"] == "OK", r.told()
    missing(r, *entries)


def test_attacks_work_where_the_layer_is_off(mine):
    path = str(own(mine / "f"))
    read = PRELUDE + f"say(tried(lambda: open({path!r}).read()))"
    assert off("", *PARTIAL, "--", PYTHON, "-c", read).answer == "EACCES"
    assert off("landlock", *PARTIAL, "--", PYTHON, "-c", read).answer == "ok"
    unix = PRELUDE + "say(tried(lambda: socket.socket(socket.AF_UNIX)))"
    assert off("", *PARTIAL, "--", PYTHON, "-c", unix).answer == "EAFNOSUPPORT"
    assert off("seccomp", *PARTIAL, "--", PYTHON, "-c", unix).answer == "ok"
    r = off("gate,cgroup", *PARTIAL, "--pids", "10", "--", PYTHON, "-c", PRELUDE + FORKS)
    assert r.answer == [100, "ok"]


# --- guard mode --------------------------------------------------------------------------------

def test_guard_mode_needs_no_allowance(refusing, mine):
    there = f"/tmp/{marker()}"
    r = refusing("--profile", "limits", "--", PYTHON, "-c", PRELUDE +
                 "open('here', 'w').close()\n"
                 f"say([tried(lambda: open('/etc/hostname').read()), tried(lambda: open('{there}', 'w')), "
                 "tried(os.listdir, '/'), tried(lambda: open(os.environ['TMPDIR'] + '/t', 'w').close()), "
                 "tried(os.chmod, '/etc/hostname', 0o644)])", cwd=mine)
    assert r.doc["status"] == "POLICY_VIOLATION" and r.rc == 1, r.told()
    assert [(v["op"], v["path"]) for v in r.doc["violations"]] == [("open for writing", there)]
    assert r.answer == ["ok", "EACCES", "ok", "ok", "EPERM"]
    assert (mine / "here").exists()
    for name, entry in r.doc["enforced"].items():
        assert entry["applied"] or entry["requested"] is None, (name, entry)


def test_guard_mode_changes_nothing_outside(refusing, mine):
    path = own(mine / "f")
    (mine / "cwd").mkdir()
    if ROOT:
        os.chown(mine / "cwd", UID, UID)
    r = refusing("--profile", "limits", "--", PYTHON, "-c", PRELUDE +
                 CHANGES.format(path=str(path), unlink=True), cwd=mine / "cwd")
    assert set(r.answer) <= {"EACCES", "EPERM"}, r.answer
    applied(r, "filesystem")


# --- only a procfs is refused ------------------------------------------------------------------

COVERED = "mount -t tmpfs none /proc/fs 2>/dev/null || mount -t tmpfs none /proc/irq"


def test_a_covered_proc_keeps_namespaces_and_is_said():
    r = cordon(nested(COVERED), "--", PYTHON, "-c", PRELUDE +
               "say([os.getpid() < 5, tried(lambda: open('/proc/self/stat').read()), "
               "tried(lambda: open('/proc/self/oom_score_adj', 'w')), "
               "[tried(lambda: open(f'/proc/{p}/environ').read()) for p in os.listdir('/proc') "
               "if p.isdigit() and os.readlink('/proc/self') != p].count('ok')])")
    assert r.doc["status"] == "OK", r.told()
    assert r.answer == [True, "ok", "EROFS", 0]
    for entry in r.doc["enforced"].values():
        assert entry["applied"] is True, entry
    assert "numbers and command lines" in r.doc["enforced"]["processes"]["details"]
    assert any("procfs" in w for w in r.doc["warnings"])


def test_a_covered_proc_and_the_watcher_sees_its_own_tree_only():
    hog = "import mmap\nm = mmap.mmap(-1, 200 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n" \
          "for i in range(0, 200 << 20, 4096): m[i] = 1\nsay('won')"
    assert cordon(nested(COVERED), "--mem", "64M", "--", PYTHON, "-c", PRELUDE + hog).doc["status"] == "MEM_LIMIT"
    assert cordon(nested(COVERED), "--mem", "32M", "--", "sleep", "0.3").doc["status"] == "OK"


# --- root, and the other suites ----------------------------------------------------------------

def test_root_becomes_somebody_else(refuse):
    if not ROOT:
        pytest.skip("not root")
    p = subprocess.run([refuse, "newuser=EPERM", "--", BIN, "run", *PARTIAL, "--", "sh", "-c",
                        "id -u; id -G; : >f && echo made; cat /etc/shadow"],
                       env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    uid, groups, made = p.stdout.decode().split()
    assert int(uid) >= 0x70000000 and uid == groups and made == "made", p
    assert not os.path.exists("/tmp/cordon-0")


# Those whose attacks name no remapped bind, no loopback and no file in /proc of their own.
SUITES = ["test_daemon", "test_devices", "test_fake_result", "test_fork_bomb", "test_io_uring",
          "test_kernel_surface", "test_keyring", "test_kill_group", "test_mount",
          "test_output_flood", "test_ptrace_init", "test_reopened_stdio", "test_terminal_injection",
          "test_user_namespaces"]


@pytest.mark.parametrize("suite", SUITES)
def test_escape_suite(refuse, suite, mine):
    env = {**os.environ, "CORDON_TEST_PREFIX": f"{refuse} newuser=EPERM --", "CORDON_BIN": BIN,
           "CORDON_TEST_EXTRA": " ".join(PARTIAL), "HOME": str(mine), "PYTHONDONTWRITEBYTECODE": "1"}
    p = subprocess.run([*USER, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                        str(HERE / "escape" / (suite + ".py"))], env=env, cwd=HERE, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert p.returncode == 0, p.stdout.decode()[-3000:]
