"""What the Python package costs, in one interleaved run: medians as ratios against their bars, and the
ratios of minimums, which other load on the machine moves less.

    bench/python.py SITE [ROUNDS]       SITE: where the package is, as BUILD/python/site
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.abspath(sys.argv[1]))
import cordon  # noqa: E402

BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--uid", "65534", "--gid", "65534",
         "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--clearenv", "--cap-drop", "ALL",
         "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
         "--symlink", "usr/lib64", "/lib64", "--dir", "/work", "--", "/bin/true"]
# A small suite that does a second's work: what limits cost is a share of real work.
SUITE = "import pytest\n\n@pytest.mark.parametrize('n', range(40))\ndef test_sum(n):\n" \
        "    assert sum(i * i for i in range(200000)) > n\n"


def timed(act):
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def interleaved(acts, rounds):
    for act in acts.values():
        act()
    times = {name: [] for name in acts}
    order = list(acts.items())
    for _ in range(rounds):
        random.shuffle(order)  # what the kernel takes apart behind one is paid by the next
        for name, act in order:
            times[name].append(timed(act))
    return times


def report(what, times, base, bar):
    ours, theirs = times["cordon"], times[base]
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"{what:52}{ratio:6.2f}  <= {bar:4.2f}  {'ok  ' if ratio <= bar else 'OVER'}  "
          f"of minimums {min(ours) / min(theirs):.2f}; ms {statistics.median(ours) * 1e3:.2f}, "
          f"{base} {statistics.median(theirs) * 1e3:.2f}", flush=True)


def plain(argv):
    return lambda: subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    times = interleaved({"cordon": lambda: cordon.run(["/bin/true"]), "plain": plain(["/bin/true"]),
                         "bwrap": plain(BWRAP)}, rounds)
    report("cordon.run(true) / subprocess.run(true)", times, "plain", 3.0)
    report("cordon.run(true) / subprocess.run(hardened bwrap)", times, "bwrap", 0.6)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with open("test_suite.py", "w") as f:
            f.write(SUITE)
        argv = [sys.executable, "-m", "pytest", "-q", "test_suite.py"]
        times = interleaved({"cordon": lambda: cordon.run_pytests_v2(["test_suite.py"]), "plain": plain(argv)},
                            max(5, rounds // 10))
        os.chdir("/")
    report("run_pytests_v2 / subprocess.run of the same pytest", times, "plain", 1.05)


if __name__ == "__main__":
    main()
