"""Finds libcordon, loads it once, and declares what this package calls."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
from pathlib import Path
from typing import Any, Iterator

from .errors import LibraryError, PolicyError

_NAME = "libcordon.so.0"
_INTERFACE = "0.1."  # of the library; the structures below are those of its headers

# Fixed places: no variable of the environment decides which code is loaded.
_DIRECTORIES = ("/usr/local/lib", "/usr/local/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                "/usr/local/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
_PKG_CONFIG = "/usr/bin/pkg-config"
_NO_VARIABLES: dict[str, str] = {}


class ErrorStruct(ctypes.Structure):
    """struct cordon_error"""

    _fields_ = [("kind", ctypes.c_int32), ("layer", ctypes.c_int32), ("errnum", ctypes.c_int32),
                ("what", ctypes.c_char * 88), ("subject", ctypes.c_char * 416),
                ("why", ctypes.c_char * 192), ("remedy", ctypes.c_char * 256)]


class RunOptions(ctypes.Structure):
    """struct cordon_run_options"""

    _fields_ = [("input", ctypes.c_char_p), ("input_len", ctypes.c_size_t),
                ("env", ctypes.POINTER(ctypes.c_char_p)), ("trace_id", ctypes.c_char_p)]


class CallOptions(ctypes.Structure):
    """struct cordon_call_options"""

    _fields_ = [("size", ctypes.c_size_t), ("extensions", ctypes.c_char_p), ("policy", ctypes.c_void_p),
                ("within", ctypes.c_void_p), ("timeout_ms", ctypes.c_uint64), ("no_sandbox", ctypes.c_int),
                ("env", ctypes.POINTER(ctypes.c_char_p)), ("trace_id", ctypes.c_char_p),
                ("runner", ctypes.c_char_p)]


_P = ctypes.c_void_p
_S = ctypes.c_char_p
_ERR = ctypes.POINTER(ErrorStruct)
_ARGV = ctypes.POINTER(ctypes.c_char_p)
_SIZE = ctypes.c_size_t

# name: (result, arguments)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "cordon_version": (_S, []),
    "cordon_error_format": (_SIZE, [_ERR, _S, _SIZE]),
    "cordon_doctor_json": (_P, [_S, _ERR]),
    "cordon_policy_parse": (_P, [_S, _SIZE, _ERR]),
    "cordon_policy_free": (None, [_P]),
    "cordon_policy_json": (_P, [_P]),
    "cordon_start": (_P, [_P, _ARGV, ctypes.POINTER(RunOptions), _ERR]),
    "cordon_call_start": (_P, [_S, _S, _SIZE, ctypes.POINTER(CallOptions), _ERR]),
    "cordon_sandbox_fd": (ctypes.c_int, [_P]),
    "cordon_sandbox_step": (ctypes.c_int, [_P]),
    "cordon_sandbox_kill": (None, [_P]),
    "cordon_sandbox_wait": (_P, [_P]),
    "cordon_result_json": (_S, [_P]),
    "cordon_result_stdout": (_P, [_P, ctypes.POINTER(_SIZE)]),
    "cordon_result_stderr": (_P, [_P, ctypes.POINTER(_SIZE)]),
    "cordon_result_free": (None, [_P]),
}


def _from_pkg_config() -> Iterator[Path]:
    try:
        found = subprocess.run([_PKG_CONFIG, "--variable=libdir", "cordon"], env=_NO_VARIABLES, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return
    yield Path(found.stdout.strip()) / _NAME


def _candidates() -> Iterator[Path]:
    yield Path(__file__).parent / "_native" / _NAME
    for directory in _DIRECTORIES:
        yield Path(directory) / _NAME
    yield from _from_pkg_config()


def _declare(library: ctypes.CDLL, functions: dict[str, tuple[Any, list[Any]]]) -> None:
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """The library, loaded and declared; the same one for the life of the process."""
    from . import _root_library

    path = next((p for p in _candidates() if p.is_file()), None)
    if path is None:
        raise LibraryError(f"{_NAME} is not there: install cordon (make install), or a wheel of "
                           "this package that carries the library")
    loaded = ctypes.CDLL(os.fspath(path))
    loaded.cordon_version.restype = _S
    version = loaded.cordon_version().decode()
    if not version.startswith(_INTERFACE):
        raise LibraryError(f"{path} has version {version}, this package needs {_INTERFACE}x")
    _declare(loaded, _FUNCTIONS)
    _declare(loaded, _root_library.FUNCTIONS)
    return loaded


@functools.lru_cache(maxsize=None)
def _free() -> Any:
    free = ctypes.CDLL(None).free
    free.argtypes = [_P]
    free.restype = None
    return free


def take_text(pointer: int | None) -> str:
    """A string that the library allocated, which is freed here."""
    if not pointer:
        raise MemoryError
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        _free()(pointer)


def policy_error(error: ErrorStruct) -> PolicyError:
    """The library's words for a refusal."""
    text = ctypes.create_string_buffer(2048)
    library().cordon_error_format(ctypes.byref(error), text, len(text))
    return PolicyError(text.value.decode(errors="replace"))


def strings(values: list[bytes]) -> Any:
    """A char *[] with a NULL at its end."""
    return (ctypes.c_char_p * (len(values) + 1))(*values, None)
