#!/usr/bin/python3
"""Inside the virtual machine: does the command tell the truth about this kernel and this user?

    guest.py MECHANISM [alone]

MECHANISM is the one that memory and pids must have: cgroup2, cgroup1, or without (no cgroup that
this user may write). With `alone` each run starts alone in a group of its own.

Each check runs the attack under a limit and, where that can be shown, without it. TAP on stdout.
"""

import json
import os
import signal
import subprocess
import sys
import time

CORDON = [os.path.join(os.path.dirname(os.path.realpath(__file__)), "cordon")]
ALONE = 'mkdir "$0.$$" && echo $$ > "$0.$$/cgroup.procs" && exec "$@"'
PYTHON = "/usr/bin/python3"
HOG = "x = [bytearray(1 << 20) for i in range(128)]; print('had', len(x))"
FORKS = """
import os, time
made = 0
for i in range(20):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
    except OSError as error:
        print('errno', error.errno)
        break
print('made', made)
"""
# Two children that nobody waits for, so that no rusage knows of them.
BURN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for i in range(2):
    if os.fork() == 0:
        end = time.process_time() + 20
        while time.process_time() < end: pass
        os._exit(0)
time.sleep(120)
"""


def run(program, *options):
    done = subprocess.run([*CORDON, "run", "--json", *options, "--", PYTHON, "-c", program],
                          capture_output=True, text=True, check=False)
    try:
        return done, json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"no result: {done.returncode}, {done.stderr.strip()}") from None


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def entry(result, name, mechanism):
    found = result["enforced"][name]
    expect(found["applied"] is True, f"{name} is not applied: {found}")
    wanted = found["mechanism"].startswith("cgroup") if mechanism == "any cgroup" else (
        found["mechanism"] == mechanism if mechanism.startswith("cgroup")
        else not found["mechanism"].startswith("cgroup"))
    expect(wanted, f"{name}: mechanism {found['mechanism']}, expected {mechanism}")


def groups():
    return [name for name, _, _ in os.walk("/sys/fs/cgroup") if "/cordon." in name]


def own_group():
    with open("/proc/self/cgroup") as file:
        return file.read()


def memory_limit(mechanism):
    _, result = run(HOG, "--mem", "512M", "--wall", "60s")
    expect(result["status"] == "OK", f"with room enough: {result['status']} {result['reason']}")
    done, result = run(HOG, "--mem", "64M", "--wall", "60s")
    entry(result, "memory", mechanism)
    expect(result["status"] == "MEM_LIMIT", f"status {result['status']}: {result['reason']}")
    expect(done.returncode == 0 or done.returncode == 137, f"exit {done.returncode}")
    expect("had" not in result["stdout"], "the hog got what it wanted")


def pids_limit(mechanism):
    _, result = run(FORKS, "--pids", "64", "--wall", "60s")
    expect("made 20" in result["stdout"], f"with room enough: {result['stdout']!r}")
    _, result = run(FORKS, "--pids", "8", "--wall", "60s")
    entry(result, "pids", mechanism)
    expect("errno 11" in result["stdout"], f"fork was not refused: {result['stdout']!r}")
    expect("made 7" in result["stdout"], f"not seven children and itself: {result['stdout']!r}")


def cpu_limit(mechanism):
    start = time.monotonic()
    _, result = run(BURN, "--cpu", "2s", "--wall", "100s")
    entry(result, "cpu_time", "any cgroup" if mechanism.startswith("cgroup") else mechanism)
    expect(result["status"] == "CPU_LIMIT", f"status {result['status']}: {result['reason']}")
    expect(time.monotonic() - start < 90, "it took as long as without a limit")


def nothing_is_left(_mechanism):
    before = own_group()
    run("print(1)", "--mem", "64M", "--pids", "8")
    expect(own_group() == before, f"the caller is now in {own_group()}")
    expect(not groups(), f"left behind: {groups()}")


def a_killed_supervisor_leaves_nothing_for_long(_mechanism):
    sleeper = subprocess.Popen([*CORDON, "run", "--mem", "64M", "--wall", "100s", "--",
                                "sh", "-c", "echo up; sleep 90"],
                               stdout=subprocess.PIPE, text=True)
    expect(sleeper.stdout.readline() == "up\n", "the sleeper did not start")
    sleeper.send_signal(signal.SIGKILL)
    sleeper.wait()
    for _ in range(200):  # the kernel ends what was inside; the next run sweeps the group
        subprocess.run([*CORDON, "run", "--mem", "64M", "--", "/bin/true"], check=True)
        if not groups():
            return
        time.sleep(0.1)
    expect(False, f"left behind: {groups()}")


def runs_at_once_do_not_share_a_limit(mechanism):
    started = [subprocess.Popen([*CORDON, "run", "--json", "--mem", size, "--wall", "90s", "--",
                                 PYTHON, "-c", HOG], stdout=subprocess.PIPE, text=True)
               for size in ("512M", "64M", "512M")]
    results = [json.loads(process.communicate()[0]) for process in started]
    for result in results:
        entry(result, "memory", mechanism)
    expect([result["status"] for result in results] == ["OK", "MEM_LIMIT", "OK"],
           str([result["status"] for result in results]))


def the_ledger_has_no_gap(_mechanism):
    _, result = run("print(1)")
    gaps = {name: found for name, found in result["enforced"].items()
            if found["requested"] is not None and not found["applied"]}
    expect(result["status"] == "OK" and not gaps, f"{result['status']} {result['reason']} {gaps}")


CHECKS = [the_ledger_has_no_gap, memory_limit, pids_limit, cpu_limit, nothing_is_left,
          a_killed_supervisor_leaves_nothing_for_long, runs_at_once_do_not_share_a_limit]


def main():
    checks = CHECKS
    if "alone" in sys.argv[2:]:
        beside = os.path.dirname("/sys/fs/cgroup" + own_group().split("::")[1].strip())
        CORDON[:0] = ["sh", "-c", ALONE, beside + "/alone"]
        # The next run is in another group, and whoever made this one removes it.
        checks = [check for check in CHECKS
                  if check is not a_killed_supervisor_leaves_nothing_for_long]
    print(f"1..{len(checks)}")
    failed = 0
    for number, check in enumerate(checks, 1):
        try:
            check(sys.argv[1])
            print(f"ok {number} - {check.__name__}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"# {error}\nnot ok {number} - {check.__name__}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
