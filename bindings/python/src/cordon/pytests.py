"""`run_pytests` and `run_pytests_v2`: a test run under limits."""

from __future__ import annotations

import os
import sys
from typing import List, Optional, Sequence, Tuple, Union

from .policy import SandboxPolicy
from .result import SandboxResultV2, v2_of
from .sandbox import run

_Path = Union[str, "os.PathLike[str]"]


def _nothing_to_run() -> SandboxResultV2:
    return SandboxResultV2(version=2, status="INTERNAL_ERROR", rc=1, reason="no test paths were given",
                           stdout="", stderr="", duration_ms=0, cmd=[], traceId=os.urandom(16).hex(),
                           enforced={})


def run_pytests_v2(paths: Sequence[_Path], policy: Optional[SandboxPolicy] = None) -> SandboxResultV2:
    """
    Runs pytest on the paths, under the profile `limits`: only the working directory and a
    private /tmp can be written, with limits on time, memory, processes, files and output.
    """
    if isinstance(paths, (str, bytes)):
        raise TypeError("the paths are a list")
    if not paths:
        return _nothing_to_run()
    # The package's own plugin would name writes to the working directory, which are allowed here.
    command = [sys.executable, "-m", "pytest", "-q", "-o", "cordon_guard=off", *(os.fspath(path) for path in paths)]
    return v2_of(run(command, policy if policy is not None else SandboxPolicy()))


def run_pytests(paths: List[str], timeout_s: int = 60) -> Tuple[int, str]:
    """The older call: the return code, and a line about the run before stdout and stderr."""
    result = run_pytests_v2(paths, SandboxPolicy(wall_time_s=timeout_s, cpu_time_s=timeout_s))
    head = (f"cordon: status={result['status']} rc={result['rc']} "
            f"duration_ms={result['duration_ms']} traceId={result['traceId']}")
    reason = [result["reason"]] if result["reason"] else []
    return result["rc"], "\n".join([head, *reason, result["stdout"] + result["stderr"]])
