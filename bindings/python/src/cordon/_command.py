"""
Finds the command `cordon` and runs it. A sandbox begins as a copy of the process that starts it, and
this one may have grown large: the command is small, and has begun before anything is copied.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional

from ._library import INTERFACE, pkg_config
from .errors import CordonError, LibraryError

# Fixed places, as for the library.
_PLACES = (Path(__file__).parent / "_native" / "bin", Path("/usr/local/bin"), Path("/usr/bin"))
# The dictionary beneath: asked for them one by one, os.environ decodes each, to be encoded again.
_OWN_VARIABLES: Mapping[str, str] = getattr(os.environ, "_data", os.environ)
_DEMAND = "CORDON_REQUIRE_ISOLATION"
_LEDGER = b',"enforced":'
_CHUNK = 65536  # all that a pipe holds
_ENDING = (signal.SIGTERM, signal.SIGINT)  # asked a second time the command ends everything at once


def _candidates() -> Iterator[Path]:
    yield from _PLACES
    yield from pkg_config("bindir")


@functools.lru_cache(maxsize=None)
def program() -> str:
    """Where the command is; the same one for the life of the process."""
    for directory in _candidates():
        path = directory / "cordon"
        if os.access(path, os.X_OK):
            return os.fspath(path)
    raise LibraryError("the command cordon is not there: install cordon (make install), or a wheel of "
                       "this package that carries it")


def _memory(data: bytes) -> int:
    """A file without a name that holds these bytes: nobody has to feed a pipe."""
    descriptor = os.memfd_create("cordon")
    try:
        if descriptor < 3:  # this process has closed its own
            import fcntl
            low, descriptor = descriptor, fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
            os.close(low)
        done = 0
        while done < len(data):
            done += os.pwrite(descriptor, data[done:] if done else data, done)
        return descriptor
    except BaseException:
        os.close(descriptor)
        raise


def _with_demand(env: Mapping[str, str]) -> Mapping[str, str]:
    """What this process's own environment demands holds, whatever is offered to the command inside."""
    demand = os.environ.get(_DEMAND, "")
    return env if demand in ("", "0") else {**env, _DEMAND: demand}


class Report(NamedTuple):
    """What the command said."""

    document: Optional[dict[str, Any]]
    words: str             # for a reader: why there is no document, or why nothing ran
    status: Optional[int]  # with them; minus a signal; None: somebody else in this process has taken it
    ledger: bytes = b""    # what is missing in the document as `enforced`, not yet read


def _cut(line: bytes) -> tuple[bytes, bytes]:
    """
    The document without its ledger, and the ledger: two thirds of the text, which few callers look at. What
    comes before it are strings and numbers, and a string holds no bare quote: the first key of that name is it.
    """
    start = line.find(_LEDGER)
    end = line.find(b',"profile":', start)
    return (line[:start] + line[end:], line[start + len(_LEDGER):end]) if 0 < start < end else (line, b"")


def _read(line: str) -> dict[str, Any]:
    """Only what a module returned can hold a number that Python refuses to read: it is no answer then."""
    try:
        document: dict[str, Any] = json.loads(line)
    except ValueError as error:
        document = json.loads(line, parse_int=lambda digits: int(digits[:20]))
        document.update(status="OUTPUT_PARSE_FAILED", rc=65, value=None, reason=f"the value cannot be read: {error}")
    return document


class Sandbox:
    """
    One run of the command. release() belongs to its end; if it is forgotten, what runs inside is
    killed. A copy that a fork left in a child touches nothing.
    """

    _report = _process = -1  # there before __init__() has begun, which an interrupt may prevent

    def __init__(self, verb: str, options: list[str], documents: Mapping[str, Mapping[str, object]],
                 words: list[bytes], data: Optional[bytes], env: Optional[Mapping[str, str]]) -> None:
        self._owner = os.getpid()
        self._chunks: list[bytes] = []
        self._line: Optional[bytes] = None
        self._over = False
        argv: list[Any] = ["cordon", verb, "--json", "--quiet", "--die-with", str(self._owner), *options]
        started: list[int] = []
        try:
            self._start(argv, documents, words, data, env, started)
            self._watch(started[0])
        except BaseException:
            if started and self._process < 0:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(started[0], signal.SIGKILL)
                    os.waitpid(started[0], 0)
            self.release()
            raise

    def _start(self, argv: list[Any], documents: Mapping[str, Mapping[str, object]], words: list[bytes],
               data: Optional[bytes], env: Optional[Mapping[str, str]], started: list[int]) -> None:
        given: list[int] = []
        try:
            self._report, writer = os.pipe()
            given.append(writer)
            actions = [(os.POSIX_SPAWN_DUP2, writer, 1), (os.POSIX_SPAWN_DUP2, writer, 2)]
            if data is None:
                argv += ("--stdin", "none")
            else:
                given.append(_memory(data))
                actions.append((os.POSIX_SPAWN_DUP2, given[-1], 0))
            for option, document in documents.items():
                given.append(_memory(json.dumps(document).encode()))
                actions.append((os.POSIX_SPAWN_DUP2, given[-1], given[-1]))
                argv += (option, f"fd:{given[-1]}")
            # A group of its own: the keys of a terminal are for this process, which passes them on or not.
            spawn = functools.partial(os.posix_spawn, file_actions=actions, setpgroup=0, setsigdef=_ENDING)
            # In one step of the interpreter: an interrupt comes between two, and the number would be lost.
            started.extend(map(spawn, [program()], [[*argv, *words]],
                               [_OWN_VARIABLES if env is None else _with_demand(env)]))
        finally:
            for descriptor in given:
                os.close(descriptor)

    def _watch(self, pid: int) -> None:
        """By a descriptor: its number may be another's as soon as anybody in this process has waited for it."""
        try:
            self._process = os.pidfd_open(pid)
        except ProcessLookupError:
            pass  # over already, and somebody has
        self._events = select.poll()
        for descriptor in self.descriptors():
            self._events.register(descriptor, select.POLLIN)

    def descriptors(self) -> list[int]:
        """When one is readable step() has something to do."""
        return [self._report, self._process] if self._process >= 0 else [self._report]

    def _ready(self, milliseconds: Optional[int]) -> list[int]:
        return [descriptor for descriptor, _ in self._events.poll(milliseconds)]

    def step(self, wait: bool = False) -> bool:
        """
        Takes what has come; true when all has. That is a line with the document, or the end of the
        command: not the end of the pipe alone, for a fork of this process may hold it open.
        """
        ready = self._ready(None if wait and self._process >= 0 else 0)
        if ready == [self._process]:  # it may have written behind the first of the two looks, and ended before the second
            ready = self._ready(0)
        if self._report in ready:
            chunk = os.read(self._report, _CHUNK)
            self._chunks.append(chunk)
            if chunk.endswith(b"\n"):
                self._line = self._document()
            self._over = not chunk or self._line is not None
        else:
            self._over = self._process < 0 or self._process in ready
        return self._over

    def _text(self) -> bytes:
        if len(self._chunks) > 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0] if self._chunks else b""

    def _document(self) -> Optional[bytes]:
        """The last line, if it is one: errors never begin like that."""
        text = self._text()
        last = text.rfind(b"\n", 0, -1) + 1
        return text[last:] if text.startswith(b"{", last) and text.endswith(b"\n") else None

    def finish(self) -> Report:
        """Waits for the result. The command may still be ending: what the caller makes of it is done meanwhile."""
        while not self._over:
            self.step(wait=True)
        line, text = self._line, self._text()
        words = text[:len(text) - len(line or b"")].decode(errors="replace")
        if line is None:
            return Report(None, words, self._wait())
        rest, ledger = _cut(line)
        document = _read(rest.decode())
        version = document["cordon"]["version"]
        if not version.startswith(INTERFACE):
            raise LibraryError(f"{program()} has version {version}, this package needs {INTERFACE}x")
        return Report(document, words, None, ledger)

    def _wait(self) -> Optional[int]:
        if self._process < 0:
            return None
        try:
            ended = os.waitid(os.P_PIDFD, self._process, os.WEXITED)
        except ChildProcessError:
            return None  # somebody in this process waits for every child, and was quicker
        assert ended is not None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def _kill(self) -> None:
        for number in _ENDING:
            try:
                signal.pidfd_send_signal(self._process, number)
            except ProcessLookupError:
                return

    def release(self) -> None:
        """After this there is no process and no descriptor. What was not over ends at once, without a result."""
        if self._report < 0:
            return
        try:
            if self._process >= 0 and self._owner == os.getpid():
                if not self._over:
                    self._kill()
                self._wait()
        except BaseException:  # an interrupt: the end is still waited for, without patience
            self._kill()
            self._wait()
            raise
        finally:
            self._close()

    def _close(self) -> None:
        process, self._process = self._process, -1
        report, self._report = self._report, -1
        try:
            if process >= 0:
                os.close(process)
        finally:
            os.close(report)

    def __del__(self) -> None:
        self.release()


def no_result(report: Report) -> CordonError:
    """The command was ended from outside, or could not write."""
    how = "somebody took its status" if report.status is None else \
        f"signal {-report.status}" if report.status < 0 else f"status {report.status}"
    return CordonError(f"cordon ended without a result ({how}) {report.words}".strip())
