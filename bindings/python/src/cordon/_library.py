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
INTERFACE = "0.1."  # of library and command; the structures below are those of its headers

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


_P = ctypes.c_void_p
_S = ctypes.c_char_p
_ERR = ctypes.POINTER(ErrorStruct)
_SIZE = ctypes.c_size_t

# name: (result, arguments)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "cordon_version": (_S, []),
    "cordon_error_format": (_SIZE, [_ERR, _S, _SIZE]),
    "cordon_doctor_json": (_P, [_S, _ERR]),
    "cordon_policy_parse": (_P, [_S, _SIZE, _ERR]),
    "cordon_policy_free": (None, [_P]),
    "cordon_policy_json": (_P, [_P]),
}


def pkg_config(variable: str) -> Iterator[Path]:
    """A directory of an installation elsewhere, if there is one."""
    try:
        found = subprocess.run([_PKG_CONFIG, f"--variable={variable}", "cordon"], env=_NO_VARIABLES, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return
    directory = Path(found.stdout.strip())
    if directory.is_absolute():  # a variable that it does not have is an empty line, and no place
        yield directory


def _candidates() -> Iterator[Path]:
    yield Path(__file__).parent / "_native" / _NAME
    for directory in _DIRECTORIES:
        yield Path(directory) / _NAME
    yield from (directory / _NAME for directory in pkg_config("libdir"))


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
    if not version.startswith(INTERFACE):
        raise LibraryError(f"{path} has version {version}, this package needs {INTERFACE}x")
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
