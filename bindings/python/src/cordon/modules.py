"""Calling modules: one JSON value in, one JSON value out, each in a sandbox of its own."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Union

from ._command import Sandbox, no_result
from .errors import CordonError, ModuleError, PolicyError, error_for
from .policy import AnyPolicy, document_of, milliseconds
from .result import Result
from .sandbox import refusal, result_from

# Of cordon-call(1), where nothing ran.
_REFUSALS: dict[Optional[int], type[CordonError]] = {2: PolicyError, 44: ModuleError, None: PolicyError}


def call(module_id: str, value: Any, *, extensions: Union[str, "os.PathLike[str]", None] = None,
         policy: Optional[AnyPolicy] = None, within: Optional[AnyPolicy] = None,
         timeout: Optional[float] = None, env: Optional[Mapping[str, str]] = None) -> Any:
    """
    What the module made of `value`. Anything but an answer is raised: TimeoutError, NonZeroExitError,
    OutputParseError and SpawnError with the result, ModuleError if there is no such module.
    """
    result = call_result(module_id, value, extensions=extensions, policy=policy, within=within,
                         timeout=timeout, env=env)
    if not result.ok:
        raise error_for(result)
    return result.value


def call_result(module_id: str, value: Any, *, extensions: Union[str, "os.PathLike[str]", None] = None,
                policy: Optional[AnyPolicy] = None, within: Optional[AnyPolicy] = None,
                timeout: Optional[float] = None, env: Optional[Mapping[str, str]] = None) -> Result:
    """As call(), with the whole result and no exception for a module that fails."""
    if module_id.startswith("-") or "\0" in module_id:
        raise PolicyError(f"no id of a module: {module_id!r}")
    options = [f"--extensions={os.fspath(extensions)}"] if extensions is not None else []
    if timeout is not None:
        options.append(f"--timeout={milliseconds(timeout)}ms")
    documents = {option: _document(p) for option, p in (("--policy", policy), ("--within", within)) if p is not None}
    sandbox = Sandbox("call", options, documents, [module_id.encode()], json.dumps(value).encode(), env)
    try:
        report = sandbox.finish()
        if report.document is not None:
            return result_from(report, report.document)
    finally:
        sandbox.release()
    kind = _REFUSALS.get(report.status)
    raise kind(refusal(report)) if kind is not None and report.words else no_result(report)


def _document(policy: AnyPolicy) -> dict[str, Any]:
    """Based on the same profile as everywhere in this package, if it names none."""
    document = document_of(policy)
    return {"extends": "stage", **document} if "version" in document else document
