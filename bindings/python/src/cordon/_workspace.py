"""
The place of one pytest session without the kernel's guard. A project with a tests/ gets the workspace
that `cordon test` would make there, by the same names, mark and lock, so that either sweeps what the
other left. Without one it is in the system's temporary directory: a project is not given a tests/.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import zlib
from pathlib import Path
from typing import Dict, List, Optional, Tuple

TEMPLATE = ('# Made for one test run.\n[ai]\nprovider = "none"\n\n[projects]\npaths = []\nactive = ""\n\n'
            "[gui.show_windows]\n")

_MARK = ".cordon-workspace"  # in every workspace, once it is locked
_PREFIX = "_isolation_workspace_"
_RUNS_MAX = 1000
_IGNORE = "# Made by cordon.\n*\n"


def _base_temp(artifacts: Path, run: int) -> Path:
    return artifacts / ("_pytest_tmp" if run == 1 else f"_pytest_tmp_{run}")


def _is_marked(fd: int) -> bool:
    return stat.S_ISREG(os.stat(_MARK, dir_fd=fd, follow_symlinks=False).st_mode)


def _lock(path: Path, marked: bool = False) -> Optional[int]:
    """
    A descriptor, if the directory is ours and no run holds it. One with a mark is looked at again: another
    may have swept it before the lock, and its name may be a new run's.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        if os.fstat(fd).st_uid == os.geteuid() and (not marked or _is_marked(fd)):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not marked or _is_marked(fd):
                return fd
    except OSError:
        pass
    os.close(fd)
    return None


def _run_of(name: str) -> int:
    number = name[len(_PREFIX):]
    return int(number) if number.isdecimal() and number[0] != "0" and len(number) < 5 else 0


def _sweep(parent: Path, prefix: str) -> None:
    """What runs left that nobody holds any more."""
    for name in os.listdir(parent):
        path = parent / name
        if not name.startswith(prefix):
            continue
        fd = _lock(path, marked=True)
        if fd is None:
            continue
        if prefix == _PREFIX and _run_of(name):
            shutil.rmtree(_base_temp(parent, _run_of(name)), ignore_errors=True)
        shutil.rmtree(path, ignore_errors=True)
        os.close(fd)


class _Held:
    """A directory of this run alone, which a later run sweeps if this one does not remove it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd = _lock(path)
        (path / _MARK).touch()

    def release(self, remove: bool) -> None:
        if remove:
            shutil.rmtree(self.path, ignore_errors=True)
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def _scratch(root: Path) -> _Held:
    """Short: sockets are made in temporary directories, and their paths have room for 107 bytes."""
    parent = tempfile.gettempdir()
    prefix = f"cordon-{zlib.crc32(os.fsencode(root)):08x}-"
    _sweep(Path(parent), prefix)
    return _Held(Path(tempfile.mkdtemp(prefix=prefix, dir=parent)))


def _make_artifacts(tests: Path) -> Path:
    """Git need not hear of what lies there. A directory that was there already is the project's."""
    artifacts = tests / "artifacts"
    if tests.is_symlink() or artifacts.is_symlink():
        raise OSError("what is written there would land elsewhere")
    if not artifacts.is_dir():
        artifacts.mkdir()
        (artifacts / ".gitignore").write_text(_IGNORE)
    return artifacts


def _numbered(artifacts: Path) -> Tuple[_Held, Path]:
    """The lowest number that neither a workspace nor a base temp has: pytest would empty that."""
    for run in range(1, _RUNS_MAX + 1):
        base = _base_temp(artifacts, run)
        if os.path.lexists(base):
            continue
        path = artifacts / f"{_PREFIX}{run}"
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return _Held(path), base
    raise OSError("no number is free")


class Workspace:
    """`config`, `base_temp` (None: pytest's own) and the variables that name the places."""

    def __init__(self, root: Path, template: str, own_tmp: bool) -> None:
        self.base_temp: Optional[Path] = None
        self.variables: Dict[str, str] = {}
        self._held: List[_Held] = []
        home = self._in_tests(root / "tests") or self._add(_scratch(root))
        self.config = home / "config_overrides.toml"
        self.config.write_text(template)
        if own_tmp:
            self._move_tmp(root)

    def _add(self, held: _Held) -> Path:
        self._held.append(held)
        return held.path

    def _in_tests(self, tests: Path) -> Optional[Path]:
        """None where there is no tests/, or none that can be written."""
        if not tests.is_dir():
            return None
        try:
            artifacts = _make_artifacts(tests)
            _sweep(artifacts, _PREFIX)
            held, self.base_temp = _numbered(artifacts)
        except OSError:
            return None
        return self._add(held)

    def _move_tmp(self, root: Path) -> None:
        """pytest's own base temp stays where it was, with the ones before it."""
        scratch = self._held[0].path if self.path is None else self._add(_scratch(root))
        tmp = scratch / "tmp"
        tmp.mkdir()
        self.variables = {"TMPDIR": str(tmp)}
        if "PYTEST_DEBUG_TEMPROOT" not in os.environ:
            self.variables["PYTEST_DEBUG_TEMPROOT"] = tempfile.gettempdir()

    @property
    def path(self) -> Optional[Path]:
        """In tests/artifacts, if it is there."""
        return None if self.base_temp is None else self._held[0].path

    def release(self, remove: bool) -> None:
        """What is kept in tests/artifacts goes with the next run. In a temporary directory nothing is: there might be none."""
        if remove and self.base_temp is not None:
            shutil.rmtree(self.base_temp, ignore_errors=True)
        for held in self._held:
            held.release(remove or held.path != self.path)
        if remove and self.base_temp is not None:
            _remove_if_bare(self.base_temp.parent)


def _remove_if_bare(artifacts: Path) -> None:
    """With nothing but our own file in it, it is ours."""
    ignore = artifacts / ".gitignore"
    try:
        if os.listdir(artifacts) == [ignore.name] and ignore.read_text() == _IGNORE:
            ignore.unlink()
            artifacts.rmdir()
    except OSError:
        pass  # another run came
