"""The tier without user namespaces: network, ipc and other processes; see tests/tier2.py."""
import contextlib
import os
import pathlib
import signal
import socket
import stat
import subprocess

import pytest

from support import ENV, PRELUDE, PYTHON, ROOT, eventually, marker
from tier2 import UID, USER, applied, inside, mine, missing, outside, own, refusing  # noqa: F401


# --- network, ipc --------------------------------------------------------------------------------

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


# --- other processes -----------------------------------------------------------------------------

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


def test_command_lines_can_be_read_in_guard_mode_and_the_ledger_says_so(refusing, inside, mine):
    code = "say(tried(lambda: open('/proc/{}/cmdline').read()))"
    with subprocess.Popen([*USER, "sleep", "60"], env=ENV) as other:
        try:
            r = refusing("--profile", "limits", "--", PYTHON, "-c", PRELUDE + code.format(other.pid), cwd=mine)
            assert r.answer == "ok" and "command lines are seen" in r.doc["enforced"]["processes"]["details"], r.told()
            r = inside(code.format(other.pid))
            assert r.answer == "EACCES" and "command lines" not in r.doc["enforced"]["processes"]["details"], r.told()
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


def test_without_the_filter_a_file_outside_becomes_setuid_and_the_ledger_says_so(inside, mine):
    code = f"say(tried(os.chmod, {str(own(mine / 'f'))!r}, 0o4755))"
    assert inside(code).answer == "EPERM"
    r = inside(code, "--seccomp", "off")
    assert r.answer == "ok" and os.stat(mine / "f").st_mode & 0o4000, "the gap is real"
    missing(r, "privileges")


DEVICES = "say([tried(lambda: os.close(os.open(p, f))) for p, f in (('/dev/null', os.O_RDWR), ('/dev/zero', 0), " \
          "('/dev/urandom', 0), ('/dev/ptmx', os.O_RDONLY | os.O_NOCTTY), ('/dev/urandom', os.O_WRONLY))])"


@pytest.mark.parametrize("options", [[], ["--profile", "limits"]])
def test_devices(inside, options, mine):
    assert outside(DEVICES) == ["ok"] * 5
    r = inside(DEVICES, *options, cwd=mine)
    assert r.answer == ["ok"] * 3 + ["EACCES"] * 2
    applied(r, "devices")


def test_device_nodes_in_a_bind_can_be_opened_and_the_ledger_says_so(inside, mine):
    if not ROOT:
        pytest.skip("only root can make the node")
    node = mine / "node"
    try:
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 9))
    except PermissionError:
        pytest.skip("this root may not make one")
    os.chmod(node, 0o666)
    code = f"say(tried(lambda: os.close(os.open({str(node)!r}, os.O_RDONLY))))"
    assert outside(code) == "ok"
    assert inside(code).answer == "EACCES"
    r = inside(code, "--ro", mine)
    assert r.answer == "ok", "the gap is real"
    missing(r, "devices")
    r = inside(code, "--profile", "limits", cwd=mine)
    assert "outside of /dev" in r.doc["enforced"]["devices"]["details"]
