"""Results: how a run ended, what was enforced, and what it used."""

from __future__ import annotations

import binascii
import json
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, TypedDict, TypeVar, cast


class SandboxResultV2(TypedDict):
    """What `run_pytests_v2` returns."""

    version: int
    status: str
    rc: int
    reason: str
    stdout: str
    stderr: str
    duration_ms: int
    cmd: List[str]
    traceId: str
    enforced: Dict[str, Any]


@dataclass(frozen=True)
class Enforcement:
    """One line of the ledger: `applied` is what was proven, never what was hoped for."""

    requested: Any
    applied: bool
    mechanism: str
    details: str

    @property
    def missing(self) -> bool:
        """Asked for, and not enforced."""
        return self.requested not in (None, False) and not self.applied


@dataclass(frozen=True)
class Violation:
    """A write that was refused."""

    op: str
    path: str
    comm: str
    rule: str
    count: int
    pid: int = field(compare=False)
    test: Optional[str] = None


@dataclass(frozen=True)
class Usage:
    cpu_ms: int
    max_rss_bytes: Optional[int]
    processes: int


# What happened, in words; the rest of a sentence that begins with the command.
_STORIES = {
    "OK": "ran and ended with 0",
    "TIMEOUT": "was stopped: the time limit was reached",
    "CPU_LIMIT": "was stopped: it used all of its CPU time",
    "MEM_LIMIT": "was stopped: it used more memory than allowed",
    "OUTPUT_LIMIT": "was stopped: it wrote more output than allowed",
    "KILLED_TERM": "was ended by SIGTERM",
    "KILLED_KILL": "was ended by SIGKILL",
    "FORBIDDEN_SYSCALL": "was stopped: it made a system call that is forbidden inside",
    "POLICY_VIOLATION": "tried to change something outside of its writable places",
    "OUTPUT_PARSE_FAILED": "ended well and did not print exactly one JSON value",
    "SPAWN_FAILED": "could not be started",
    "INTERNAL_ERROR": "was not started: the sandbox could not be built as asked",
}


@dataclass(frozen=True)
class Result:
    """
    The result document. Two runs of the same thing compare equal: what differs by nature (trace id,
    duration, usage, process ids) does not count.
    """

    version: int
    status: str
    rc: int
    reason: str
    stdout: str
    stderr: str
    duration_ms: int = field(compare=False)
    cmd: List[str]
    trace_id: str = field(compare=False)
    enforced: Dict[str, Enforcement]
    profile: str
    backend: Dict[str, Any]
    exit: Optional[Dict[str, Any]]
    stdout_bytes: int
    stderr_bytes: int
    stdout_truncated: bool
    stderr_truncated: bool
    usage: Usage = field(compare=False)
    violations: List[Violation]
    warnings: List[str]
    cordon: Dict[str, Any]
    value: Any = None
    module_id: Optional[str] = None
    stdout_data: bytes = field(default=b"", repr=False)
    """The captured bytes as they were, up to the cap; `stdout` is their text."""
    stderr_data: bytes = field(default=b"", repr=False)
    document: Dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    refusal: str = field(default="", compare=False, repr=False)
    """Why nothing ran, and on a second line what to do: for whoever started it, so it is not in the document."""

    @property
    def ok(self) -> bool:
        return self.status == "OK"

    def explain(self) -> str:
        """In plain words: what happened, what was blocked, what was weaker than asked."""
        what = f"module `{self.module_id}`" if self.module_id else f"`{printable(' '.join(self.cmd) or 'nothing')}`"
        lines = [f"{what} {self._story()}, after {self.duration_ms / 1000:.1f} s."]
        if self.refusal:
            lines.append("Reason: " + "\n".join(printable(line) for line in self.refusal.splitlines()))
        elif self.reason:
            lines.append(f"Reason: {printable(self.reason)}")
        if self.module_id and not self.ok and self.stderr.strip():
            lines.append(f"It said: {printable(self.stderr.strip().splitlines()[-1])}")
        for name, entry in self.enforced.items():
            if entry.missing and self.exit:  # else nothing ran
                lines.append(f"Weaker than asked: {name} was not enforced ({printable(entry.details)}).")
        for violation in self.violations:
            where = f" in {printable(violation.test)}" if violation.test else ""
            times = f", {violation.count} times" if violation.count > 1 else ""
            lines.append(f"Blocked: {printable(violation.op)} of {printable(violation.path)} by "
                         f"{printable(violation.comm)}{where}{times}.")
        for stream in ("stdout", "stderr"):
            if getattr(self, f"{stream}_truncated"):
                lines.append(f"{stream} was cut: {getattr(self, f'{stream}_bytes')} bytes were written.")
        lines += [f"Warning: {printable(w)}" for w in self.warnings]
        return "\n".join(lines)

    def _story(self) -> str:
        end = self.exit or {}
        if self.status == "NONZERO_EXIT":
            return f"ran and ended with {end.get('code', self.rc)}"
        if self.status == "SIGNALED":
            return f"was ended by signal {end.get('signal', self.rc - 128)}"
        return _STORIES.get(self.status, f"ended with the status {self.status}")


_Made = TypeVar("_Made")


def printable(text: str) -> str:
    """Foreign text must not move the reader's cursor."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _stream(document: Mapping[str, Any], name: str) -> bytes:
    """The captured bytes. They are the beginning of the text, unless it cannot hold them."""
    exact = document.get(f"{name}_base64")
    if exact is not None:
        return binascii.a2b_base64(exact)
    data: bytes = document[name].encode()
    if document[f"{name}_truncated"]:
        kept = data.rpartition(b"[TRUNCATED] ")[2].split()[0]
        data = data[:int(kept)]
    return data


def _made(kind: Type[_Made], values: Mapping[str, Any]) -> _Made:
    """As kind(**values), all at once: a frozen dataclass calls a function for each of its fields."""
    made = object.__new__(kind)
    made.__dict__.update(values)
    return made


class _Late:
    """A field that is made when somebody asks for it. What is in the object itself comes first."""

    def __init__(self, name: str, make: Callable[[Result], Any]) -> None:
        self._name, self._make = name, make

    def __get__(self, result: Optional[Result], _: object) -> Any:
        if result is None:
            raise AttributeError(self._name)
        return result.__dict__.setdefault(self._name, self._make(result))  # the same one for every thread


def _document(result: Result) -> Dict[str, Any]:
    """With the ledger in its place."""
    rest, ledger = result.__dict__["_parts"]
    if not ledger:
        return cast(Dict[str, Any], rest)
    whole = {}
    for name, value in rest.items():
        if name == "profile":
            whole["enforced"] = json.loads(ledger)
        whole[name] = value
    return whole


def _enforced(result: Result) -> Dict[str, Enforcement]:
    return {name: _made(Enforcement, entry) for name, entry in result.document["enforced"].items()}


# Behind the dataclass's back, which would take them for defaults.
setattr(Result, "document", _Late("document", _document))
setattr(Result, "enforced", _Late("enforced", _enforced))


def result_of(document: Dict[str, Any], refusal: str = "", ledger: bytes = b"") -> Result:
    """The dataclass of a result document, the ledger of which may be beside it."""
    d = document
    made = object.__new__(Result)
    object.__setattr__(made, "__dict__", {
        "version": d["version"], "status": d["status"], "rc": d["rc"], "reason": d["reason"],
        "stdout": d["stdout"], "stderr": d["stderr"], "duration_ms": d["duration_ms"], "cmd": d["cmd"],
        "trace_id": d["traceId"], "profile": d["profile"], "backend": d["backend"], "exit": d["exit"],
        "stdout_bytes": d["stdout_bytes"], "stderr_bytes": d["stderr_bytes"],
        "stdout_truncated": d["stdout_truncated"], "stderr_truncated": d["stderr_truncated"],
        "usage": _made(Usage, d["usage"]), "violations": [_made(Violation, v) for v in d["violations"]],
        "warnings": d["warnings"], "cordon": d["cordon"], "value": d.get("value"), "module_id": d.get("module_id"),
        "stdout_data": _stream(d, "stdout"), "stderr_data": _stream(d, "stderr"), "refusal": refusal,
        "_parts": (d, ledger)})
    return made


def v2_of(result: Result) -> SandboxResultV2:
    """The same in the shape of `run_pytests_v2`; if nothing ran, with the words that say why and what to do."""
    return SandboxResultV2(
        version=result.version, status=result.status, rc=result.rc, reason=result.refusal or result.reason,
        stdout=result.stdout, stderr=result.stderr, duration_ms=result.duration_ms, cmd=result.cmd,
        traceId=result.trace_id, enforced=result.document["enforced"])
