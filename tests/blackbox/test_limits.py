"""The limits, and that each ends the run on time: P3-P5, P10, P11, P13, P14."""
import json
import os
import pathlib
import resource
import subprocess
import tempfile

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, SHORT, TEST_BIN, cordon, inside, marker, outside, pids_with, run, eventually

# The pipe's other end, an ignored SIGTERM and a stopped process must not delay the end. The
# bound only proves that nobody waited for the grandchild's 30 s.
SOON = 10.0
# As if this caller had no cgroup.
SAMPLED = dict(binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "cgroup"})


def test_p03_timeout():
    r = run("--wall", "1s", "--", "sleep", "30")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (124, "TIMEOUT", 124)
    assert 0.9 <= r.seconds < SOON
    assert r.doc["enforced"]["wall_time"]["applied"] is True


@pytest.mark.parametrize("what", [
    "sleep 30 & exit 0",                                      # holds the pipe, parent gone
    "sleep 30 & sleep 30",                                    # holds the pipe
    "trap '' TERM; sleep 30 & trap '' TERM; sleep 30; sleep 30",
    "setsid sh -c 'trap \"\" TERM HUP INT; sleep 30; sleep 30' & wait",
    "kill -STOP $$",
    "sh -c 'kill -STOP $$' & wait",
])
def test_p03_timeout_whatever_a_grandchild_does(what):
    word = marker()
    r = run("--wall", "500ms", *SHORT, "--", "sh", "-c", what + f" # {word}")
    assert r.seconds < SOON, r.told()
    if "exit 0" in what:
        # The payload itself ended: that is the end of the run, not a timeout.
        assert r.doc["status"] == "OK"
    else:
        assert (r.rc, r.doc["status"], r.doc["rc"]) == (124, "TIMEOUT", 124)
    assert eventually(lambda: not pids_with(word))


def test_p03_sigterm_comes_first_and_the_grace_is_used():
    r = run("--wall", "500ms", "--grace", "5s", "--", "sh", "-c",
            "trap 'echo tidy; exit 0' TERM; while :; do sleep 0.05; done")
    assert (r.rc, r.doc["status"]) == (124, "TIMEOUT")
    assert r.doc["stdout"] == "tidy\n"


def test_p04_cpu_limit():
    r = run("--cpu", "1s", "--wall", "30s", "--", "sh", "-c", "while :; do :; done")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (152, "CPU_LIMIT", 152), r.told()
    assert r.seconds < 25


def test_p04_cpu_limit_although_sigxcpu_is_ignored():
    r = run("--cpu", "1s", "--wall", "30s", *SHORT, "--", "sh", "-c",
            "trap '' XCPU TERM; while :; do :; done")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (152, "CPU_LIMIT", 152), r.told()
    assert r.seconds < 25


SPREAD = """
kids = []
for _ in range(6):
    pid = os.fork()
    if pid == 0:
        end = time.process_time() + 0.6
        while time.process_time() < end: pass
        os._exit(0)
    kids.append(pid)
for pid in kids: os.waitpid(pid, 0)
say('all ended')
"""


def test_p04_cpu_limit_spread_over_children():
    assert outside(SPREAD).answer == "all ended"
    r = inside(SPREAD, "--cpu", "1s", "--wall", "40s", status="CPU_LIMIT")
    assert (r.rc, r.doc["rc"]) == (152, 152)
    assert "all ended" not in r.text


def test_p04_a_run_below_the_limit_is_not_stopped():
    inside("t = time.process_time()\nwhile time.process_time() - t < 0.3: pass\nsay(1)",
           "--cpu", "10s")


HOG = """
import mmap
blocks = []
for _ in range(64):
    m = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(0, 4 << 20, 4096): m[i] = 1
    blocks.append(m)
say('has it all')
"""


def test_p05_mem_limit():
    assert outside(HOG).answer == "has it all"
    r = inside(HOG, "--mem", "64M", status="MEM_LIMIT")
    assert (r.rc, r.doc["rc"]) == (137, 137)
    assert "has it all" not in r.text
    assert r.doc["enforced"]["memory"]["applied"] is True


def test_p05_a_run_below_the_limit_is_not_stopped():
    inside("x = bytearray(40 << 20); say(len(x))", "--mem", "256M")


FORKS = """
n = 0; why = 'ok'
kids = []
for _ in range(50):
    try:
        pid = os.fork()
    except OSError as e:
        why = errno.errorcode[e.errno]
        break
    if pid == 0:
        time.sleep(20); os._exit(0)
    kids.append(pid); n += 1
for pid in kids: os.kill(pid, 9)
for pid in kids: os.waitpid(pid, 0)
say([n, why])
"""


def test_p10_pids():
    assert outside(FORKS).answer == [50, "ok"]
    r = inside(FORKS, "--pids", "8")
    assert r.answer[1] == "EAGAIN" and 4 <= r.answer[0] < 8
    assert r.doc["enforced"]["pids"]["applied"] is True


def test_p10_the_largest_number():
    assert run("--pids", "4194301", "--", "true").doc["enforced"]["pids"]["applied"] is True
    assert cordon("run", "--pids", "4194302", "--", "true").rc == 2


def test_p10_threads_count_too():
    code = """
import threading
n = 0
stop = threading.Event()
try:
    for _ in range(40):
        threading.Thread(target=stop.wait, daemon=True).start(); n += 1
except RuntimeError: pass
stop.set(); say(n)
"""
    assert outside(code).answer == 40
    assert inside(code, "--pids", "8").answer < 8


OPENS = """
held = []; why = 'ok'
try:
    for _ in range(100): held.append(open('/dev/null'))
except OSError as e: why = errno.errorcode[e.errno]
n = len(held); held.clear(); say([n, why])
"""


def test_p11_open_files():
    assert outside(OPENS).answer == [100, "ok"]
    r = inside(OPENS, "--nofile", "16")
    assert r.answer[1] == "EMFILE" and r.answer[0] <= 13
    assert r.doc["enforced"]["open_files"]["applied"] is True


def test_p11_the_limit_cannot_be_raised():
    # Python turns EPERM into ValueError; the raw limit is what counts.
    r = inside("import resource\n"
               "try: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); say('raised')\n"
               "except (ValueError, OSError): say(resource.getrlimit(resource.RLIMIT_NOFILE))",
               "--nofile", "32")
    assert r.answer == [32, 32]


def payload_of(size, stream="stdout"):
    return [PYTHON, "-c", f"import sys; sys.{stream}.write('x' * {size})"]


def test_p13_output_is_cut_and_the_child_lives_on():
    r = run("--", PYTHON, "-c",
            "import sys; sys.stdout.write('x' * (2 << 20)); sys.stdout.flush();"
            "sys.stderr.write('done')")
    assert (r.rc, r.doc["status"]) == (0, "OK")
    assert r.doc["stdout_truncated"] is True and r.doc["stdout_bytes"] == 2 << 20
    text = r.doc["stdout"]
    assert text.startswith("x" * (1 << 20)) and not text.startswith("x" * ((1 << 20) + 1))
    tail = text[1 << 20:]
    assert tail.lstrip("\n").startswith("[TRUNCATED]") and len(tail) < 200
    assert tail.startswith("\n")
    assert r.doc["stderr"] == "done" and r.doc["stderr_truncated"] is False


@pytest.mark.parametrize("size,cut", [(4095, False), (4096, False), (4097, True)])
def test_p13_exactly_the_cap_is_not_cut(size, cut):
    r = run("--output", "4K", "--", *payload_of(size))
    assert r.doc["stdout_truncated"] is cut
    assert ("[TRUNCATED]" in r.doc["stdout"]) is cut
    assert r.doc["stdout_bytes"] == size


def test_p14_streams_are_cut_independently():
    r = run("--output", "1K", "--", PYTHON, "-c",
            "import sys; sys.stderr.write('e' * 5000); sys.stdout.write('o' * 1000)")
    assert r.doc["stdout"] == "o" * 1000 and r.doc["stdout_truncated"] is False
    assert r.doc["stderr_truncated"] is True and r.doc["stderr_bytes"] == 5000


def test_p13_on_overflow_kill():
    r = run("--output", "1K", "--on-overflow", "kill", "--", "sh", "-c", "yes; sleep 30")
    assert (r.rc, r.doc["status"]) == (153, "OUTPUT_LIMIT")
    assert "stdout" in r.doc["reason"] or "standard output" in r.doc["reason"]
    assert r.seconds < SOON


def test_p13_cap_in_the_middle_of_a_character():
    r = run("--output", "5", "--", "printf", "aaaa\\303\\244b")
    assert r.doc["stdout_truncated"] is True and r.doc["stdout"].startswith("aaaa")


def test_tmp_size():
    code = """
def fill(path):
    f = open(path, 'wb')
    def more():
        for _ in range(32): f.write(b'x' * (1 << 20)); f.flush()
    r = tried(more)
    n = os.path.getsize(path)
    try: f.close()
    except OSError: pass
    os.unlink(path)
    return [r, n]
say([fill('/tmp/f'), fill('/work/f')])
"""
    r = inside(code, "--tmp", "8M")
    for why, size in r.answer:
        assert why == "ENOSPC" and size <= 8 << 20
    assert [w for w, _ in inside(code, "--tmp", "64M").answer] == ["ok", "ok"]


def test_limits_read_in_all_units():
    for args in (["--wall", "90"], ["--wall", "90s"], ["--wall", "1m"], ["--wall", "90000ms"],
                 ["--wall", "none"], ["--mem", "256M"], ["--mem", "1G"], ["--mem", "none"],
                 ["--cpu", "0"], ["--wall", "0"], ["--grace", "0"], ["--output", "none"],
                 ["--pids", "none"], ["--nofile", "none"]):
        r = run(*args, "--", "true")
        assert r.doc["status"] == "OK", r.told()


CAPTURE_MAX = 64 << 20
FLOOD = ["sh", "-c", f"head -c {CAPTURE_MAX + 4096} /dev/zero | tr '\\0' x; echo >&2 done"]


@pytest.mark.parametrize("limit", ["none", "100M"])
def test_a_document_keeps_64_mib_whatever_the_limit(limit):
    """The limit allows more than the cap of a document: said in the ledger, in a warning, and true."""
    r = run("--output", limit, "--", *FLOOD)
    assert r.doc["stdout_bytes"] == CAPTURE_MAX + 4096 and r.doc["stdout_truncated"] is True
    assert r.doc["stdout"][:CAPTURE_MAX].strip("x") == ""
    assert r.doc["stdout"][CAPTURE_MAX:] == f"\n[TRUNCATED] {CAPTURE_MAX} of {CAPTURE_MAX + 4096} bytes"
    assert "64 MiB" in r.doc["enforced"]["output"]["details"]
    assert any("64 MiB" in w and "not in it" in w for w in r.doc["warnings"])


def test_the_cap_of_documents_is_told_where_it_counts():
    told = lambda r: [w for w in r.doc["warnings"] if "64 MiB" in w]
    assert told(run("--output", "65M", "--", "true"))
    assert not told(run("--output", "64M", "--", "true"))
    assert not told(run("--profile", "agent", "--", "true")), "nobody named a limit, and nothing is missing"


def test_what_passes_through_is_not_marked_by_the_cap_of_documents(tmp_path):
    """Less than the limit: it passes whole, though the document cannot hold all of it."""
    r = cordon("run", "--output", "100M", "--result", str(tmp_path / "r.json"), "--", *FLOOD)
    assert len(r.out) == CAPTURE_MAX + 4096 and b"[TRUNCATED]" not in r.out
    r = cordon("run", "--output", "5", "--", "echo", "123456")
    assert r.out == b"12345\n[TRUNCATED] 5 of 7 bytes\n"


def test_what_the_sampled_memory_limit_refuses_and_the_ways_out():
    """As README, cordon-run(1) and cordon-security(7) say it of a caller without a cgroup."""
    code = """
import mmap
def in_shm():
    with open('/dev/shm/x', 'w+b') as f:
        f.truncate(4096)
        mmap.mmap(f.fileno(), 4096)
    os.unlink('/dev/shm/x')
say([tried(lambda: mmap.mmap(-1, 4096)), tried(lambda: os.memfd_create('x')), tried(in_shm)])
"""
    assert outside(code.replace("/dev/shm/x", f"/dev/shm/{marker()}")).answer == ["ok"] * 3
    r = inside(code, **SAMPLED)
    assert r.doc["enforced"]["memory"]["mechanism"] == "watcher"
    assert r.answer == ["ENOSYS", "ENOSYS", "ok"]
    assert inside(code, "--mem", "none", **SAMPLED).answer == ["ok"] * 3
    assert inside(code, "--profile", "agent", **SAMPLED, cwd="/tmp").answer == ["ok"] * 3


def test_files_of_others_in_a_tmpfs_of_the_hosts_are_not_the_runs_memory():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shm:
        work = pathlib.Path(shm, "work")
        work.mkdir()
        os.chmod(shm, 0o755)
        pathlib.Path(shm, "ballast").write_bytes(bytes(80 << 20))
        for options in (["--work", work], ["--rw", f"{work}:/tmp"]):
            r = run("--mem", "64M", *options, "--", "sh", "-c", "sleep 0.3; echo fine", **SAMPLED)
            assert r.doc["enforced"]["memory"]["mechanism"] == "watcher" and r.text == "fine\n", r.told()


def test_a_mapped_file_in_shared_memory_counts_once():
    """What the limit refuses has this way out: it must not cost twice."""
    code = """
import mmap
f = open('/dev/shm/x', 'w+b')
f.truncate(60 << 20)
m = mmap.mmap(f.fileno(), 60 << 20)
for i in range(0, 60 << 20, 4096): m[i] = 1
time.sleep(0.3)
say('went on')
"""
    r = run("--mem", "96M", "--tmp", "64M", "--", PYTHON, "-c", PRELUDE + code, **SAMPLED)
    assert (r.doc["status"], r.doc["enforced"]["memory"]["mechanism"]) == ("OK", "watcher"), r.told()
    r = run("--mem", "48M", "--tmp", "64M", "--", PYTHON, "-c", PRELUDE + code, **SAMPLED)
    assert r.doc["status"] == "MEM_LIMIT", r.told()


def test_a_bind_that_may_be_missing_does_not_take_tmp_out_of_the_sum(place):
    policy = place / "p.json"
    policy.write_text(json.dumps({"version": 1, "fs": {"rw": [{"host": str(place / "no"), "sandbox": "/tmp", "optional": True}],
                                                       "tmp_bytes": 256 << 20}, "limits": {"mem_bytes": 64 << 20}}))
    r = run("--policy", policy, "--", PYTHON, "-c", "f = open('/tmp/f', 'wb')\nfor _ in range(200): f.write(bytes(1 << 20))\n"
            "import time; time.sleep(0.5); print('has it all')", **SAMPLED)
    assert (r.doc["status"], r.doc["enforced"]["memory"]["mechanism"]) == ("MEM_LIMIT", "watcher"), r.told()


@pytest.mark.parametrize("children", [("1", "500000"), ("2000", "300")], ids=["one", "many"])
def test_memory_counts_once_while_a_program_is_started(probes, children):
    """A child of vfork() lives in the memory of its parent until it executes something; some end while they are looked at."""
    r = run("--mem", "40M", "--ro", f"{probes}:/probes", "--", "/probes/vforks", *children, **SAMPLED)
    assert (r.text, r.doc["enforced"]["memory"]["mechanism"]) == ("went on\n", "watcher"), r.told()
    r = run("--mem", "20M", "--ro", f"{probes}:/probes", "--", "/probes/vforks", *children, **SAMPLED)
    assert r.doc["status"] == "MEM_LIMIT", r.told()


CHILDREN = """
while True:
    pid = os.fork()
    if pid == 0:
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        os._exit(0)
    os.waitpid(pid, 0)
"""


def test_p04_cpu_limit_where_the_caller_has_no_descriptor_left(place):
    """No look is missed for want of one: what is not seen would be allowed."""
    if not run("--", "true").doc["enforced"]["cpu_time"]["mechanism"].startswith("cgroup"):
        pytest.skip("no cgroup counts the cpu time here")
    with subprocess.Popen([BIN, "run", "--json", "--cpu", "1s", "--wall", "12s", *SHORT, "--rw", place, "--", PYTHON, "-c",
                           PRELUDE + f"open('{place}/begun', 'w')" + CHILDREN], env=ENV, stdout=subprocess.PIPE) as p:
        assert eventually((place / "begun").exists)
        resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (3, 3))
        doc = json.loads(p.stdout.read())
    assert doc["status"] == "CPU_LIMIT", doc
