"""Where no cgroup counts, init watches: nothing inside may blind it, slow it down or stop it."""
import contextlib
import ctypes
import pathlib
import shutil
import subprocess
import threading

import pytest

from support import PRELUDE, PYTHON, ROOT, TEST_BIN, eventually, inside, outside, own_processes, run

WATCHER = dict(binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "cgroup"})
TOUCH = """
held = []
for _ in range(30): held.append(bytearray(b'x' * (10 << 20)))
time.sleep(0.5)
print('has it all', flush=True)
"""
# What a process can do to another one of the same user; {pid} is the victim.
MEDDLE = {
    "open files": "libc.prlimit({pid}, 7, struct.pack('QQ', 0, 0), None)",
    "cpu time": "libc.prlimit({pid}, 0, struct.pack('QQ', 1000, 1000), None)",
    "scheduler": "os.sched_setscheduler({pid}, os.SCHED_IDLE, os.sched_param(0))",
    "affinity": "os.sched_setaffinity({pid}, {{0}})",
    "priority": "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
}
TRY = """
def meddle():
    ctypes.set_errno(0)
    r = {what}
    if r not in (None, 0): raise OSError(ctypes.get_errno(), '')
"""


def test_watcher_sees_the_plain_case():
    r = run("--mem", "96M", "--", PYTHON, "-c", PRELUDE + TOUCH, **WATCHER)
    assert r.doc["status"] == "MEM_LIMIT", r.told()
    assert r.doc["enforced"]["memory"]["mechanism"] == "watcher"


@pytest.mark.parametrize("how", MEDDLE)
def test_init_is_out_of_reach(how):
    child = TRY.format(what=MEDDLE[how].format(pid="child"))
    control = "child = os.fork()\nif child == 0: time.sleep(30)\n" + child + \
              "r = tried(meddle)\nos.kill(child, 9)\nsay(r)"
    assert outside(control).answer == "ok", "the control: it works on a process of one's own"
    r = inside(TRY.format(what=MEDDLE[how].format(pid=1)) + "say(tried(meddle))",
               "--wall", "5s", "--grace", "100ms")
    assert r.answer in ("EPERM", "EACCES", "ESRCH", "ENOSYS")


def test_watcher_without_descriptors():
    blind = "libc.prlimit(1, 7, struct.pack('QQ', 0, 0), None)\n"
    r = run("--mem", "96M", "--wall", "8s", "--grace", "100ms", "--", PYTHON, "-c",
            PRELUDE + blind + TOUCH, **WATCHER)
    assert "has it all" not in r.text and r.doc["status"] == "MEM_LIMIT", r.told()


def test_the_run_ends_although_init_has_no_descriptors_left():
    r = run("--wall", "5s", "--grace", "100ms", "--", PYTHON, "-c",
            PRELUDE + "libc.prlimit(1, 7, struct.pack('QQ', 0, 0), None); time.sleep(0.5)",
            **WATCHER)
    assert r.doc["status"] == "OK", r.told()


@pytest.mark.parametrize("arguments", [[], ["first-thread-ends"]])
def test_memory_of_a_process_without_its_first_thread(probes, arguments):
    assert subprocess.run([probes / "leader", *arguments], stdout=subprocess.PIPE, check=True).stdout == b"has it all\n"
    r = run("--mem", "96M", "--ro", f"{probes}:/probes", "--", "/probes/leader", *arguments,
            **WATCHER)
    assert "has it all" not in r.text and r.doc["status"] == "MEM_LIMIT", r.told()


@pytest.mark.parametrize("source", ["anonymous", "zero"])
def test_shared_memory_that_no_page_table_shows(probes, source):
    """Either it is counted, or it cannot be had, or the ledger does not claim the limit."""
    assert subprocess.run([probes / "dropped", source], stdout=subprocess.PIPE, check=True).stdout == b"has it all\n"
    r = run("--mem", "96M", "--ro", f"{probes}:/probes", "--", "/probes/dropped", source,
            **WATCHER)
    assert "has it all" not in r.text or not r.doc["enforced"]["memory"]["applied"], r.told()


@pytest.mark.parametrize("where", ["pipe", "socket", "file", "sent"])
def test_pages_that_a_pipe_or_a_socket_holds(probes, place, where):
    """One page of a huge one is given away and all of it unmapped, or truncated: 2 MiB stay that no process shows."""
    control = outside("import subprocess\n"
                      f"say(subprocess.run([{str(probes / 'pinned')!r}, {where!r}], stdout=-1, cwd={str(place)!r}).stdout.decode())")
    assert control.answer == "has it all\n"
    r = run("--mem", "96M", "--net", "loopback", "--ro", f"{probes}:/probes", "--", "/probes/pinned", where, **WATCHER)
    assert "has it all" not in r.text and "refused" in r.text, r.told()


def test_many_mappings_do_not_outrun_the_watcher(probes):
    control = subprocess.run([probes / "mappings"], stdout=subprocess.PIPE, check=False)
    assert control.stdout == b"has it all\n"
    r = run("--mem", "256M", "--pids", "64", "--cpu", "none", "--wall", "120s", "--ro", f"{probes}:/probes", "--", "/probes/mappings", **WATCHER)
    assert "has it all" not in r.text and r.doc["status"] == "MEM_LIMIT", r.told()


def test_tables_of_pages_that_are_never_resident(probes):
    control = subprocess.run([probes / "tables"], stdout=subprocess.PIPE, check=False)
    assert control.stdout == b"has it all\n"
    r = run("--mem", "96M", "--ro", f"{probes}:/probes", "--", "/probes/tables", **WATCHER)
    assert "has it all" not in r.text and r.doc["status"] == "MEM_LIMIT", r.told()


def test_a_table_of_futexes_of_any_size():
    """Linux 6.16: by one call a process has a gigabyte of the kernel's memory, which is in no resident size."""
    ask = """r = libc.prctl(78, *map(ctypes.c_ulong, (1, 1 << 16, 0, 0)))
say('ok' if r == 0 else errno.errorcode[ctypes.get_errno()])"""
    if outside(ask).answer != "ok":
        pytest.skip("this kernel has no such table")
    assert inside(ask, "--mem", "96M", **WATCHER).answer == "EINVAL"
    assert inside(ask, "--mem", "none", **WATCHER).answer == "ok"  # nothing is claimed there


def test_a_callers_patience_is_not_inits():
    """Timer slack is inherited: a service may have seconds of it, and each look of init's would come so much later."""
    def patient():
        assert ctypes.CDLL(None).prctl(29, ctypes.c_ulong(4_000_000_000), 0, 0, 0) == 0

    r = run("--mem", "96M", "--", PYTHON, "-c", PRELUDE + TOUCH, preexec_fn=patient, **WATCHER)
    assert r.doc["status"] == "MEM_LIMIT" and r.doc["usage"]["max_rss_bytes"] < 250 << 20, r.told()


VANISHING = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(8):
    if os.fork() == 0:
        end = time.process_time() + 0.6
        while time.process_time() < end: pass
        os._exit(0)
    tried(os.wait)
say('has used it all')
"""


def test_processor_time_of_children_that_nobody_waits_for():
    """When they have ended no account of the kernel's has it: what was seen of them must not be forgotten."""
    assert outside(VANISHING).answer == "has used it all"
    r = run("--cpu", "1s", "--wall", "60s", "--", PYTHON, "-c", PRELUDE + VANISHING, **WATCHER)
    assert r.doc["status"] == "CPU_LIMIT", r.told()


def parent_of(pid):
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return 0


@pytest.mark.alone
@pytest.mark.skipif(not ROOT or shutil.which("strace") is None, reason="strace slows init down, and only root may")
def test_children_that_stop_for_init_do_not_keep_it(place, probes):
    """A millisecond for each, in which all others stop again: there is always one more to let go."""
    place.chmod(0o755)
    before = own_processes()
    result = []
    thread = threading.Thread(target=lambda: result.append(
        run("--mem", "96M", "--ro", place, "--ro", f"{probes}:/probes", "--wall", "20s", "--grace", "100ms", "--",
            "/probes/storm", place / "go", **WATCHER)))
    thread.start()

    def init():
        mine = own_processes() - before
        return [pid for pid in mine if parent_of(pid) in mine]

    assert eventually(lambda: len(init()) == 1)
    with subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(init()[0]), "-e", "trace=ptrace", "-e",
                           "inject=ptrace:delay_exit=1000"], stderr=subprocess.PIPE) as tracer:
        assert b"attached" in tracer.stderr.readline()
        (place / "go").write_text("")
        thread.join(40)
        tracer.terminate()
    assert "has it all" not in result[0].text and result[0].doc["status"] == "MEM_LIMIT", result[0].told()
