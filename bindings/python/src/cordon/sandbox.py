"""Running a command: run() waits for it, run_async() lets the event loop go on."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any, Mapping, Optional, Sequence, Union

from ._command import Report, Sandbox, no_result
from .errors import PolicyError, error_for
from .policy import AnyPolicy, document_of, milliseconds
from .result import Result, result_of

_NOTHING_ASKED = {"version": 1}  # which needs no words
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


def start(cmd: Sequence[Word], policy: Mapping[str, object], data: Union[str, bytes, None] = None,
          env: Optional[Mapping[str, str]] = None, trace_id: Optional[str] = None,
          timeout: Optional[float] = None) -> Sandbox:
    """A run under way."""
    options = ["--trace-id", trace_id] if trace_id is not None else []
    if timeout is not None:
        options.append(f"--wall={milliseconds(timeout)}ms")
    documents = {"--policy": policy} if policy != _NOTHING_ASKED else {}
    return Sandbox("run", options, documents, [b"--", *_words(cmd)],
                   data.encode() if isinstance(data, str) else data, env)


def refusal(report: Report) -> str:
    """The command's words for why nothing ran: without its name, and without those of our descriptors."""
    words = report.words.strip().partition("cordon: ")[2]
    return re.sub(r" 'fd:\d+'|(?<= ')fd:\d+#", "", words, count=1)


def result_from(report: Report, document: dict[str, Any]) -> Result:
    """If nothing ran, with the command's words for that."""
    return result_of(document, refusal(report) if document["exit"] is None else "", report.ledger)


def conclude(sandbox: Sandbox, check: bool) -> Result:
    report = sandbox.finish()
    if report.document is None:
        raise PolicyError(refusal(report)) if report.status in (2, None) and report.words else no_result(report)
    result = result_from(report, report.document)
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
    sandbox = start(cmd, document_of(policy, profile), input, env, trace_id, timeout)
    try:
        return conclude(sandbox, check)
    finally:
        sandbox.release()


async def run_async(cmd: Sequence[Word], policy: Optional[AnyPolicy] = None, *,
                    profile: Optional[str] = None, input: Union[str, bytes, None] = None,
                    timeout: Optional[float] = None, env: Optional[Mapping[str, str]] = None,
                    trace_id: Optional[str] = None, check: bool = False) -> Result:
    """As run(), beside other tasks. Cancelling it ends everything inside."""
    sandbox = start(cmd, document_of(policy, profile), input, env, trace_id, timeout)
    try:
        if not sandbox.step():
            await _end_of(sandbox)
        return conclude(sandbox, check)
    finally:
        sandbox.release()


async def _end_of(sandbox: Sandbox) -> None:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    descriptors = sandbox.descriptors()

    def ready() -> None:
        if not over.done() and sandbox.step():
            over.set_result(None)

    for descriptor in descriptors:
        loop.add_reader(descriptor, ready)
    try:
        await over
    finally:
        for descriptor in descriptors:
            loop.remove_reader(descriptor)
