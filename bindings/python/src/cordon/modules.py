"""Calling modules: one JSON value in, one JSON value out, each in a sandbox of its own."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from ._library import CallOptions, ErrorStruct, library, policy_error, strings
from .errors import ModuleError, error_for
from .policy import AnyPolicy, PolicyHandle, document_of
from .result import Result
from .sandbox import Sandbox, variables, waited

_RUNNER = Path(__file__).parent / "_native" / "cordon-module-runner"
_ERROR_MODULE = 8  # CORDON_ERROR_MODULE


class _Call(Sandbox):
    """A sandbox that a call started."""

    def __init__(self, module_id: str, data: bytes, options: CallOptions) -> None:
        self._take_ownership()
        error = ErrorStruct()
        self._handle = library().cordon_call_start(module_id.encode(), data, len(data),
                                                   ctypes.byref(options), ctypes.byref(error))
        if not self._handle:
            refusal = policy_error(error)
            raise ModuleError(str(refusal)) if error.kind == _ERROR_MODULE else refusal


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
    options = CallOptions(size=ctypes.sizeof(CallOptions))
    options.extensions = os.fsencode(extensions) if extensions is not None else None
    options.runner = os.fsencode(_RUNNER) if _RUNNER.is_file() else None
    options.timeout_ms = max(1, round(timeout * 1000)) if timeout is not None else 0
    if env is not None:
        options.env = ctypes.cast(strings(variables(env)), ctypes.POINTER(ctypes.c_char_p))
    handles = [PolicyHandle(document_of(p, None, None)) if p is not None else None for p in (policy, within)]
    try:
        options.policy, options.within = (h.pointer if h is not None else None for h in handles)
        return waited(_Call(module_id, json.dumps(value).encode(), options))
    finally:
        for handle in handles:
            if handle is not None:
                handle.close()
