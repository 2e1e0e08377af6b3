"""The tests run against the installed package (build/python/site), as its users have it."""

import contextlib
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SITE = Path(os.environ.get("CORDON_PYTHON_SITE", HERE.parent.parent.parent / "build/python/site"))
sys.path.insert(0, str(SITE))

pytest_plugins = ["pytester"]


@pytest.fixture
def site() -> Path:
    return SITE


def children() -> set:
    """The processes that this one has, init processes of sandboxes among them."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            found |= set((task / "children").read_text().split())
    return found


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def nothing_left():
    before = children(), descriptors()
    yield
    assert (children(), descriptors()) == before
