"""Running a command: run() waits for it, run_async() lets the event loop go on."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import select
from typing import Mapping, Optional, Sequence, Union

from ._library import ErrorStruct, RunOptions, library, policy_error, strings
from .errors import error_for
from .policy import AnyPolicy, PolicyHandle, document_of
from .result import Result, result_of

Word = Union[str, bytes, "os.PathLike[str]"]


def _words(cmd: Sequence[Word]) -> list[bytes]:
    if isinstance(cmd, (str, bytes)):
        raise TypeError("the command is a list of words; for a shell write ['sh', '-c', text]")
    words = [os.fsencode(word) for word in cmd]
    if not words:
        raise ValueError("the command is empty")
    if any(b"\0" in word for word in words):
        raise ValueError("a word of the command holds a NUL")
    return words


def variables(env: Mapping[str, str]) -> list[bytes]:
    return [os.fsencode(f"{name}={value}") for name, value in env.items()]


class Sandbox:
    """
    One run of the library's. It ends with finish(); if it is forgotten instead, what runs inside is
    killed. A copy that a fork left in a child touches nothing.
    """

    _handle: Optional[int]

    def __init__(self, cmd: Sequence[Word], policy: Mapping[str, object], data: Optional[bytes],
                 env: Optional[Mapping[str, str]], trace_id: Optional[str]) -> None:
        self._take_ownership()
        words = _words(cmd)
        options = RunOptions()
        if data is not None:
            options.input, options.input_len = data, len(data)
        if env is not None:
            options.env = ctypes.cast(strings(variables(env)), ctypes.POINTER(ctypes.c_char_p))
        if trace_id is not None:
            options.trace_id = trace_id.encode()
        error = ErrorStruct()
        rules = PolicyHandle(policy)
        try:
            self._handle = library().cordon_start(rules.pointer, strings(words), ctypes.byref(options),
                                                  ctypes.byref(error))
        finally:
            rules.close()
        if not self._handle:
            raise policy_error(error)

    def _take_ownership(self) -> None:
        self._handle = None
        self._owner = os.getpid()

    def fileno(self) -> int:
        """Readable when step() has something to do; -1 once the run is over."""
        return int(library().cordon_sandbox_fd(self._handle))

    def step(self) -> bool:
        """Does what is to be done and never blocks; true when the run is over."""
        return bool(library().cordon_sandbox_step(self._handle))

    def kill(self) -> None:
        library().cordon_sandbox_kill(self._handle)

    def finish(self) -> Result:
        """Waits for the end and gives the result."""
        handle, self._handle = self._handle, None
        lib = library()
        result = lib.cordon_sandbox_wait(handle)
        if not result:
            raise MemoryError
        try:
            document = json.loads(lib.cordon_result_json(result))
            return result_of(document, _stream(lib.cordon_result_stdout, result),
                             _stream(lib.cordon_result_stderr, result))
        finally:
            lib.cordon_result_free(result)

    def abandon(self) -> None:
        """Ends everything inside at once and forgets the result."""
        if self._handle and self._owner == os.getpid():
            self.kill()
            handle, self._handle = self._handle, None
            library().cordon_result_free(library().cordon_sandbox_wait(handle))

    def __del__(self) -> None:
        self.abandon()


def _stream(function: object, result: int) -> bytes:
    length = ctypes.c_size_t()
    data = function(result, ctypes.byref(length))  # type: ignore[operator]
    return ctypes.string_at(data, length.value) if data else b""


def _input_bytes(data: Union[str, bytes, None]) -> Optional[bytes]:
    return data.encode() if isinstance(data, str) else data


def _checked(result: Result, check: bool) -> Result:
    if check and not result.ok:
        raise error_for(result)
    return result


def run(cmd: Sequence[Word], policy: Optional[AnyPolicy] = None, *, profile: Optional[str] = None,
        input: Union[str, bytes, None] = None, timeout: Optional[float] = None,
        env: Optional[Mapping[str, str]] = None, trace_id: Optional[str] = None,
        check: bool = False) -> Result:
    """
    Runs a command in a sandbox and waits for it.

    Without a policy the profile `stage` holds: no network, no files of the caller's, 30 s. `input`
    is its standard input, `timeout` the wall-clock limit in seconds, `env` the environment of which
    the policy passes a part (default: this process's). With `check` anything but OK is raised.
    """
    sandbox = Sandbox(cmd, document_of(policy, profile, timeout), _input_bytes(input), env, trace_id)
    return _checked(waited(sandbox), check)


def waited(sandbox: Sandbox) -> Result:
    """The end of a run; an exception meanwhile ends it."""
    try:
        # In Python and not in C, so that Ctrl-C and other signal handlers run meanwhile.
        while not sandbox.step():
            waiting = select.poll()
            waiting.register(sandbox.fileno(), select.POLLIN)
            waiting.poll()
        return sandbox.finish()
    finally:
        sandbox.abandon()


async def run_async(cmd: Sequence[Word], policy: Optional[AnyPolicy] = None, *,
                    profile: Optional[str] = None, input: Union[str, bytes, None] = None,
                    timeout: Optional[float] = None, env: Optional[Mapping[str, str]] = None,
                    trace_id: Optional[str] = None, check: bool = False) -> Result:
    """As run(), beside other tasks. Cancelling it ends everything inside."""
    loop = asyncio.get_running_loop()
    sandbox = Sandbox(cmd, document_of(policy, profile, timeout), _input_bytes(input), env, trace_id)
    try:
        if not sandbox.step():
            await _end_of(sandbox, loop)
        return _checked(sandbox.finish(), check)
    finally:
        sandbox.abandon()


async def _end_of(sandbox: Sandbox, loop: asyncio.AbstractEventLoop) -> None:
    over: asyncio.Future[None] = loop.create_future()
    descriptor = sandbox.fileno()

    def ready() -> None:
        if not over.done() and sandbox.step():
            over.set_result(None)

    loop.add_reader(descriptor, ready)
    try:
        await over
    finally:
        loop.remove_reader(descriptor)
