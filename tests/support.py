"""What the suites share: running cordon, running a probe inside and outside, finding leftovers.

The rule of every escape test: the probe first succeeds outside (a probe that cannot succeed
proves nothing), then fails inside with the errno that the layer gives.
"""
import contextlib
import ctypes
import dataclasses
import fcntl
import functools
import json
import os
import pathlib
import pty
import re
import secrets
import shutil
import subprocess
import tempfile
import time

import jsonschema
import pytest

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent
libc = ctypes.CDLL(None, use_errno=True)


def found(variable, *places):
    for place in (os.environ.get(variable), *map(str, places)):
        if place and os.path.exists(place):
            return str(pathlib.Path(place).resolve())
    return str(places[0])


BIN = found("CORDON_BIN", TOP / "build/cordon")
TEST_BIN = found("CORDON_TEST_BIN", TOP / "build/cordon-test")
PYTHON = "/usr/bin/python3"
ROOT = os.getuid() == 0
ALL = bool(os.environ.get("CORDON_CHECK_ALL"))
CAPABILITIES = ["wall_time", "cpu_time", "memory", "pids", "open_files", "output", "filesystem",
                "network", "syscalls", "privileges", "environment", "processes", "ipc", "devices"]
# The caller's environment in the tests: what a shell has, and nothing of the machine's own.
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent-home", "LANG": "C.UTF-8"}
# Another tier of the same promises: what stands before every run, and options for all of them
# (tests/run sets them, see tests/backends.py).
PREFIX = os.environ.get("CORDON_TEST_PREFIX", "").split()
EXTRA = os.environ.get("CORDON_TEST_EXTRA", "").split()
# A grace period shorter than the default, so that tests of limits end soon.
SHORT = ["--grace", "200ms"]

NUMBERS = {
    "x86_64": dict(add_key=248, keyctl=250, io_uring_setup=425, unshare=272, clone=56, clone3=435,
                   mount=165, umount2=166, ptrace=101, bpf=321, perf_event_open=298,
                   userfaultfd=323, memfd_create=319, mknodat=259, setns=308, pivot_root=155,
                   chroot=161, open_tree=428, move_mount=429, fsopen=430, mount_setattr=442,
                   init_module=175, shmget=29, mq_open=240, msgget=68, semget=64,
                   process_vm_readv=310, pidfd_open=434, pidfd_getfd=438, openat2=437,
                   fchmodat=268, fchmodat2=452, fchmod=91, chmod=90, mkdirat=258, openat=257,
                   sethostname=170, setuid=105, setgid=106, getpid=39, creat=85, mknod=133,
                   open=2, mkdir=83, fchownat=260, linkat=265, renameat2=316, symlinkat=266,
                   unlinkat=263, utimensat=280, prctl=157),
    "aarch64": dict(add_key=217, keyctl=219, io_uring_setup=425, unshare=97, clone=220,
                    clone3=435, mount=40, umount2=39, ptrace=117, bpf=280, perf_event_open=241,
                    userfaultfd=282, memfd_create=279, mknodat=33, setns=268, pivot_root=41,
                    chroot=51, open_tree=428, move_mount=429, fsopen=430, mount_setattr=442,
                    init_module=105, shmget=194, mq_open=180, msgget=186, semget=190,
                    process_vm_readv=270, pidfd_open=434, pidfd_getfd=438, openat2=437,
                    fchmodat=53, fchmodat2=452, fchmod=52, mkdirat=34, openat=56,
                    sethostname=161, setuid=146, setgid=144, getpid=172, fchownat=54, linkat=37, renameat2=276,
                    symlinkat=36, unlinkat=35, utimensat=88, prctl=167),
}[os.uname().machine]

# Stands before every probe. sc() is a raw system call: its value, or the name of its errno.
PRELUDE = f"""
import ctypes, errno, json, os, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
NR = {json.dumps(NUMBERS)}
def sc(name, *args):
    ctypes.set_errno(0)
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    number = NR[name] if isinstance(name, str) else name
    r = libc.syscall(ctypes.c_long(number), *args)
    return errno.errorcode[ctypes.get_errno()] if r == -1 else int(r)
def tried(f, *args, **kw):
    try:
        f(*args, **kw)
        return "ok"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))
def say(x):
    print(json.dumps(x), flush=True)
"""


def compiled(target, source, *flags):
    """Builds a C program for a test. Where there is no compiler (a virtual machine), CORDON_TEST_TOOLS
    is a directory of programs that were built before, by the names of their sources.
    """
    before = pathlib.Path(os.environ.get("CORDON_TEST_TOOLS", "/nonexistent"), pathlib.Path(source).stem)
    if before.exists():
        shutil.copy2(before, target)
    elif shutil.which("gcc") is None:
        pytest.skip("there is no gcc here")
    else:
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", str(target),
                        str(source), *flags], check=True)
    return str(target)


@dataclasses.dataclass
class Run:
    argv: list
    rc: int
    out: bytes
    err: bytes
    doc: dict
    seconds: float

    @property
    def text(self):
        """What the payload wrote on stdout."""
        return self.doc["stdout"] if self.doc is not None else self.out.decode()

    @property
    def answer(self):
        """The last line of the payload's stdout, as JSON: what a probe says."""
        lines = self.text.strip().splitlines()
        assert lines, f"the probe said nothing: {self.told()}"
        return json.loads(lines[-1])

    def told(self):
        argv = [a.replace(PRELUDE, "...") if len(a) < 4000 else a[:60] + "..." for a in self.argv]
        return f"{argv} -> {self.rc}\nstdout {self.out[-1500:]!r}\nstderr {self.err[-1500:]!r}"


@functools.lru_cache(maxsize=None)
def schema():
    for place in (TOP / "schema/result.schema.json",
                  pathlib.Path(os.environ.get("CORDON_SOURCE", TOP)) / "schema/result.schema.json"):
        if place.exists():
            return json.loads(place.read_text())
    raise AssertionError("schema/result.schema.json is missing")


def check_document(doc):
    jsonschema.validate(doc, schema())
    assert sorted(doc["enforced"]) == sorted(CAPABILITIES)


def cordon(*args, stdin=None, env=None, binary=None, timeout=90, cwd=None, pass_fds=(), wrap=(), **kw):
    """Runs the program as it is; a run that does not end in `timeout` is an error."""
    extra = EXTRA if args[:1] == ("run",) else []
    argv = [*PREFIX, *wrap, binary or BIN, *map(str, args[:1]), *extra, *map(str, args[1:])]
    start = time.monotonic()
    if stdin is None:
        kw.setdefault("stdin", subprocess.DEVNULL)
    elif isinstance(stdin, bytes):
        kw["input"] = stdin
    else:
        kw["stdin"] = stdin
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    p = subprocess.run(argv, env={**ENV, **(env or {})}, timeout=timeout, cwd=cwd,
                       pass_fds=pass_fds, check=False, **kw)
    return Run(argv, p.returncode, p.stdout or b"", p.stderr or b"", None,
               time.monotonic() - start)


def run(*args, **kw):
    """`cordon run --json ARGS`; the document is parsed and validated against the schema."""
    r = cordon("run", "--json", *args, **kw)
    try:
        r.doc = json.loads(r.out)
    except ValueError:
        raise AssertionError(f"no result document: {r.told()}") from None
    check_document(r.doc)
    return r


def page(path):
    """The text of a document of the project's, which is not beside the tests where they run as somebody else."""
    for top in (TOP, pathlib.Path(os.environ.get("CORDON_SOURCE", TOP))):
        if (top / path).exists():
            return (top / path).read_text()
    raise AssertionError(f"{path} is missing")


def on_terminal(*args, env):
    """What cordon writes to a terminal; it must end well."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(BIN, [BIN, *args], {**ENV, **env})
    out = b""
    while True:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            break
        if not chunk:
            break
        out += chunk
    os.close(fd)
    assert os.waitpid(pid, 0)[1] == 0
    return out


def inside(code, *options, status="OK", prelude=True, **kw):
    """Runs a python probe inside; it must end with `status`, so that a probe that died is seen."""
    r = run(*options, "--", PYTHON, "-c", (PRELUDE if prelude else "") + code, **kw)
    assert r.doc["status"] == status, f"{r.doc['status']} {r.doc['reason']}: {r.told()}"
    return r


def outside(code, *args, wrap=(), timeout=60, **kw):
    """The same probe without cordon."""
    argv = [*wrap, PYTHON, "-c", PRELUDE + code, *map(str, args)]
    kw.setdefault("stdin", subprocess.DEVNULL)
    p = subprocess.run(argv, env={**ENV, **kw.pop("env", {})}, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=timeout, check=False, **kw)
    r = Run(argv, p.returncode, p.stdout, p.stderr, None, 0.0)
    assert p.returncode == 0, f"the control did not run: {r.told()}"
    return r


def marker():
    """A word that occurs nowhere else on this machine."""
    return "m" + secrets.token_hex(12)


def pids_with(word):
    """Live processes (no zombies) of any user with `word` in their command line."""
    pids = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/cmdline", "rb") as f:
                if word.encode() in f.read():
                    pids.append(int(entry))
    return pids


class Machine:
    """Two workers of pytest share it test by test; who looks at all that is on it has it alone."""

    def __init__(self):
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
        self.locks = run and [os.open(f"{tempfile.gettempdir()}/pytest-{run}.{name}",
                                      os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in ("queue", "room")]

    def _enter(self, how):
        queue, room = self.locks
        fcntl.flock(room, fcntl.LOCK_UN)
        fcntl.flock(queue, fcntl.LOCK_EX)  # or a worker that is always in would let nobody be alone
        fcntl.flock(room, how)
        fcntl.flock(queue, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def shared(self):
        """For the time of a test."""
        if not self.locks:
            yield
            return
        self._enter(fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self.locks[1], fcntl.LOCK_UN)

    @contextlib.contextmanager
    def alone(self):
        """For a part of a test."""
        if not self.locks:
            yield
            return
        self._enter(fcntl.LOCK_EX)
        try:
            yield
        finally:
            self._enter(fcntl.LOCK_SH)


MACHINE = Machine()


def own_processes():
    """Live processes of our program, init too, which has wiped its command line.

    Root sees which file a process runs; another user is not told of one that is not dumpable, so
    there it is the name and the owner.
    """
    seen = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, KeyError):
            with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
                status = dict(line.split(":", 1) for line in f if ":" in line)
            if status["State"].split()[0] in "ZX":
                continue
            if ROOT:
                mine = os.readlink(f"/proc/{pid}/exe").split(" ")[0] in (BIN, TEST_BIN)
            else:
                mine = status["Name"].strip() in (os.path.basename(BIN),
                                                  os.path.basename(TEST_BIN)) and \
                    int(status["Uid"].split()[0]) == os.getuid()
            if mine:
                seen.add(int(pid))
    return seen


def eventually(check, seconds=20.0):
    """Waits until check() is true: for what other processes do in their own time."""
    end = time.monotonic() + seconds
    while True:
        if check():
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.02)


def figure(text):
    """A number that the runner shows at its end."""
    path = os.environ.get("CORDON_FIGURES")
    if path is not None:
        with open(path, "a", encoding="utf-8") as f:
            f.write(text + "\n")


def mounts():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as f:
        return {line.split(" ", 1)[1] for line in f}


def cgroups(of_all=False):
    """Those of ended runs of ours, or of all: the name holds the number of the supervisor."""
    seen = set()
    for top, _, _ in os.walk("/sys/fs/cgroup", onerror=lambda _: None):
        words = os.path.basename(top).split(".")
        with contextlib.suppress(OSError):
            if words[0] == "cordon" and os.stat(top).st_uid == os.getuid() and \
                    (of_all or not (len(words) > 1 and os.path.exists(f"/proc/{words[1]}"))):
                seen.add(top)
    return seen


def inhabited(cgroup):
    with contextlib.suppress(OSError), open(os.path.join(cgroup, "cgroup.procs"), encoding="ascii") as f:
        return f.read() != ""
    return False


def swept():
    """What a killed supervisor leaves of cgroups is the next run's to sweep, once nobody is in them.

    Who gives up its namespaces has no name any more, and still is in its cgroup.
    """
    return eventually(lambda: not any(map(inhabited, cgroups()))) and subprocess.run(
        [BIN, "run", "--", "true"], env=ENV, stdin=subprocess.DEVNULL, check=False).returncode == 0


def temp_files():
    """Entries of the places for temporary files that belong to us, without those of tests."""
    seen = set()
    for place in {"/tmp", "/var/tmp", "/dev/shm", "/run", os.environ.get("TMPDIR", "/tmp"),
                  f"/run/user/{os.getuid()}"}:
        with contextlib.suppress(OSError):
            for entry in os.scandir(place):
                with contextlib.suppress(OSError):
                    mine = entry.stat(follow_symlinks=False).st_uid == os.getuid()
                    if mine and not entry.name.startswith(
                            ("pytest-", "cordon-check.", "cordon-demo.", "cordon-rooted-")):
                        seen.add(entry.path)
    return seen


@contextlib.contextmanager
def nothing_left(word=None):
    """Before = after: mounts, cgroups, temporary files, our own processes, those with `word`.

    Other people may use the machine: what is new only counts if it stays, and of temporary files
    only what bears our name.
    """
    def ours(paths):
        return {p for p in paths if re.search(r"/\.?cordon-(posix-)?[0-9a-f]+(-[0-9a-f]+)?$", p)}

    with MACHINE.alone():
        # Of all: who was killed before, and whom nobody has reaped yet, is an ended run a moment later.
        before = (mounts(), cgroups(of_all=True), ours(temp_files()), own_processes())
        yield

        def left():
            alive = own_processes() - before[3] | set(pids_with(word) if word else [])
            alive = {f"pid {pid}" for pid in alive}
            return (mounts() - before[0] | cgroups() - before[1]
                    | ours(temp_files()) - before[2] | alive)

        eventually(lambda: not left())
        rest = left()
        assert not rest, f"left behind: {sorted(rest)}"


def listener_of(pid):
    """The supervisor's child that is in no other pid namespace."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            status = pathlib.Path(f"/proc/{entry}/status").read_text(errors="replace")
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            if fields["PPid"] == str(pid) and len(fields["NSpid"].split()) == 1:
                found.append(int(entry))
    assert len(found) == 1, found
    return found[0]
