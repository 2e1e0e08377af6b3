"""The implicit writable directory is never a home, whatever $HOME says, and nothing above one."""
import os
import pwd
import subprocess

import pytest

from support import BIN, ENV

HOME = pwd.getpwuid(os.getuid()).pw_dir


def agent(cwd, env):
    p = subprocess.run([BIN, "run", "--profile", "agent", "--", "true"], cwd=cwd, env=env,
                       stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return p.returncode


@pytest.mark.skipif(not os.path.isdir(HOME) or not os.access(HOME, os.W_OK),
                    reason="this user has no home directory")
def test_home_by_any_name(place):
    plain = {k: v for k, v in ENV.items() if k != "HOME"}
    assert agent(place, {**plain, "HOME": HOME}) == 0, "the control: another directory is fine"
    for env in ({**plain, "HOME": HOME}, {**plain, "HOME": "/nonexistent"}, plain,
                {**plain, "HOME": f"{place}/link"}):
        (place / "link").unlink(missing_ok=True)
        (place / "link").symlink_to(HOME)
        assert agent(HOME, env) == 2, env.get("HOME")


def test_a_directory_above_the_home(place):
    (place / "homes/me").mkdir(parents=True)
    assert agent(place / "homes", {**ENV, "HOME": f"{place}/homes/me"}) == 2
