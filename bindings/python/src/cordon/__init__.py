"""
A sandbox for code that you do not trust.

    >>> import cordon
    >>> result = cordon.run(["python3", "-c", "print(6 * 7)"])
    >>> result.status, result.stdout
    ('OK', '42\\n')

run() and run_async() run a command under a policy, Root is a directory that cannot be left, call()
runs a module, doctor() tells what this host can enforce. cordon(1) and its pages say the rest.
"""

from .errors import (CordonError, LibraryError, ModuleError, NonZeroExitError, OutputParseError, PolicyError,
                     SandboxError, SpawnError, TimeoutError)
from .host import doctor
from .modules import call, call_result
from .policy import (UNLIMITED, Bind, Environment, Files, Limits, Policy, Process, SandboxPolicy,
                     Unlimited)
from .pytests import run_pytests, run_pytests_v2
from .result import Enforcement, Result, SandboxResultV2, Usage, Violation
from .root import Denial, Entry, Event, Locked, Root, Stat, Tool, Watch
from .sandbox import run, run_async

__version__ = "0.1.0"

__all__ = [
    "UNLIMITED", "Bind", "CordonError", "Denial", "Enforcement", "Entry", "Environment", "Event", "Files",
    "LibraryError", "Limits", "Locked", "ModuleError", "NonZeroExitError", "OutputParseError", "Policy", "PolicyError",
    "Process", "Result", "Root", "SandboxError", "SandboxPolicy", "SandboxResultV2", "SpawnError",
    "Stat", "TimeoutError", "Tool", "Unlimited", "Usage", "Violation", "Watch", "call", "call_result", "doctor", "run",
    "run_async", "run_pytests", "run_pytests_v2",
]
