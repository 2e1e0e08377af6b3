"""
Finds the command `cordon` and runs it. A sandbox begins as a copy of the process that starts it, and
this one may have grown large: the command is small, and has begun before anything is copied.
"""

from __future__ import annotations

import functools
import json
import os
import signal
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional

from ._library import INTERFACE, pkg_config
from .errors import CordonError, LibraryError

# Fixed places, as for the library.
_PLACES = (Path(__file__).parent / "_native" / "bin", Path("/usr/local/bin"), Path("/usr/bin"))
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


class Report(NamedTuple):
    """What the command left."""

    document: Optional[dict[str, Any]]
    words: str             # for a reader, if there is no document
    status: Optional[int]  # minus a signal; None: somebody else in this process has taken it


class Sandbox:
    """
    One run of the command. It ends with finish(); if it is forgotten instead, what runs inside is
    killed. A copy that a fork left in a child touches nothing.
    """

    def __init__(self, verb: str, options: list[str], documents: Mapping[str, Mapping[str, object]],
                 words: list[bytes], data: Optional[bytes], env: Optional[Mapping[str, str]]) -> None:
        self._owner = os.getpid()
        self._report = self._process = -1
        self._status: Optional[int] = None
        argv: list[Any] = ["cordon", verb, "--json", "--quiet", "--die-with", str(self._owner), *options]
        given: list[int] = []
        try:
            self._report = _memory(b"")
            actions = [(os.POSIX_SPAWN_DUP2, self._report, 1), (os.POSIX_SPAWN_DUP2, self._report, 2)]
            if data is None:
                argv += ("--stdin", "none")
            else:
                given.append(_memory(data))
                actions.append((os.POSIX_SPAWN_DUP2, given[0], 0))
            for option, document in documents.items():
                given.append(_memory(json.dumps(document).encode()))
                actions.append((os.POSIX_SPAWN_DUP2, given[-1], given[-1]))
                argv += (option, f"fd:{given[-1]}")
            # A group of its own: the keys of a terminal are for this process, which passes them on or not.
            pid = os.posix_spawn(program(), [*argv, *words], os.environ if env is None else env,
                                 file_actions=actions, setpgroup=0, setsigdef=_ENDING)
        except BaseException:
            self._close()
            raise
        finally:
            for descriptor in given:
                os.close(descriptor)
        self._watch(pid)

    def _watch(self, pid: int) -> None:
        """By a descriptor: its number may be another's as soon as anybody in this process has waited for it."""
        try:
            self._process = os.pidfd_open(pid)
        except ProcessLookupError:
            pass  # over already, and somebody has
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._close()
            raise

    def fileno(self) -> int:
        """Readable when the run is over; -1 if it was from the start."""
        return self._process

    def wait(self) -> None:
        """In Python's own call, so that Ctrl-C and other signal handlers run meanwhile."""
        if self._process < 0:
            return
        try:
            ended = os.waitid(os.P_PIDFD, self._process, os.WEXITED)
        except ChildProcessError:
            return  # somebody in this process waits for every child, and was quicker
        if ended is not None:
            self._status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def finish(self) -> Report:
        """Waits for the end and gives what there is."""
        self.wait()
        text = os.pread(self._report, os.fstat(self._report).st_size, 0)
        self._close()
        last = text.rfind(b"\n", 0, -1) + 1  # the document is one line, and nothing comes after it
        if text[last:last + 1] != b"{":
            return Report(None, text.decode(errors="replace"), self._status)
        document: dict[str, Any] = json.loads(text[last:])
        version = document["cordon"]["version"]
        if not version.startswith(INTERFACE):
            raise LibraryError(f"{program()} has version {version}, this package needs {INTERFACE}x")
        return Report(document, "", self._status)

    def kill(self) -> None:
        for number in _ENDING:
            try:
                signal.pidfd_send_signal(self._process, number)
            except ProcessLookupError:
                return

    def abandon(self) -> None:
        """Ends everything inside at once and forgets the result."""
        if self._report < 0:
            return
        try:
            if self._process >= 0 and self._owner == os.getpid():
                self.kill()
                self.wait()
        finally:
            self._close()

    def _close(self) -> None:
        descriptors = self._report, self._process
        self._report = self._process = -1
        for descriptor in descriptors:
            if descriptor >= 0:
                os.close(descriptor)

    def __del__(self) -> None:
        self.abandon()


def no_result(report: Report) -> CordonError:
    """The command was ended from outside, or could not write."""
    how = "somebody took its status" if report.status is None else \
        f"signal {-report.status}" if report.status < 0 else f"status {report.status}"
    return CordonError(f"cordon ended without a result ({how}) {report.words}".strip())
