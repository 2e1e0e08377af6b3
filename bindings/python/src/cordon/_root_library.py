"""The structures and functions of include/cordon/root.h."""

from __future__ import annotations

import ctypes
from typing import Any

_P = ctypes.c_void_p
_S = ctypes.c_char_p
_SIZE = ctypes.c_size_t
_BOOL = ctypes.c_bool
_INT = ctypes.c_int
_U32 = ctypes.c_uint32
_U64 = ctypes.c_uint64


class Error(ctypes.Structure):
    _fields_ = [("errnum", ctypes.c_int32), ("has_path", _BOOL), ("has_dest", _BOOL),
                ("code", ctypes.c_char * 32), ("syscall", ctypes.c_char * 16),
                ("path", ctypes.c_char * 4097), ("dest", ctypes.c_char * 4097),
                ("message", ctypes.c_char * 8704)]


class Denial(ctypes.Structure):
    _fields_ = [("method", _S), ("mode", _S), ("path", _S), ("code", _S), ("message", _S)]


DENIAL_FN: Any = ctypes.CFUNCTYPE(None, _P, ctypes.POINTER(Denial))
PROGRESS_FN: Any = ctypes.CFUNCTYPE(_INT, _P, _U64, _U64)


class Options(ctypes.Structure):
    _fields_ = [("size", _SIZE), ("home", _S), ("rootfs", _S), ("scratch", _S), ("scratch_alias", _S),
                ("home_aliases", ctypes.POINTER(_S)), ("home_alias_count", _SIZE), ("host", _S),
                ("sync_dir", _S), ("rustic_repo", _S), ("flags", _U32), ("sync", _U32), ("max_read_bytes", _U64),
                ("on_denial", DENIAL_FN), ("user", _P)]


class Counters(ctypes.Structure):
    _fields_ = [(name, _U64) for name in ("calls", "failures", "denials", "outside", "readonly",
                                          "walks", "retries", "rebinds")]


class Data(ctypes.Structure):
    _fields_ = [("data", _P), ("len", _SIZE)]


class Stat(ctypes.Structure):
    _fields_ = [*((name, _U64) for name in ("dev", "ino", "nlink", "rdev", "size", "blksize", "blocks")),
                ("mode", _U32), ("uid", _U32), ("gid", _U32), ("type", ctypes.c_char),
                *((name, ctypes.c_double) for name in ("atime_ms", "mtime_ms", "ctime_ms", "birthtime_ms"))]


class Entry(ctypes.Structure):
    _fields_ = [("name", _S), ("parent", _S), ("link_target", _S), ("size", _U64),
                ("mtime_ms", ctypes.c_double), ("type", ctypes.c_char)]


class Entries(ctypes.Structure):
    _fields_ = [("entries", ctypes.POINTER(Entry)), ("count", _SIZE), ("memory", _P)]


class CpOptions(ctypes.Structure):
    _fields_ = [("size", _SIZE), ("recursive", _BOOL), ("dereference", _BOOL), ("keep_existing", _BOOL),
                ("error_on_exist", _BOOL), ("preserve_timestamps", _BOOL), ("progress", PROGRESS_FN),
                ("user", _P)]


class RmOptions(ctypes.Structure):
    _fields_ = [("size", _SIZE), ("recursive", _BOOL), ("force", _BOOL), ("progress", PROGRESS_FN),
                ("user", _P)]


class WatchOptions(ctypes.Structure):
    _fields_ = [("size", _SIZE), ("max_queue", _U32), ("throw_on_overflow", _BOOL),
                ("close_on_unlink", _BOOL), ("stats", _BOOL), ("patch", _BOOL), ("stability_ms", _U32)]


class Event(ctypes.Structure):
    _fields_ = [("event", _S), ("name", ctypes.c_char * 256), ("has_stat", _BOOL), ("stat", Stat),
                ("patch", Data), ("patch_seq", _U64)]


class ToolOptions(ctypes.Structure):
    _fields_ = [("size", _SIZE), ("options", ctypes.POINTER(_S)), ("option_count", _SIZE),
                ("timeout_ms", ctypes.c_double), ("max_output", _U64), ("cwd", _S)]


class ToolResult(ctypes.Structure):
    _fields_ = [("out", Data), ("err", Data), ("code", ctypes.c_int32), ("truncated", _BOOL)]


def _ref(structure: Any) -> Any:
    return ctypes.POINTER(structure)


def _call(*arguments: Any) -> tuple[Any, list[Any]]:
    """A function of a root that answers 0 or a negative errno and fills an error."""
    return _INT, [_P, *arguments, _ref(Error)]


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "cordon_root_open": (_INT, [_ref(Options), _ref(_P), _ref(Error)]),
    "cordon_root_close": (None, [_P]),
    "cordon_root_counters": (None, [_P, _ref(Counters)]),
    "cordon_root_data_free": (None, [_ref(Data)]),
    "cordon_root_entries_free": (None, [_ref(Entries)]),
    "cordon_root_event_free": (None, [_ref(Event)]),
    "cordon_root_read_file": _call(_S, _U64, _ref(Data)),
    "cordon_root_lock_file": _call(_S, _U64),
    "cordon_root_stat": _call(_S, _ref(Stat)),
    "cordon_root_lstat": _call(_S, _ref(Stat)),
    "cordon_root_exists": _call(_S, _ref(_BOOL)),
    "cordon_root_readlink": _call(_S, _ref(Data)),
    "cordon_root_realpath": _call(_S, _ref(Data)),
    "cordon_root_get_listing": _call(_S, _ref(Entries)),
    "cordon_root_readdir": _call(_S, _BOOL, _ref(Entries)),
    "cordon_root_append_file": _call(_S, _S, _SIZE),
    "cordon_root_write_file": _call(_S, _S, _SIZE, _BOOL),
    "cordon_root_write_file_delta": _call(_S, _S, _SIZE, _S, _SIZE, _SIZE, _BOOL),
    "cordon_root_truncate": _call(_S, ctypes.c_int64),
    "cordon_root_chmod": _call(_S, _U32),
    "cordon_root_utimes": _call(_S, ctypes.c_double, ctypes.c_double),
    "cordon_root_mkdir": _call(_S, _BOOL, _U32),
    "cordon_root_rmdir": _call(_S, _BOOL),
    "cordon_root_unlink": _call(_S),
    "cordon_root_rename": _call(_S, _S),
    "cordon_root_move": _call(_S, _S, _BOOL),
    "cordon_root_link": _call(_S, _S),
    "cordon_root_symlink": _call(_S, _S),
    "cordon_root_copy_file": _call(_S, _S),
    "cordon_root_cp": _call(_S, _S, _ref(CpOptions)),
    "cordon_root_rm": _call(ctypes.POINTER(_S), _SIZE, _ref(RmOptions)),
    "cordon_root_tool": _call(_S, ctypes.POINTER(_S), _SIZE, _ref(ToolOptions), _ref(ToolResult)),
    "cordon_root_tool_result_free": (None, [_ref(ToolResult)]),
    "cordon_root_watch_open": _call(_S, _ref(WatchOptions), _ref(_P)),
    "cordon_root_watch_next": (_INT, [_P, _INT, _ref(Event), _ref(Error)]),
    "cordon_root_watch_done": (_BOOL, [_P]),
    "cordon_root_watch_end": (None, [_P]),
    "cordon_root_watch_close": (None, [_P]),
}
