"""A directory, and file operations in it that cannot be led out of it, whoever changes it meanwhile."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import os
import stat as stat_module
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Optional, Sequence, Union

from . import _root_library as native
from ._library import library, strings
from .policy import milliseconds

PathLike = Union[str, "os.PathLike[str]"]
_SLICE = 0.2  # seconds: how long a wait is deaf to Ctrl-C
Progress = Callable[[int, int], bool]
"""Gets the entries and bytes done so far; returning False stops the call."""


class Locked(OSError):
    """The path is locked by somebody else."""


@dataclass(frozen=True)
class Stat:
    """As os.stat_result, of which it has the names that matter."""

    st_mode: int
    st_ino: int
    st_dev: int
    st_nlink: int
    st_uid: int
    st_gid: int
    st_size: int
    st_blksize: int
    st_blocks: int
    st_rdev: int
    st_atime: float
    st_mtime: float
    st_ctime: float
    st_birthtime: float

    def is_dir(self) -> bool:
        return stat_module.S_ISDIR(self.st_mode)

    def is_file(self) -> bool:
        return stat_module.S_ISREG(self.st_mode)

    def is_symlink(self) -> bool:
        return stat_module.S_ISLNK(self.st_mode)


@dataclass(frozen=True)
class Entry:
    """One name of a directory. `size`, `mtime` and `target` are only filled by listing()."""

    name: str
    parent: str
    type: str
    size: int = 0
    mtime: float = 0.0
    target: Optional[str] = None

    def is_dir(self) -> bool:
        return self.type == "d"

    def is_file(self) -> bool:
        return self.type == "f"

    def is_symlink(self) -> bool:
        return self.type == "l"


@dataclass(frozen=True)
class Event:
    """Something changed: add, addDir, change, unlink or unlinkDir."""

    event: str
    name: str
    stat: Optional[Stat] = None
    patch: Optional[str] = None


@dataclass(frozen=True)
class Tool:
    """What a tool said; its exit code is no error. `truncated`: it took too long or wrote too much."""

    stdout: bytes
    stderr: bytes
    code: int
    truncated: bool


@dataclass(frozen=True)
class Denial:
    """A refusal, as it goes into a log: made of the request alone."""

    method: str
    mode: str
    path: str
    code: str
    message: str


def _text(value: Optional[bytes]) -> str:
    return os.fsdecode(value or b"")


def _bytes(path: PathLike) -> bytes:
    """As the library takes it, which would end it at a null byte."""
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


def _plain(data: bytes) -> bytes:
    """The library takes bytes; every type checker lets a bytearray and a memoryview pass as such."""
    return data if isinstance(data, bytes) else bytes(memoryview(data))


def _whole(value: int, bits: int = 64) -> int:
    """ctypes would cut a number that does not fit, and truncate() would then cut the file."""
    if not 0 <= operator.index(value) < 1 << bits:
        raise OverflowError(f"{value} does not fit {bits} bits without a sign")
    return value


def _ms(seconds: float, bits: int = 64) -> int:
    return _whole(int(seconds * 1000), bits)


def _raise(error: native.Error) -> None:
    code = _text(error.code)
    message = _text(error.message)
    path = _text(error.path) if error.has_path else None
    dest = _text(error.dest) if error.has_dest else None
    number = -error.errnum
    prefix = f"{code}: "
    reason = message
    if message.startswith(prefix):  # the system's words: OSError says the path itself
        reason = message[len(prefix):].split(f", {_text(error.syscall)}")[0]
    if code == "LOCK":
        raised: OSError = Locked(number or None, reason, path)
    else:  # OSError makes FileNotFoundError and the others of the number
        raised = OSError(number or None, reason, path, None, dest)
    raised.code = code  # type: ignore[attr-defined]
    raised.syscall = _text(error.syscall)  # type: ignore[attr-defined]
    raise raised


def _content(data: native.Data) -> bytes:
    """A copy. string_at() counts with an int, and would give the rest of a division by its range."""
    if not data.data:
        return b""
    if data.len < 1 << 31:
        return ctypes.string_at(data.data, data.len)
    return bytes((ctypes.c_char * data.len).from_address(data.data))


def _stat_of(raw: native.Stat) -> Stat:
    return Stat(raw.mode, raw.ino, raw.dev, raw.nlink, raw.uid, raw.gid, raw.size, raw.blksize,
                raw.blocks, raw.rdev, raw.atime_ms / 1000, raw.mtime_ms / 1000, raw.ctime_ms / 1000,
                raw.birthtime_ms / 1000)


def _progress_of(progress: Optional[Progress], failed: List[BaseException]) -> Any:
    """An exception of the callback stops the call and is raised when it has returned."""
    if progress is None:
        return native.PROGRESS_FN()
    told = progress  # not None from here on

    def call(_user: Any, entries: int, size: int) -> int:
        try:
            return 0 if told(entries, size) is not False else 1
        except BaseException as e:
            failed.append(e)
            return 1

    return native.PROGRESS_FN(call)


def _denial_of(on_denial: Callable[[Denial], None], failed: dict[int, BaseException]) -> Any:
    """An exception of the callback is raised when the call that was refused has returned."""
    def call(_user: Any, denial: Any) -> None:
        try:
            on_denial(Denial(*(_text(getattr(denial.contents, name))
                               for name in ("method", "mode", "path", "code", "message"))))
        except BaseException as e:
            failed[threading.get_ident()] = e

    return native.DENIAL_FN(call)


class _Handle:
    """
    Something of the library's, for calls to enter. It is freed when it is closed and the last one has left, for
    another thread may be in a call then, or the call itself in a callback; and after what was made `within` it. What
    is never closed goes with `owner`, and is closed from then on: the owner may have a finalizer that has not run yet.
    """

    def __init__(self, owner: object, pointer: Optional[int], free: Any, within: Optional[_Handle] = None) -> None:
        self._pointer = pointer
        self._inside: set[object] = set()  # of a set each change is one step, for threads and signals
        self._owed = [functools.partial(free, pointer)]
        self._within = within
        if within is not None:
            within._inside.add(self)
        # Threads that nobody waits for may be in it until the process is gone.
        weakref.finalize(owner, self.close).atexit = False

    @contextlib.contextmanager
    def entered(self) -> Iterator[Optional[int]]:
        """What the library calls it; None: it is closed."""
        me = object()
        self._inside.add(me)
        try:
            yield self._pointer
        finally:
            self._leave(me)

    def close(self) -> None:
        self._pointer = None
        self._free_if_left()

    def _leave(self, who: object) -> None:
        self._inside.discard(who)
        self._free_if_left()

    def _free_if_left(self) -> None:
        if self._pointer is not None or self._inside:
            return
        try:
            free = self._owed.pop()
        except IndexError:
            return  # another thread was quicker
        try:
            free()
        finally:  # an interrupt comes as soon as the library has returned
            if self._within is not None:
                self._within._leave(self)


class Watch:
    """Iterates over what changes; ends with close(), also by another thread, or when what is watched is gone."""

    def __init__(self, root: Root, path: PathLike, options: native.WatchOptions) -> None:
        pointer = ctypes.c_void_p()
        self._root = root  # outlives the watch
        self._turn = threading.RLock()  # of next(): the library has one reader at a time
        with root._handle.entered():
            close = library().cordon_root_watch_close
            try:
                root._call("watch_open", _bytes(path), ctypes.byref(options), ctypes.byref(pointer))
                self._handle = _Handle(self, pointer.value, close, root._handle)
            except BaseException:
                if pointer.value is not None and not hasattr(self, "_handle"):  # interrupted between the two
                    close(pointer)
                raise
        root._watches.add(self)
        with root._handle.entered() as still_open:
            if still_open is None:  # close() may not have seen this watch
                self.close()
                raise ValueError("the root is closed")

    def next(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event; None: nothing happened within `timeout` seconds, or the watch has ended."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _SLICE if end is None else min(_SLICE, end - time.monotonic())
            event = self._take(max(0.0, left))
            if event is not None or self.done:
                return event
            if end is not None and not time.monotonic() < end:  # written so that it holds of no number, too
                return None

    def _take(self, seconds: float) -> Optional[Event]:
        raw = native.Event()
        error = native.Error()
        lib = library()
        end = time.monotonic() + seconds
        if not self._turn.acquire(timeout=seconds):  # another thread waits for an event
            return None
        try:
            with self._handle.entered() as pointer:
                left = int(max(0.0, end - time.monotonic()) * 1000)
                got = 0 if pointer is None else \
                    lib.cordon_root_watch_next(pointer, left, ctypes.byref(raw), ctypes.byref(error))
        finally:
            self._turn.release()
        if got < 0:
            _raise(error)
        if got == 0:
            return None
        try:
            patch = _content(raw.patch).decode() if raw.patch.data else None
            return Event(_text(raw.event), _text(raw.name), _stat_of(raw.stat) if raw.has_stat else None, patch)
        finally:
            lib.cordon_root_event_free(ctypes.byref(raw))

    @property
    def done(self) -> bool:
        with self._handle.entered() as pointer:
            return pointer is None or bool(library().cordon_root_watch_done(pointer))

    def close(self) -> None:
        with self._handle.entered() as pointer:
            if pointer is not None:
                library().cordon_root_watch_end(pointer)  # whoever waits for an event goes on
        self._handle.close()

    def __iter__(self) -> Iterator[Event]:
        while not self.done:
            event = self.next()
            if event is not None:
                yield event

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class Root:
    """
    A directory and what is beneath it. Paths are relative to it (or absolute, then `/` is the same
    directory); `..` stops at the top; links work as long as they stay inside. Errors are those of
    pathlib, and never hold a path of the host. Usable from several threads at once. `rustic_repo` is
    where tool("rustic", ...) keeps the backups, `host` whose they are.
    """

    def __init__(self, home: PathLike, *, rootfs: Optional[PathLike] = None,
                 scratch: Optional[PathLike] = None, scratch_alias: Optional[str] = None,
                 home_aliases: Optional[Sequence[str]] = None, readonly: bool = False,
                 unsafe: bool = False, strict: bool = False, no_xdev: bool = False,
                 allow_hardlink: bool = False, allow_symlink: bool = False, leaf_links_act: bool = False,
                 durable: Union[bool, str] = False, max_read_bytes: int = 0,
                 host: Optional[str] = None, rustic_repo: Optional[PathLike] = None,
                 on_denial: Optional[Callable[[Denial], None]] = None) -> None:
        flags = (readonly, unsafe, strict, no_xdev, allow_hardlink, allow_symlink, leaf_links_act)
        options = native.Options(size=ctypes.sizeof(native.Options), home=_bytes(home),
                                 flags=sum(1 << i for i, on in enumerate(flags) if on),
                                 max_read_bytes=_whole(max_read_bytes))
        options.sync = {False: 0, "data": 1, True: 2, "full": 2}[durable]
        options.rootfs = _bytes(rootfs) if rootfs is not None else None
        options.scratch = _bytes(scratch) if scratch is not None else None
        options.scratch_alias = _bytes(scratch_alias) if scratch_alias is not None else None
        options.host = _bytes(host) if host is not None else None
        options.rustic_repo = _bytes(rustic_repo) if rustic_repo is not None else None
        if home_aliases is not None:
            aliases = strings([_bytes(a) for a in home_aliases])
            options.home_aliases = ctypes.cast(aliases, ctypes.POINTER(ctypes.c_char_p))
            options.home_alias_count = len(home_aliases)
        self._failed: dict[int, BaseException] = {}  # by thread: what on_denial raised
        if on_denial is not None:
            options.on_denial = _denial_of(on_denial, self._failed)
        self._keep = options.on_denial  # the library calls it for as long as the root lives
        self._watches: weakref.WeakSet[Watch] = weakref.WeakSet()
        pointer = ctypes.c_void_p()
        error = native.Error()
        if library().cordon_root_open(ctypes.byref(options), ctypes.byref(pointer), ctypes.byref(error)) < 0:
            _raise(error)
        self._handle = _Handle(self, pointer.value, library().cordon_root_close)

    def close(self) -> None:
        """Calls that are under way end as ever."""
        self._handle.close()  # first, so that no watch begins unseen
        for watch in list(self._watches):
            watch.close()

    def __enter__(self) -> Root:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # -- calling the library

    def _call(self, function: str, *arguments: Any) -> None:
        error = native.Error()
        call = getattr(library(), f"cordon_root_{function}")
        with self._handle.entered() as pointer:
            if pointer is None:
                raise ValueError("the root is closed")
            try:
                failed = call(pointer, *arguments, ctypes.byref(error)) < 0
            except ctypes.ArgumentError as e:
                raise TypeError(str(e)) from None
        raised = self._failed.pop(threading.get_ident(), None) if self._failed else None
        if raised is not None:
            raise raised
        if failed:
            _raise(error)

    def _data(self, function: str, *arguments: Any) -> bytes:
        out = native.Data()
        self._call(function, *arguments, ctypes.byref(out))
        try:
            return _content(out)
        finally:
            library().cordon_root_data_free(ctypes.byref(out))

    def _entries(self, function: str, *arguments: Any) -> List[Entry]:
        out = native.Entries()
        self._call(function, *arguments, ctypes.byref(out))
        try:
            return [Entry(_text(e.name), _text(e.parent), e.type.decode(), e.size, e.mtime_ms / 1000,
                          _text(e.link_target) if e.link_target is not None else None)
                    for e in out.entries[:out.count]]
        finally:
            library().cordon_root_entries_free(ctypes.byref(out))

    # -- reading

    def read_bytes(self, path: PathLike, *, lock: float = 0) -> bytes:
        """`lock`: seconds for which nobody else may read it with a lock; Locked if somebody does."""
        return self._data("read_file", _bytes(path), _ms(lock))

    def read_text(self, path: PathLike, encoding: str = "utf-8", errors: str = "strict", *,
                  lock: float = 0) -> str:
        return self.read_bytes(path, lock=lock).decode(encoding, errors)

    def lock(self, path: PathLike, seconds: float) -> None:
        """0 seconds: unlock."""
        self._call("lock_file", _bytes(path), _ms(seconds))

    def stat(self, path: PathLike) -> Stat:
        return self._stat("stat", path)

    def lstat(self, path: PathLike) -> Stat:
        return self._stat("lstat", path)

    def _stat(self, function: str, path: PathLike) -> Stat:
        out = native.Stat()
        self._call(function, _bytes(path), ctypes.byref(out))
        return _stat_of(out)

    def exists(self, path: PathLike) -> bool:
        out = ctypes.c_bool()
        self._call("exists", _bytes(path), ctypes.byref(out))
        return out.value

    def is_dir(self, path: PathLike) -> bool:
        return self._is(path, Stat.is_dir)

    def is_file(self, path: PathLike) -> bool:
        return self._is(path, Stat.is_file)

    def _is(self, path: PathLike, kind: Callable[[Stat], bool]) -> bool:
        try:
            return kind(self.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def readlink(self, path: PathLike) -> str:
        return _text(self._data("readlink", _bytes(path)))

    def resolve(self, path: PathLike) -> str:
        """Where it is once every link is followed, as this root's callers would write it."""
        return _text(self._data("realpath", _bytes(path)))

    def iterdir(self, path: PathLike = "") -> Iterator[Entry]:
        """Sorted by name."""
        return iter(self._entries("readdir", _bytes(path), False))

    def walk(self, path: PathLike = "") -> Iterator[Entry]:
        """Everything beneath; names are relative to `path`, parents come before children."""
        return iter(self._entries("readdir", _bytes(path), True))

    def listing(self, path: PathLike = "") -> List[Entry]:
        """With size, time and the targets of links; in no order."""
        return self._entries("get_listing", _bytes(path))

    # -- changing

    def write_bytes(self, path: PathLike, data: bytes, *, save_last: bool = False) -> int:
        """
        A reader sees the old content or the new, never a part; unless it has to be written in place.
        `save_last`: watch(patch=True) tells what others change from here on, and not this write.
        """
        data = _plain(data)
        self._call("write_file", _bytes(path), data, len(data), save_last)
        return len(data)

    def write_text(self, path: PathLike, text: str, encoding: str = "utf-8", *, save_last: bool = False) -> int:
        self.write_bytes(path, text.encode(encoding), save_last=save_last)
        return len(text)

    def write_delta(self, path: PathLike, text: str, base: Optional[str] = None, *, min_length: int = 1024,
                    save_last: bool = False) -> None:
        """Writes `text`; with `base`, what the caller believes is there, as a patch of it."""
        content = text.encode()
        known = base.encode() if base is not None else None
        self._call("write_file_delta", _bytes(path), content, len(content), known,
                   len(known) if known is not None else 0, _whole(min_length), save_last)

    def append_bytes(self, path: PathLike, data: bytes) -> int:
        data = _plain(data)
        self._call("append_file", _bytes(path), data, len(data))
        return len(data)

    def append_text(self, path: PathLike, text: str, encoding: str = "utf-8") -> int:
        self.append_bytes(path, text.encode(encoding))
        return len(text)

    def truncate(self, path: PathLike, length: int = 0) -> None:
        """What is negative counts as 0."""
        self._call("truncate", _bytes(path), _whole(max(0, length), 63))

    def chmod(self, path: PathLike, mode: int) -> None:
        self._call("chmod", _bytes(path), _whole(mode, 32))

    def utime(self, path: PathLike, atime: float, mtime: float) -> None:
        self._call("utimes", _bytes(path), atime, mtime)

    def mkdir(self, path: PathLike, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """As pathlib's."""
        try:
            self._call("mkdir", _bytes(path), False, _whole(mode, 32))
        except FileNotFoundError:
            if not parents:
                raise
            self._call("mkdir", _bytes(path), True, _whole(mode, 32))
        except FileExistsError:
            if not exist_ok or not self.is_dir(path):
                raise

    def rmdir(self, path: PathLike) -> None:
        self._call("rmdir", _bytes(path), False)

    def unlink(self, path: PathLike, missing_ok: bool = False) -> None:
        try:
            self._call("unlink", _bytes(path))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def rmtree(self, path: PathLike, missing_ok: bool = False, progress: Optional[Progress] = None) -> None:
        failed: List[BaseException] = []
        options = native.RmOptions(size=ctypes.sizeof(native.RmOptions), recursive=True,
                                   force=missing_ok, progress=_progress_of(progress, failed))
        self._with_callback(failed, "rm", strings([_bytes(path)]), 1, ctypes.byref(options))

    def rename(self, source: PathLike, target: PathLike) -> None:
        self._call("rename", _bytes(source), _bytes(target))

    def move(self, source: PathLike, target: PathLike, overwrite: bool = False) -> None:
        """Within one base; makes the directories above `target`. To another mount: a copy, then a removal."""
        self._call("move", _bytes(source), _bytes(target), overwrite)

    def copy(self, source: PathLike, target: PathLike) -> None:
        """One file."""
        self._call("copy_file", _bytes(source), _bytes(target))

    def copytree(self, source: PathLike, target: PathLike, *, overwrite: bool = True,
                 preserve_times: bool = False, progress: Optional[Progress] = None) -> None:
        failed: List[BaseException] = []
        options = native.CpOptions(size=ctypes.sizeof(native.CpOptions), recursive=True,
                                   keep_existing=not overwrite, error_on_exist=not overwrite,
                                   preserve_timestamps=preserve_times,
                                   progress=_progress_of(progress, failed))
        self._with_callback(failed, "cp", _bytes(source), _bytes(target), ctypes.byref(options))

    def _with_callback(self, failed: List[BaseException], function: str, *arguments: Any) -> None:
        try:
            self._call(function, *arguments)
        except OSError:
            if failed:
                raise failed[0] from None
            raise

    def link(self, existing: PathLike, path: PathLike) -> None:
        self._call("link", _bytes(existing), _bytes(path))

    def symlink(self, target: PathLike, path: PathLike) -> None:
        self._call("symlink", _bytes(target), _bytes(path))

    # -- tools

    def tool(self, name: str, *args: str, options: Sequence[str] = (), timeout: Optional[float] = None,
             max_output: int = 0, cwd: Optional[PathLike] = None) -> Tool:
        """
        find PATH, fd PATH [PATTERN], ripgrep PATH PATTERN, dust PATH, ouch COMMAND PATH..., rustic COMMAND...
        in a sandbox that shows it nothing but its directory, with only those options that it may be told.
        """
        words = [_bytes(word) for word in args]
        flat = [_bytes(word) for word in options]
        asked = native.ToolOptions(size=ctypes.sizeof(native.ToolOptions), option_count=len(flat),
                                   timeout_ms=milliseconds(timeout) if timeout is not None else 0,
                                   max_output=_whole(max_output))
        asked.options = ctypes.cast(strings(flat), ctypes.POINTER(ctypes.c_char_p))
        asked.cwd = _bytes(cwd) if cwd is not None else None
        out = native.ToolResult()
        self._call("tool", _bytes(name), strings(words), len(words), ctypes.byref(asked), ctypes.byref(out))
        try:
            return Tool(_content(out.out), _content(out.err), out.code, out.truncated)
        finally:
            library().cordon_root_tool_result_free(ctypes.byref(out))

    # -- watching

    def watch(self, path: PathLike = "", *, stats: bool = False, patch: bool = False,
              close_on_unlink: bool = False, max_queue: int = 0, stability: float = 0.5) -> Watch:
        """Armed when it returns. `stability`: seconds that a file must rest before it is told of."""
        return Watch(self, path, native.WatchOptions(
            size=ctypes.sizeof(native.WatchOptions), max_queue=_whole(max_queue, 32), stats=stats, patch=patch,
            close_on_unlink=close_on_unlink, stability_ms=_ms(stability, 32)))

    def counters(self) -> dict[str, int]:
        """Calls, failures, refusals and the rest of what was counted."""
        out = native.Counters()
        with self._handle.entered() as pointer:
            if pointer is None:
                raise ValueError("the root is closed")
            library().cordon_root_counters(pointer, ctypes.byref(out))
        return {name: getattr(out, name) for name, _type in native.Counters._fields_}
