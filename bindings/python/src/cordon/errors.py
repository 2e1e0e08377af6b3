"""
What can go wrong. Every exception of this package is a CordonError, or an OSError: of a Root, or where no
process can be started. An argument of a wrong type, or one that says nothing, is a TypeError or a ValueError.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import Result


class CordonError(Exception):
    """The base of this package's own exceptions."""


class LibraryError(CordonError, ImportError):
    """libcordon or the command was not found, or is of another version."""


class PolicyError(CordonError, ValueError):
    """The policy, or an argument, is malformed or contradicts itself. Nothing ran."""


class ModuleError(CordonError, LookupError):
    """There is no such module, or its manifest is wrong. Nothing ran."""


class SandboxError(CordonError):
    """A run that did not end well, for callers who want an exception; `result` says all of it."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.explain())
        self.result = result

    def __reduce__(self) -> tuple[type[SandboxError], tuple[Result]]:
        return type(self), (self.result,)


class TimeoutError(SandboxError, builtins.TimeoutError):
    """The wall-clock limit was reached."""


class NonZeroExitError(SandboxError):
    """The command ran and did not end with 0: an exit code, a signal, a limit or a violation."""


class OutputParseError(SandboxError):
    """A module ended well and did not print exactly one JSON value."""


class SpawnError(SandboxError):
    """The command could not be started, or the sandbox could not be built. Nothing ran."""


_BY_STATUS: dict[str, type[SandboxError]] = {
    "TIMEOUT": TimeoutError,
    "OUTPUT_PARSE_FAILED": OutputParseError,
    "SPAWN_FAILED": SpawnError,
    "INTERNAL_ERROR": SpawnError,
}


def error_for(result: Result) -> SandboxError:
    """The exception that stands for a result which is not OK."""
    return _BY_STATUS.get(result.status, NonZeroExitError)(result)
