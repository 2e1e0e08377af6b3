import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import backends  # noqa: E402
import extensions  # noqa: E402
import guarded  # noqa: E402
import support  # noqa: E402


@pytest.fixture
def place():
    """A directory of the caller's that everybody may enter and use, gone after the test."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="place-"))
    path.chmod(0o777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def modules(place):
    """Modules for `cordon call`, and calls of them."""
    return extensions.Modules(place / "extensions")


@pytest.fixture
def project(place):
    """A project for `cordon test`."""
    return guarded.make_project(place)


@pytest.fixture
def suite(project):
    """The same with a suite of its own, which writes to all the wrong places."""
    return guarded.add_suite(project)


@pytest.fixture
def own_mounts(place):
    """What root mounts in the test is seen by nobody else, and is gone with it, however it ends."""
    if not support.ROOT:
        pytest.skip("only root mounts")
    new_mounts = 0x20000  # CLONE_NEWNS
    home, cwd = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC), os.getcwd()
    assert support.libc.unshare(new_mounts) == 0, os.strerror(ctypes.get_errno())
    try:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        yield
    finally:
        assert support.libc.setns(home, new_mounts) == 0, os.strerror(ctypes.get_errno())
        os.close(home)
        os.chdir(cwd)


@pytest.fixture(scope="session")
def probes():
    """The C probes of tests/escape, built static; show them inside with --ro DIR:/probes."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="probes-"))
    path.chmod(0o755)
    for source in sorted((support.HERE / "escape").glob("*.c")):
        support.compiled(path / source.stem, source, "-static")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def refuse():
    """tests/tools/refuse: runs a command on a host that refuses what it names."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="refuse-"))
    path.chmod(0o755)
    yield support.compiled(path / "refuse", support.HERE / "tools/refuse.c", "-static", "-lseccomp")
    shutil.rmtree(path, ignore_errors=True)


def pytest_configure(config):
    if not os.path.exists(support.BIN):
        raise pytest.UsageError(f"{support.BIN} is missing: run make first")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    with support.MACHINE.shared(), support.MACHINE.alone() if item.get_closest_marker("alone") else contextlib.nullcontext():
        yield


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


def pytest_runtest_logreport(report):
    """In a virtual machine: at once, since a machine may be ended before pytest is."""
    if report.failed and "CORDON_TEST_TOOLS" in os.environ:
        print(f"\nfailed at {report.when}: {report.nodeid}\n{report.longreprtext[-1500:]}", flush=True)


@pytest.fixture(scope="session")
def deny():
    """A function: the words that run a command with some calls refused (tests/tools/deny)."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="deny-"))
    path.chmod(0o755)
    support.compiled(path / "deny", support.HERE / "tools/deny.c", "-static")
    yield lambda errno, *calls: [str(path / "deny"), errno, ",".join(map(str, calls)), "--"]
    shutil.rmtree(path, ignore_errors=True)
