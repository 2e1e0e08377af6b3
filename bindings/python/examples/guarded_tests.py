"""
A test suite under limits, by `run_pytests_v2`: it may write beneath its own directory and
nowhere else, and gets 20 s and 256 MiB.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import cordon

SUITE = '''
def test_adds():
    assert 2 + 2 == 4

def test_eats_real_data():
    open("/etc/hosts", "a").write("oops")
'''


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        Path("test_suite.py").write_text(SUITE)
        policy = cordon.SandboxPolicy(wall_time_s=20, mem_bytes=256 << 20)
        result = cordon.run_pytests_v2(["test_suite.py"], policy)
        os.chdir("/")
    print(*result["stdout"].strip().splitlines()[-1:])
    print(f"{result['status']}, return code {result['rc']}: {result['reason']}")
    print("files:", result["enforced"]["filesystem"]["mechanism"])
    print(result["stderr"], end="", file=sys.stderr)
    return 0 if "1 failed, 1 passed" in result["stdout"] else 1


if __name__ == "__main__":
    sys.exit(main())
