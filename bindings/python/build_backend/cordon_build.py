"""
Builds the wheel (PEP 517, 660): the package, libcordon, and the commands. Nothing is compiled here: the project's
own build does that, and is called if it was not yet.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parent.parent
PROJECT = HERE.parent.parent
NAME = "cordon"
VERSION = "0.1.0"
INFO = f"{NAME}-{VERSION}.dist-info"
SCRIPTS = f"{NAME}-{VERSION}.data/scripts"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources give the same bytes

METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: A sandbox for code that you do not trust
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""
ENTRY_POINTS = "[pytest11]\ncordon = cordon.pytest_plugin\n"


def tag() -> str:
    return f"py3-none-linux_{platform.machine()}"


def built(name: str) -> Path:
    path = Path(os.environ.get("CORDON_BUILD", PROJECT / "build")) / name
    if not path.exists():
        subprocess.run(["make", "-C", str(PROJECT), "all"], check=True)
    return path


class Wheel:
    """An archive that remembers what is in it."""

    def __init__(self, path: Path) -> None:
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record: list[str] = []

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        entry = zipfile.ZipInfo(name, EPOCH)
        entry.external_attr = (stat.S_IFREG | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self) -> None:
        rows = "".join(f"{row}\n" for row in [*self.record, f"{INFO}/RECORD,,"])
        self.add(f"{INFO}/RECORD", rows.encode())
        self.zip.close()


def info_files() -> Iterator[tuple[str, bytes]]:
    yield "METADATA", (METADATA + (HERE / "README.md").read_text()).encode()
    yield "WHEEL", f"Wheel-Version: 1.0\nGenerator: cordon\nRoot-Is-Purelib: false\nTag: {tag()}\n".encode()
    yield "entry_points.txt", ENTRY_POINTS.encode()


# In the shape of an installation: the command finds the runner of modules by its own place.
NATIVES = {"libcordon.so.0": "libcordon.so.0", "cordon": "bin/cordon",
           "libexec/cordon/cordon-module-runner": "libexec/cordon/cordon-module-runner"}


def add_natives(wheel: Wheel) -> None:
    for source, name in NATIVES.items():
        wheel.add(f"cordon/_native/{name}", built(source).read_bytes(), 0o755)
    wheel.add(f"{SCRIPTS}/cordon", built("cordon").read_bytes(), 0o755)


def build_wheel(directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    name = f"{NAME}-{VERSION}-{tag()}.whl"
    wheel = Wheel(Path(directory) / name)
    for path in sorted((HERE / "src/cordon").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            wheel.add(f"cordon/{path.name}", path.read_bytes())
    add_natives(wheel)
    for file, data in info_files():
        wheel.add(f"{INFO}/{file}", data)
    wheel.close()
    return name


def build_editable(directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """The package where it is: a .pth file, and the library and the commands beside the sources."""
    name = f"{NAME}-{VERSION}-{tag()}.whl"
    native = HERE / "src/cordon/_native"
    for source, file in NATIVES.items():
        (native / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built(source), native / file)
    wheel = Wheel(Path(directory) / name)
    wheel.add("cordon.pth", f"{HERE / 'src'}\n".encode())
    wheel.add(f"{SCRIPTS}/cordon", built("cordon").read_bytes(), 0o755)
    for file, data in info_files():
        wheel.add(f"{INFO}/{file}", data)
    wheel.close()
    return name


def build_sdist(directory: str, config_settings: Any = None) -> str:
    """The Python part: it needs an installed libcordon or a checkout."""
    base = f"{NAME}-{VERSION}"
    name = f"{base}.tar.gz"
    with tarfile.open(Path(directory) / name, "w:gz") as archive:
        for part in ("pyproject.toml", "README.md", "build_backend", "src"):
            archive.add(HERE / part, f"{base}/{part}",
                        filter=lambda i: None if "__pycache__" in i.name or "_native" in i.name else i)
    return name
