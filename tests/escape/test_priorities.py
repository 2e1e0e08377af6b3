"""Nothing inside comes before those who keep its limits, whatever the caller itself may do."""
import json
import os
import shutil
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, TEST_BIN, outside

ROUNDS = [pytest.param([BIN, "run"], {}, id="native"),
          pytest.param([TEST_BIN, "run", "--allow-partial", "--quiet"], {"CORDON_TEST_DISABLE": "userns,bwrap"}, id="tier2"),
          pytest.param([BIN, "run", "--backend", "bwrap"], {}, id="bwrap",
                       marks=pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bwrap"))]
TRY = """
say([tried(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)), tried(os.setpriority, os.PRIO_PROCESS, 0, -5)])
"""
# A user who may: as members of audio's or realtime's group on many hosts.
RAISED = ["prlimit", "--rtprio=10:10", "--nice=30:30", "--memlock=unlimited"]
LUCKY = [*RAISED, "setpriv", "--reuid=1500", "--regid=1500", "--clear-groups"]
raises = pytest.mark.skipif(not ROOT or subprocess.run([*RAISED, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0,
                            reason="only root gives somebody such limits, and not in every container")


def answer(argv, env):
    p = subprocess.run([*argv, "--", PYTHON, "-c", PRELUDE + TRY], env={**ENV, **env}, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, check=False, cwd="/")
    assert p.returncode == 0, p
    return json.loads(p.stdout)


@raises
@pytest.mark.parametrize("argv, env", ROUNDS)
def test_priorities_that_the_caller_may_take(argv, env):
    assert outside(TRY, wrap=LUCKY, cwd="/").answer == ["ok", "ok"]
    assert set(answer([*LUCKY, *argv], env)) <= {"EPERM", "EACCES"}


@raises
def test_who_keeps_nothing_takes_nothing_away():
    """The suite of a program that needs them passes in `test`, which has no limits."""
    assert answer([*LUCKY, BIN, "run", "--profile", "test", "--cwd", "/"], {}) == ["ok", "ok"]


@pytest.mark.skipif(not ROOT, reason="only root is above all others")
@pytest.mark.parametrize("argv, env", ROUNDS)
def test_a_caller_above_all_others_is_so_alone(argv, env):
    """A command like that on each core would never let go of it: no limit would be kept."""
    code = "say(os.sched_getscheduler(0))"
    above = ["chrt", "-f", "1"]
    assert outside(code, wrap=above).answer == os.SCHED_FIFO
    p = subprocess.run([*above, *argv, "--", PYTHON, "-c", PRELUDE + code], env={**ENV, **env}, stdout=subprocess.PIPE,
                       timeout=60, check=True, cwd="/")
    assert json.loads(p.stdout) == os.SCHED_OTHER


@raises
def test_few_pages_can_be_locked_where_a_watcher_counts():
    """Those of files could not be taken back, and are in no sum of a watcher's."""
    code = "import resource\nsay(resource.getrlimit(resource.RLIMIT_MEMLOCK))"
    assert outside(code, wrap=RAISED).answer == [-1, -1]
    p = subprocess.run([*RAISED, TEST_BIN, "run", "--", PYTHON, "-c", PRELUDE + code], stdout=subprocess.PIPE, check=True,
                       env={**ENV, "CORDON_TEST_DISABLE": "cgroup"})
    assert json.loads(p.stdout) == [8 << 20, 8 << 20]
