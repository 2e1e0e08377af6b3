"""Signals, priorities and limits of processes outside, by their number."""
import subprocess

import pytest

from support import inside, outside

CODE = """
import resource
say([tried(os.kill, {pid}, 0), tried(os.getpgid, {pid}),
     tried(os.sched_setaffinity, {pid}, [0]), tried(resource.prlimit, {pid}, resource.RLIMIT_CPU),
     tried(lambda: open('/proc/{pid}/cmdline')), tried(os.setpriority, 0, {pid}, 19)])
"""


@pytest.mark.parametrize("options", [[], ["--seccomp", "off", "--allow-partial"],
                                     ["--net", "host"]])
def test_signals_outside(options):
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            assert outside(CODE.format(pid=other.pid)).answer[0] == "ok"
            r = inside(CODE.format(pid=other.pid), *options).answer
            for why in r:
                assert why in ("ESRCH", "ENOENT", "EPERM", "ENOSYS"), r
        finally:
            other.kill()
