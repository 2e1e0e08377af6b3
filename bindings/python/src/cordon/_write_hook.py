"""
An audit hook that stops writes outside of a project's writable places at the line that tries them.

A nicety: it sees only what Python code asks Python for. Programs that a test starts, C extensions and
threads of other languages go past it. The guard is the kernel's, by `cordon test`.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Callable, ClassVar, List, Optional, Sequence, Set, Tuple

from .result import printable

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Violation(RuntimeError):
    """A test tried to write where it may not."""


@dataclass(frozen=True)
class Attempt:
    """In words that a terminal and a worker's channel take."""

    op: str
    path: str
    test: str
    fix: str


def _located(path: Any, directory: Any = -1) -> Optional[str]:
    """The absolute path that a call means; None: a descriptor, which was judged when it was opened."""
    if isinstance(path, int) or path is None:
        return None
    text = os.fsdecode(path)
    if isinstance(directory, int) and directory >= 0 and not os.path.isabs(text):
        try:
            return os.path.join(os.readlink(f"/proc/self/fd/{directory}"), text)
        except OSError:
            return None  # no descriptor: the call says so itself
    return os.path.abspath(text) if text else None


def _opened(arguments: Tuple[Any, ...]) -> List[Optional[str]]:
    path, mode, flags = arguments
    if mode is None and not os.path.isabs(path):
        return []  # of os.open(), whose dir_fd the event does not have: nobody knows where it starts from
    writes = any(c in mode for c in "wax+") if isinstance(mode, str) else bool(flags & _WRITE_FLAGS)
    located = _located(path) if writes else None
    if located is None or (flags & os.O_TMPFILE != os.O_TMPFILE and os.path.isdir(located)):
        return []  # a directory is EISDIR; tempfile names one first, and then the file
    return [located]


def _first(arguments: Tuple[Any, ...]) -> List[Optional[str]]:
    """The path is the first argument, and the directory it starts from, if any, the last."""
    return [_located(arguments[0], arguments[-1])]


def _made(arguments: Tuple[Any, ...]) -> List[Optional[str]]:
    path = _located(arguments[0], arguments[-1])
    return [] if path is None or os.path.lexists(path) else [path]  # EEXIST is no write


def _both(arguments: Tuple[Any, ...]) -> List[Optional[str]]:
    source, target, source_dir, target_dir = arguments
    return [_located(source, source_dir), _located(target, target_dir)]


def _link(arguments: Tuple[Any, ...]) -> List[Optional[str]]:
    return [_located(arguments[1], arguments[-1])]


def _no_directory(arguments: Tuple[Any, ...]) -> List[Optional[str]]:
    return [_located(arguments[0])]


# event: (words, what it writes to, whether the last component may be a link that is followed)
_EVENTS: dict[str, Tuple[str, Callable[[Tuple[Any, ...]], List[Optional[str]]], bool]] = {
    "open": ("open for writing", _opened, True),
    "os.chmod": ("chmod", _first, True),
    "os.chown": ("chown", _first, True),
    "os.link": ("link", _link, False),
    "os.mkdir": ("mkdir", _made, False),
    "os.remove": ("unlink", _first, False),
    "os.removexattr": ("removexattr", _no_directory, True),
    "os.rename": ("rename", _both, False),
    "os.rmdir": ("rmdir", _first, False),
    "os.setxattr": ("setxattr", _no_directory, True),
    "os.symlink": ("symlink", _link, False),
    "os.truncate": ("truncate", _no_directory, True),
    "os.utime": ("utimes", _first, True),
}


def _beneath(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(os.sep) + os.sep)


def _in_place(path: str, place: str) -> bool:
    """`place` may end with a star."""
    if not place.endswith("*"):
        return _beneath(path, place)
    above, start = os.path.split(place[:-1])
    return _beneath(path, above) and path[len(above.rstrip(os.sep)) + 1:].startswith(start)


def _is_bytecode(real: str) -> bool:
    """Python's own, wherever a module is imported from."""
    directory, name = os.path.split(real)
    if sys.pycache_prefix is not None and _beneath(real, sys.pycache_prefix):
        return True
    return os.path.basename(directory) == "__pycache__" and ".pyc" in name or real.endswith("/__pycache__")


class WriteHook:
    """
    Python keeps an audit hook for ever: this one is switched on and off.

    `writable` places are open as a whole. `temporary` ones, which may have a star in the last
    component, are open but for a project that lies in them.
    """

    watching: ClassVar[Optional["WriteHook"]] = None  # one in a process is enough

    def __init__(self, writable: Sequence[str], temporary: Sequence[str], caches: Sequence[str], root: str) -> None:
        self.writable = [os.path.realpath(w) for w in writable]
        self.temporary = [os.path.realpath(t) for t in temporary]
        self.caches = list(caches)
        self.root = os.path.realpath(root)
        self.extra: List[str] = []
        self.test = ""
        self.attempts: List[Attempt] = []
        self._judging: Set[int] = set()  # threads: what one does to judge is no write, what another does may be
        sys.addaudithook(self._hook)

    def watch(self, test: str, extra: Sequence[str]) -> None:
        self.test, self.extra = test, [os.path.realpath(e) for e in extra]
        WriteHook.watching = self

    def rest(self) -> None:
        WriteHook.watching = None

    def _hook(self, event: str, arguments: Tuple[Any, ...]) -> None:
        __tracebackhide__ = True  # pytest then shows the line that wrote
        if WriteHook.watching is not self:
            return
        found = _EVENTS.get(event)
        if found is None:
            return
        me = threading.get_ident()
        if me in self._judging:
            return
        try:
            self._judging.add(me)
            op, targets, follows = found
            for path in targets(arguments):
                if path is not None and not self._may_write(path, follows):
                    self._refuse(op, path)
        finally:
            self._judging.discard(me)

    def _may_write(self, path: str, follows: bool) -> bool:
        parent = os.path.realpath(os.path.dirname(path))
        real = os.path.realpath(path) if follows else os.path.join(parent, os.path.basename(path))
        if any(_beneath(real, p) for p in [*self.writable, *self.extra]):
            return True
        if real.startswith(("/dev/", "/proc/")) or _is_bytecode(real):
            return True
        return self._is_temporary(real) or self._is_cache(real) or not self._would_work(real)

    def _is_temporary(self, real: str) -> bool:
        return any(_in_place(real, t) and not (_in_place(self.root, t) and _beneath(real, self.root))
                   for t in self.temporary)

    def _is_cache(self, real: str) -> bool:
        if not _beneath(real, self.root):
            return False
        components = os.path.relpath(real, self.root).split(os.sep)
        return any(fnmatchcase(c, pattern) for c in components for pattern in self.caches)

    @staticmethod
    def _would_work(real: str) -> bool:
        """A test may well assert that a write fails: what the system refuses is left to it."""
        return os.access(real if os.path.lexists(real) else os.path.dirname(real), os.W_OK)

    def _refuse(self, op: str, path: str) -> None:
        __tracebackhide__ = True
        attempt = Attempt(op, printable(path), printable(self.test), printable(self._fix(path)))
        self.attempts.append(attempt)
        raise Violation(f"TEST_SANDBOX_VIOLATION: attempted to write to {attempt.path} ({op})\n  fix: {attempt.fix}")

    def _fix(self, path: str) -> str:
        tests = os.path.isdir(os.path.join(self.root, "tests"))
        first = "write under tests/ (tmp_path; else tests/artifacts/)" if tests else "write to tmp_path"
        directory = os.path.dirname(os.path.realpath(path))
        if directory == self.root:
            return first + ', or in a directory that "writable" in cordon.json names'
        if _beneath(directory, self.root):
            return first + f', or add "{directory[len(self.root) + 1:]}" to "writable" in cordon.json'
        return first + f', or open it to this test: @pytest.mark.cordon(writable=["{directory}"])'
