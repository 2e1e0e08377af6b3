"""
The pytest plugin. `--cordon` runs the whole session inside `cordon test`, where the kernel stops
every write outside of the writable places, from any language. Without it an audit hook in this
process raises TEST_SANDBOX_VIOLATION at the line that writes: quick to find, easy to go past.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Generator, List, Optional, TypeVar, cast

import pytest

from ._command import program
from ._write_hook import FIX, Attempt, WriteHook
from .errors import LibraryError

_CONFIG_VARIABLE = "CORDON_TEST_CONFIG"  # set by `cordon test` for what runs inside
_IN_PROCESS = "CORDON_TEST_IN_PROCESS"   # set here, for workers, where there is a hook and no guard
_CACHES = [".pytest_cache", "__pycache__", ".coverage", ".coverage.*", ".slop_cache", ".ruff_cache"]
_TEMPLATE = '[ai]\nprovider = "none"\n\n[projects]\n\n[gui]\nshow_windows = false\n'

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def _hookimpl(**options: bool) -> Callable[[_Hook], _Hook]:
    """pytest's own, which has no types."""
    return cast(Callable[[_Hook], _Hook], pytest.hookimpl(**options))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cordon")
    group.addoption("--cordon", action="store_true",
                    help="run the session inside `cordon test`: the kernel stops writes outside of tests/")


@_hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if not getattr(early_config.known_args_namespace, "cordon", False) or _guarded():
        return
    try:
        command = program()
    except LibraryError as e:
        raise pytest.UsageError(str(e)) from None
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()  # the next program must get the real descriptors
    arguments = [a for a in early_config.invocation_params.args if a != "--cordon"]
    os.environ.pop(_IN_PROCESS, None)
    os.execv(command, ["cordon", "test", *_root(early_config), "--cwd", os.getcwd(), "--",
                       *_pytest(), *map(str, arguments)])


def _guarded() -> bool:
    """Inside `cordon test`. A variable that somebody left behind is no guard: ask the kernel, too."""
    if _CONFIG_VARIABLE not in os.environ or os.environ.get(_IN_PROCESS) == "1":
        return False
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    return "\nNoNewPrivs:\t1\n" in status and "\nSeccomp:\t2\n" in status


def _root(config: pytest.Config) -> List[str]:
    """pytest's own, where nothing above says what the project is."""
    here = Path.cwd()
    known = any((p / name).exists() for p in (here, *here.parents) for name in ("cordon.json", ".git"))
    return [] if known else ["--root", str(config.rootpath)]


def _pytest() -> List[str]:
    """As it was called: `python -m pytest` puts the current directory into sys.path, `pytest` does not."""
    called = Path(sys.argv[0])
    if called.name in ("pytest", "py.test", "pytest-3", "py.test-3") and os.access(called, os.X_OK):
        return [str(called)]
    return [sys.executable, "-m", "pytest"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cordon(writable=[...]): places that this test may write to, "
                                       "relative to the root; the kernel's guard does not hear of it")
    config.pluginmanager.register(Plugin(config), "cordon-session")


def _settings(root: Path) -> dict[str, Any]:
    """The `test` part of cordon.json. Its strict reader is `cordon test`; here it only has to parse."""
    try:
        text = (root / "cordon.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    try:
        found = json.loads(text).get("test", {})
    except (ValueError, AttributeError) as e:
        raise pytest.UsageError(f"cordon.json: {e}") from None
    return found if isinstance(found, dict) else {}


class Plugin:
    """One session, or one worker of a session that xdist spreads over processes."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker = hasattr(config, "workerinput")
        self.inside = _guarded()
        self.root = Path(config.rootpath)
        self.attempts: List[Attempt] = []
        self.made: List[Path] = []
        self.clean = False
        self.hook: Optional[WriteHook] = None
        if not self.inside:
            settings = _settings(self.root)
            self.writable = [str(self.root / w) for w in settings.get("writable", ["tests"])]
            self._isolate(settings)
            base = config.option.basetemp
            places = [*self.writable, *([str(base)] if base else [])]
            self.hook = WriteHook(places, settings.get("caches", _CACHES), str(self.root))

    def _isolate(self, settings: dict[str, Any]) -> None:
        """Base temp and a config of its own, beneath tests/artifacts, if there is a tests/."""
        os.environ.pop("SLOP_CONFIG", None)
        tests = self.root / "tests"
        if self.worker or not tests.is_dir() or tests.is_symlink():
            return
        run = f"{os.getpid()}"
        artifacts = tests / "artifacts"
        workspace = artifacts / f"_isolation_workspace_{run}"
        self._make(workspace)
        template = settings.get("config_template")
        config = workspace / "config_overrides.toml"
        config.write_text((self.root / template).read_text() if template else _TEMPLATE)
        os.environ[_CONFIG_VARIABLE] = str(config)
        os.environ[_IN_PROCESS] = "1"
        if self.config.option.basetemp is None:
            base = artifacts / "_pytest_tmp" / run
            self._make(base.parent)
            self.config.option.basetemp = base
            self.made.append(base)

    def _make(self, directory: Path) -> None:
        """Remembers the topmost directory that did not exist."""
        new = [p for p in [directory, *directory.parents] if not p.exists()]
        directory.mkdir(parents=True, exist_ok=True)
        self.made += reversed(new)

    # -- the hook is on while tests are collected and run, not while pytest writes its own reports

    @_hookimpl(hookwrapper=True)
    def pytest_collection(self) -> Generator[None, None, None]:
        self._watch("", [])
        yield
        self._rest()

    @_hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        extra = [str(self.root / w) for mark in item.iter_markers("cordon")
                 for w in mark.kwargs.get("writable", [])]
        if self.inside:
            self._say_if_closed(item, extra)
        self._watch(item.nodeid, extra)
        yield
        self._rest()

    def _watch(self, test: str, extra: List[str]) -> None:
        if self.hook is not None:
            self.hook.test, self.hook.extra = test, [os.path.realpath(e) for e in extra]
            self.hook.active = True

    def _rest(self) -> None:
        if self.hook is not None:
            self.hook.active = False

    @staticmethod
    def _say_if_closed(item: pytest.Item, extra: List[str]) -> None:
        for place in extra:
            if not os.access(place, os.W_OK):
                item.warn(pytest.PytestWarning(
                    f'cordon: {place} is not writable in `cordon test`: name it in "writable" of cordon.json'))

    # -- what was tried travels with the report, also from a worker

    @_hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, None]:
        outcome = yield
        if self.hook is not None and self.hook.attempts:
            report = outcome.get_result()
            report.cordon = [[a.op, a.path, a.test] for a in self.hook.attempts]
            self.hook.attempts.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.attempts += [Attempt(*row) for row in getattr(report, "cordon", [])]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.hook is not None and not self.worker:
            self.attempts += self.hook.attempts  # while collecting
            if self.attempts and session.exitstatus == 0:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED  # a test may have swallowed the error
        self.clean = session.exitstatus == 0

    def pytest_report_header(self) -> str:
        if self.inside:
            return "cordon: inside the kernel's guard"
        return "cordon: a hook in this process names writes outside of tests/; the guard is --cordon"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.attempts:
            return
        terminalreporter.section("cordon")
        for attempt in dict.fromkeys(self.attempts):
            where = f" in {attempt.test}" if attempt.test else ""
            terminalreporter.line(f"TEST_SANDBOX_VIOLATION: attempted to write to {attempt.path} "
                                  f"({attempt.op}){where}")
        terminalreporter.line(f"  fix: {FIX}")

    def pytest_unconfigure(self) -> None:
        """Removes what was made here, if all went well."""
        if os.environ.get(_IN_PROCESS) == "1" and not self.worker:
            os.environ.pop(_CONFIG_VARIABLE, None)
            os.environ.pop(_IN_PROCESS, None)
        if self.clean:
            for path in reversed(self.made):
                _remove(path)


def _remove(path: Path) -> None:
    """A directory of the run's own whole, a shared one only when it is empty."""
    if path.name.isdigit() or path.name.startswith("_isolation_workspace_"):
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        path.rmdir()
    except OSError:
        pass  # somebody else's run is in it


@pytest.fixture
def cordon_config() -> Path:
    """The configuration that this session may write."""
    return Path(os.environ[_CONFIG_VARIABLE])
