"""One system call after the other fails, in the supervisor, in init and in the process that becomes the
payload: each time there is a correct result or a clean refusal, nothing is left, and the ledger
claims nothing that the payload could not confirm.

The calls are found by watching a run (tests/tools/inject), so that a new one is swept as well. `make
check` takes each first call of a kind; `make check-all` all of them.
"""
import errno
import json
import os
import platform
import signal
import subprocess

import pytest
from support import ALL, BIN, ENV, HERE, TEST_BIN, cgroups, check_document, compiled, figure, nothing_left

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the injector knows x86_64 only")

NAMES = dict(lseek=8, sched_yield=24, setpgid=109, getppid=110, uname=63, getcwd=79, fchdir=81, setpriority=141, nfsservctl=180, dup3=292, read=0, write=1, open=2, close=3, poll=7, mmap=9, mprotect=10, munmap=11, brk=12, rt_sigaction=13,
             rt_sigprocmask=14, ioctl=16, pread64=17, access=21, dup2=33, getpid=39, socket=41, sendmsg=46,
             recvmsg=47, socketpair=53, clone=56, execve=59, exit=60, kill=62, fcntl=72, flock=73, chdir=80,
             mkdir=83, rmdir=84, readlink=89, umask=95, getuid=102, getgid=104, geteuid=107, getegid=108, setsid=112,
             getgroups=115, setgroups=116, setresuid=117, setresgid=119, capget=125, capset=126, statfs=137,
             fstatfs=138, pivot_root=155, prctl=157, arch_prctl=158, mount=165, umount2=166, sethostname=170,
             gettid=186, futex=202, sched_getaffinity=204, getdents64=217, set_tid_address=218,
             clock_gettime=228, exit_group=231, waitid=247, keyctl=250, openat=257, mkdirat=258, newfstatat=262,
             unlinkat=263, symlinkat=266, ppoll=271, unshare=272, epoll_pwait=281, timerfd_create=283,
             timerfd_settime=286, signalfd4=289, eventfd2=290, epoll_ctl=233, epoll_create1=291, pipe2=293,
             prlimit64=302, setns=308, getrandom=318, memfd_create=319, seccomp=317, renameat2=316, statx=332,
             rseq=334, pidfd_send_signal=424, open_tree=428, move_mount=429, fsopen=430, fsconfig=431,
             fsmount=432, pidfd_open=434, clone3=435, close_range=436, openat2=437, mount_setattr=442,
             landlock_create_ruleset=444, landlock_add_rule=445, landlock_restrict_self=446)
BY_NUMBER = {number: name for name, number in NAMES.items()}

# They cannot fail on any kernel, or have done their work when they do.
NEVER = {"close", "getppid", "nfsservctl", "munmap", "getpid", "getuid", "getgid", "geteuid", "getegid", "gettid", "umask", "exit",
         "exit_group", "set_tid_address", "clock_gettime", "rt_sigprocmask", "arch_prctl", "rseq", "setsid", "sched_yield"}
# No refusal, whatever was refused to us: a wild pointer, an assertion, an instruction that is none.
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}
SHORT = "short"
ERRORS = {
    "read": [errno.EIO, errno.EINTR, errno.EAGAIN], "pread64": [errno.EIO],
    "write": [errno.ENOSPC, errno.EIO, errno.EINTR, errno.EAGAIN, SHORT],
    "open": [errno.EMFILE, errno.ENOMEM], "openat": [errno.EMFILE, errno.ENOMEM], "openat2": [errno.EMFILE, errno.EAGAIN],
    "mmap": [errno.ENOMEM], "brk": [errno.ENOMEM], "clone": [errno.EAGAIN, errno.ENOMEM],
    "clone3": [errno.EAGAIN, errno.ENOSPC], "unshare": [errno.ENOSPC, errno.ENOMEM], "mount": [errno.ENOMEM],
    "waitid": [errno.EINTR], "ppoll": [errno.EINTR], "epoll_pwait": [errno.EINTR], "futex": [errno.EINTR, errno.EAGAIN],
    "pipe2": [errno.EMFILE], "socketpair": [errno.EMFILE], "eventfd2": [errno.EMFILE], "epoll_create1": [errno.EMFILE],
    "signalfd4": [errno.EMFILE], "timerfd_create": [errno.EMFILE], "memfd_create": [errno.EMFILE],
    "execve": [errno.ENOMEM], "mkdir": [errno.ENOSPC], "rmdir": [errno.EBUSY], "setpriority": [errno.EPERM], "mkdirat": [errno.ENOSPC], "symlinkat": [errno.ENOSPC],
    "getrandom": [errno.EINTR], "prlimit64": [errno.EPERM], "prctl": [errno.EINVAL], "capset": [errno.EPERM],
}
OTHERWISE = [errno.ENOMEM]

# What the payload sees of each promise, and a last word that shows that it ran to its end.
PROBE = r"""
while read -r l; do case $l in Seccomp:*|NoNewPrivs:*|CapEff:*) echo "$l";; esac; done </proc/self/status
(: <"$1") 2>/dev/null && echo secret readable
for n in net ipc pid; do echo "$n $(readlink /proc/self/ns/$n)"; done
echo "nofile $(ulimit -n)"
[ -n "$CORDON_FAULT_SECRET" ] && echo environment visible
[ -e /dev/kmsg ] && echo kmsg visible
echo end
"""


@pytest.fixture(scope="module")
def inject(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("inject") / "inject", HERE / "tools/inject.c")


@pytest.fixture
def secret(place):
    path = place / "secret"
    path.write_text("s")
    path.chmod(0o644)
    return str(path)


class Injected:
    """One run with one fault."""

    def __init__(self, inject, words, secret, command=(BIN, "run"), script=PROBE, **env):
        seen, write = os.pipe()
        argv = [inject, *map(str, words), "--", *command, "--json", "--wall", "20s", "--grace", "200ms", "--",
                "/bin/sh", "-c", script, "sh", secret]

        def give():
            os.dup2(write, 3)

        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={**ENV, "CORDON_FAULT_SECRET": "x", **env}, preexec_fn=give, pass_fds=(3,))
        os.close(write)
        try:
            self.out, self.err = p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            p.kill()
            self.out, self.err = p.communicate()
            self.err += b"HANGS"
        self.rc = p.returncode
        with os.fdopen(seen) as f:
            self.report = f.read().splitlines()

    def told(self):
        return f"exit {self.rc}, {self.report}, stdout {self.out[-700:]!r}, stderr {self.err[-500:]!r}"


def namespaces():
    return {n: os.readlink(f"/proc/self/ns/{n}") for n in ("net", "ipc", "pid")}


def claims_that_do_not_hold(doc):
    """Entries of the ledger that the payload's own words contradict."""
    said = doc["stdout"].splitlines()
    values = dict(line.split(maxsplit=1) for line in said if " " in line or ":" in line)
    host = namespaces()
    holds = {
        "syscalls": values.get("Seccomp:") == "2",
        "privileges": values.get("NoNewPrivs:") == "1" and int(values.get("CapEff:", "1"), 16) == 0,
        "filesystem": "secret readable" not in said,
        "network": values.get("net") not in (host["net"], None),
        "ipc": values.get("ipc") not in (host["ipc"], None),
        "processes": values.get("pid") not in (host["pid"], None),
        "open_files": values.get("nofile") == "512",
        "environment": "environment visible" not in said,
        "devices": "kmsg visible" not in said,
    }
    return [name for name, held in holds.items() if doc["enforced"][name]["applied"] and not held]


def wrong(r):
    """What is wrong with the outcome of a run with a fault; None: nothing."""
    if b"HANGS" in r.err:
        return "it hangs"
    if any(line.startswith("orphan") for line in r.report):
        return "somebody survived"
    try:
        doc = json.loads(r.out)
    except ValueError:
        if r.rc - 128 in CRASHES:
            return f"it crashed: {signal.Signals(r.rc - 128).name}"
        # The fault hit our own output or start: then the status and a message say so.
        return None if r.rc in (2, 125, 127, 1) or (r.rc >= 128 and not r.out) else "no document, and no failure"
    check_document(doc)
    ended = doc["stdout"].endswith("end\n")
    if doc["status"] == "INTERNAL_ERROR":
        blind = "watch memory and cpu time" in doc["reason"]  # ended in the midst, by init itself
        return "it ran although it was refused" if doc["stdout"] and not blind else None
    if doc["status"] == "OK" and not ended and not doc["stdout_truncated"]:
        return "OK, and output is missing"
    if doc["status"] not in ("OK", "SPAWN_FAILED", "NONZERO_EXIT", "KILLED_KILL", "SIGNALED", "TIMEOUT"):
        return f"status {doc['status']}"
    if ended and claims_that_do_not_hold(doc):
        return f"claimed and not so: {claims_that_do_not_hold(doc)}"
    return None


def test_the_probe_can_see(secret):
    """Without a sandbox the probe contradicts every claim: it is able to."""
    out = subprocess.run(["/bin/sh", "-c", PROBE, "sh", secret], stdout=subprocess.PIPE, text=True,
                         env={**ENV, "CORDON_FAULT_SECRET": "x"}, check=True).stdout
    names = ["syscalls", "privileges", "filesystem", "network", "ipc", "processes", "environment"]
    doc = {"stdout": out, "enforced": {n: {"applied": n in names} for n in
                                       [*names, "open_files", "devices"]}}
    missed = set(names) - set(claims_that_do_not_hold(doc))
    assert not missed, out


def calls_of(inject, secret):
    """(role, number, how many) of a run without a fault."""
    r = Injected(inject, ["list"], secret)
    assert r.rc == 0 and json.loads(r.out)["stdout"].endswith("end\n"), r.told()
    assert wrong(r) is None, r.told()
    return [tuple(map(int, line.split())) for line in r.report]


def with_fault(inject, words, secret):
    """A cgroup that could not be removed is swept by the next run; nothing else may stay."""
    try:
        with nothing_left():
            r = Injected(inject, words, secret)
            if cgroups():
                subprocess.run([BIN, "run", "--", "/bin/true"], env=ENV, stdin=subprocess.DEVNULL, check=True)
    except AssertionError as left:
        return r, str(left)
    return r, wrong(r)


def test_each_call_fails_once(inject, secret):
    bad, tried = [], 0
    calls = calls_of(inject, secret)
    for role, number, count in calls:
        name = BY_NUMBER.get(number, f"call {number}")
        if name in NEVER:
            continue
        errors = ERRORS.get(name, OTHERWISE)
        # A static program of glibc's takes its thread's memory by the first two, before main(), and crashes without.
        first = 3 if name == "brk" and role == 0 else 1
        for error in errors:
            for n in range(first, count + 1) if ALL else (first,):
                r, why = with_fault(inject, [role, number, n, error], secret)
                tried += r.report[:1] == ["hit"]
                if why:
                    what = error if error == SHORT else errno.errorcode[error]
                    bad.append(f"process {role}, {name} number {n}, {what}: {why}: {r.told()}")
    figure(f"faults: {tried} injected, one a run, {len(bad)} with another end than a result or a clean refusal")
    assert tried > (300 if ALL else 60)
    assert not bad, "\n".join([f"{len(bad)} of {tried} faults", *bad[:40]])


def test_init_without_namespaces_cannot_read_once_whom_it_has_to_end(inject, secret):
    def run(*words):
        return Injected(inject, words, secret, (TEST_BIN, "run", "--allow-partial"), "sleep 300 </dev/null >/dev/null 2>&1 & echo end",
                        CORDON_TEST_DISABLE="userns,bwrap,cgroup")

    calls = [tuple(map(int, line.split())) for line in run("list").report]
    reads = [(role, count) for role, number, count in calls if role > 0 and BY_NUMBER.get(number) == "pread64"]
    assert len(reads) == 1, calls
    hit = 0
    for n in range(1, reads[0][1] + 1):
        r = run(reads[0][0], NAMES["pread64"], n, errno.EIO)
        hit += r.report[0] == "hit"
        assert r.report[1:] == [] and b"HANGS" not in r.err, f"number {n}: {r.told()}"
        assert json.loads(r.out)["status"] in ("OK", "INTERNAL_ERROR"), f"number {n}: {r.told()}"
    assert hit > 4  # to begin with, to be seen, and for who is left
