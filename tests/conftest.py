import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import backends  # noqa: E402
import support  # noqa: E402


@pytest.fixture
def place():
    """A directory of the caller's that everybody may enter and use, gone after the test."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="place-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def probes():
    """The C probes of tests/escape, built static; show them inside with --ro DIR:/probes."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="probes-"))
    path.chmod(0o755)
    for source in sorted((support.HERE / "escape").glob("*.c")):
        subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Werror", "-o",
                        str(path / source.stem), str(source)], check=True)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def refuse():
    """tests/tools/refuse: runs a command on a host that refuses what it names."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="refuse-"))
    path.chmod(0o755)
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", str(path / "refuse"),
                    str(support.HERE / "tools/refuse.c"), "-lseccomp"], check=True)
    yield str(path / "refuse")
    shutil.rmtree(path, ignore_errors=True)


def pytest_configure(config):
    if not os.path.exists(support.BIN):
        raise pytest.UsageError(f"{support.BIN} is missing: run make first")


def pytest_collection_modifyitems(config, items):
    """Against another backend: what it does not claim is skipped, what is not about one is left out."""
    if backends.BACKEND == "native":
        return
    for item in list(items):
        why = backends.reason(f"{item.path.parent.name}/{item.path.name}::{item.name}")
        if why == "":
            items.remove(item)
        elif why is not None:
            item.add_marker(pytest.mark.skip(reason=why))
