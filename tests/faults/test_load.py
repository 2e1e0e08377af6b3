"""Many runs, one after the other and at once: what was there before is there after, no more."""
import os
import subprocess
import sys
import threading

import pytest
from support import ALL, BIN, ENV, TOP, nothing_left

RUNS = 10000 if ALL else 400
IN_A_ROW = 20000 if ALL else 500


# The long form: by fifty as root, by two as an ordinary user.
@pytest.mark.parametrize("callers", [2, 50] if not ALL else [50] if os.geteuid() == 0 else [2])
def test_runs_by_several_callers(callers):
    bad = []

    def call():
        for _ in range(RUNS // callers):
            p = subprocess.run([BIN, "run", "--", "/bin/sh", "-c", "echo x; exit 9"], env=ENV,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            if (p.returncode, p.stdout) != (9, b"x\n"):
                bad.append((p.returncode, p.stdout, p.stderr))

    with nothing_left():
        threads = [threading.Thread(target=call) for _ in range(callers)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not bad, f"{len(bad)} of {RUNS}: {bad[:3]}"


def test_two_hundred_at_once_each_at_its_cap():
    argv = [BIN, "run", "--json", "--output", "64K", "--wall", "300s", "--", "/usr/bin/head", "-c", "200000", "/dev/zero"]
    with nothing_left():
        runs = [subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(200)]
        for p in runs:
            out, err = p.communicate(timeout=300)
            assert p.returncode == 0, err
            assert b'"stdout_bytes":200000' in out and b"[TRUNCATED]" in out


PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
import cordon
def state():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4, len(os.listdir("/proc/self/fd"))
for _ in range(50):
    cordon.run(["/bin/true"])
rss, descriptors = state()
for _ in range(int(sys.argv[2])):
    assert cordon.run(["/bin/true"]).ok
after, now = state()
assert now == descriptors, (now, descriptors)
assert after - rss < 2048, f"{after - rss} KiB more"
"""


def test_runs_in_a_row_in_one_process():
    site = TOP / "build/python/site"
    if not site.is_dir():
        pytest.skip("the Python package was not built")
    with nothing_left():
        subprocess.run([sys.executable, "-c", PROGRAM, str(site), str(IN_A_ROW)], env=ENV, check=True,
                       stdin=subprocess.DEVNULL)
