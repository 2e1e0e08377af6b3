"""Policies: what a sandbox may do. The fields are those of the document (cordon-policy(5))."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Sequence, Union

from ._library import ErrorStruct, library, policy_error, take_text


class Unlimited:
    """The type of UNLIMITED: no limit, which is not the same as the profile's own."""

    def __repr__(self) -> str:
        return "cordon.UNLIMITED"


UNLIMITED = Unlimited()

Limit = Union[int, Unlimited, None]


@dataclass(frozen=True)
class Bind:
    """A file or directory of the host that appears inside."""

    host: str
    sandbox: Optional[str] = None
    optional: Optional[bool] = None


@dataclass(frozen=True)
class Files:
    mode: Optional[str] = None
    system_ro: Optional[bool] = None
    rw: Optional[Sequence[Union[str, Bind]]] = None
    ro: Optional[Sequence[Union[str, Bind]]] = None
    hide: Optional[Sequence[str]] = None
    work: Union[str, Bind, None] = None
    tmp_bytes: Limit = None
    private_tmp: Optional[bool] = None
    rw_cwd: Optional[bool] = None
    protect: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class Environment:
    allow: Optional[Sequence[str]] = None
    deny: Optional[Sequence[str]] = None
    set: Optional[Mapping[str, str]] = None
    default: Optional[Mapping[str, str]] = None
    inherit: Optional[bool] = None


@dataclass(frozen=True)
class Limits:
    wall_ms: Limit = None
    cpu_ms: Limit = None
    mem_bytes: Limit = None
    pids: Limit = None
    nofile: Limit = None
    output_bytes: Limit = None
    on_overflow: Optional[str] = None
    grace_ms: Limit = None
    cpus: Union[float, Unlimited, None] = None


@dataclass(frozen=True)
class Process:
    uid: Optional[str] = None
    seccomp: Optional[str] = None
    on_forbidden: Optional[str] = None
    cwd: Optional[str] = None


def _document(value: Any) -> Any:
    """The JSON form of a value: a field that is None was not given."""
    if isinstance(value, Unlimited):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {name: _document(v) for name, v in pairs if v is not None}
    if isinstance(value, Mapping):
        return {str(k): _document(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_document(v) for v in value]
    return value


@dataclass(frozen=True)
class Policy:
    """What is asked for beyond the profile. A field that is None is the profile's own."""

    extends: Optional[str] = None
    fs: Files = field(default_factory=Files)
    net: Optional[str] = None
    env: Environment = field(default_factory=Environment)
    limits: Limits = field(default_factory=Limits)
    proc: Process = field(default_factory=Process)
    backend: Optional[str] = None
    require: Optional[Sequence[str]] = None
    allow_partial: Optional[bool] = None

    def document(self) -> dict[str, Any]:
        """The version 1 document of what was given here."""
        body = _document(self)
        return {"version": 1, **{k: v for k, v in body.items() if v != {}}}

    def normalized(self) -> dict[str, Any]:
        """The whole document, with everything that the profile adds, as cordon reads it."""
        handle = PolicyHandle(self.document())
        try:
            normal: dict[str, Any] = json.loads(take_text(library().cordon_policy_json(handle.pointer)))
            return normal
        finally:
            handle.close()


@dataclass
class SandboxPolicy:
    """The policy of `run_pytests_v2`: the `limits` profile with these numbers."""

    wall_time_s: int = 30
    cpu_time_s: int = 20
    mem_bytes: int = 512 * 2**20
    pids_max: int = 32
    nofile: int = 512
    output_bytes: int = 1 * 2**20
    enforce_network: bool = False
    allow_partial: bool = False

    def document(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


AnyPolicy = Union[Policy, SandboxPolicy, Mapping[str, Any], str]


def milliseconds(timeout: float) -> int:
    if not 0 < timeout < math.inf:
        raise ValueError(f"{timeout!r} is no time limit: it is in seconds, and above 0")
    return max(1, round(timeout * 1000))


def document_of(policy: Optional[AnyPolicy], profile: Optional[str] = None) -> dict[str, Any]:
    """One document of what the caller named in two ways."""
    if policy is None:
        document: dict[str, Any] = {"version": 1}
    elif isinstance(policy, (Policy, SandboxPolicy)):
        document = policy.document()
    elif isinstance(policy, str):  # a profile's name
        document = {"version": 1, "extends": policy}
    else:
        document = dict(policy)
    if profile is not None:
        if "version" not in document:
            raise ValueError("a policy without a version has its profile already")
        if document.get("extends", profile) != profile:
            raise ValueError(f"the policy extends {document['extends']!r}, not {profile!r}")
        document["extends"] = profile
    return document


class PolicyHandle:
    """A policy of the library's."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        text = json.dumps(document).encode()
        error = ErrorStruct()
        self.pointer: Optional[int] = library().cordon_policy_parse(text, len(text), ctypes.byref(error))
        if not self.pointer:
            raise policy_error(error)

    def close(self) -> None:
        if self.pointer:
            library().cordon_policy_free(self.pointer)
        self.pointer = None
