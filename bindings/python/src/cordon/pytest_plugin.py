"""
The pytest plugin. `--cordon` runs the whole session inside `cordon test`, where the kernel stops
every write outside of the writable places, from any language. Without it an audit hook in this
process raises TEST_SANDBOX_VIOLATION at the line that writes: quick to find, easy to go past.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Optional, TypeVar, cast

import pytest

from ._command import program
from ._workspace import TEMPLATE, Workspace
from ._write_hook import Attempt, WriteHook
from .errors import LibraryError

_CONFIG_VARIABLE = "CORDON_TEST_CONFIG"  # set by `cordon test` for what runs inside
_IN_PROCESS = "CORDON_TEST_IN_PROCESS"   # set here, for workers, where there is a hook and no guard
_CACHES = [".pytest_cache", "__pycache__", ".coverage", ".coverage.*", ".slop_cache", ".ruff_cache"]
_REDIRECTED = [".hypothesis"]  # in the project where `cordon test` names another place by a variable
_OFF = "cordon_guard = off in pytest's configuration, or --cordon-guard=off, switches this hook off"

_NAMES = ("pytest", "py.test", "pytest-3", "py.test-3")

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def _hookimpl(**options: bool) -> Callable[[_Hook], _Hook]:
    """pytest's own, which has no types."""
    return cast(Callable[[_Hook], _Hook], pytest.hookimpl(**options))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cordon")
    group.addoption("--cordon", action="store_true",
                    help="run the session inside `cordon test`: the kernel stops writes outside of tests/")
    group.addoption("--cordon-guard", choices=["on", "off"], default=None,
                    help="off: no hook names writes outside of tests/ and of temporary directories")
    parser.addini("cordon_guard", "off: as --cordon-guard=off", type="bool", default=True)


@_hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if not getattr(early_config.known_args_namespace, "cordon", False) or _overridden(early_config) or \
            _guarded(early_config.rootpath):
        return
    if not _called_as_pytest():
        raise pytest.UsageError("--cordon starts pytest again, which was not started as `pytest` or `python -m pytest` "
                                "here: the guard of any other command is `cordon test -- COMMAND`")
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


def _overridden(config: pytest.Config) -> bool:
    """On the command line `-o cordon_guard=off` stands above a --cordon of the configuration's addopts."""
    return "--cordon" not in config.invocation_params.args and \
        "cordon_guard=off" in (config.known_args_namespace.override_ini or [])


def _called_as_pytest() -> bool:
    """Not by another program in this interpreter, which would be replaced: a coverage tool, a runner, a script."""
    words: List[str] = list(getattr(sys, "orig_argv", []))[1:]  # Python 3.9 does not tell
    while words and words[0].startswith("-") and not words[0].startswith(("-m", "-c")):
        del words[:2 if words[0] in ("-X", "-W") else 1]
    if not words:
        return not hasattr(sys, "orig_argv")
    name = os.path.basename(words[0])
    if words[0].startswith("-m"):
        name = words[0][2:] or "".join(words[1:2])
    return name in ("pytest", *_NAMES)


def _guarded(root: Path) -> bool:
    """
    Inside `cordon test`. A variable that somebody left behind is no guard, nor is the filter of a
    container: the root is read-only, or the workspace is locked by the `cordon test` that made it.
    """
    config = os.environ.get(_CONFIG_VARIABLE)
    if config is None or os.environ.get(_IN_PROCESS) == "1":
        return False
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    if "\nNoNewPrivs:\t1\n" not in status or "\nSeccomp:\t2\n" not in status:
        return False
    return bool(os.statvfs(root).f_flag & os.ST_RDONLY) or \
        any(_is_locked(place) for place in (Path(config).parent, Path(os.environ.get("HOME", "/")).parent))


def _is_locked(directory: Path) -> bool:
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _root(config: pytest.Config) -> List[str]:
    """pytest's own, where nothing above says what the project is."""
    here = Path.cwd()
    known = any((p / name).exists() for p in (here, *here.parents) for name in ("cordon.json", ".git"))
    return [] if known else ["--root", str(config.rootpath)]


def _pytest() -> List[str]:
    """As it was called: `python -m pytest` puts the current directory into sys.path, `pytest` does not."""
    options: List[str] = getattr(subprocess, "_args_from_interpreter_flags")()
    called = Path(sys.argv[0])
    if called.name in _NAMES and os.access(called, os.X_OK):
        return [sys.executable, *options, str(called)] if options else [str(called)]
    return [sys.executable, *options, "-m", "pytest"]


@_hookimpl(tryfirst=True)  # before pytest asks for the base temp
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cordon") and not _overridden(config) and not _guarded(config.rootpath):
        raise pytest.UsageError("--cordon comes too late for a plugin that a conftest.py loads: install the package, "
                                "or name it by -p cordon.pytest_plugin")
    config.addinivalue_line("markers", "cordon(writable=[...]): places that this test may write to, "
                                       "relative to the root; the kernel's guard does not hear of it")
    for name in ("_isolation_workspace_*", "_pytest_tmp*"):  # of other runs: they come and go
        config.addinivalue_line("norecursedirs", name)
    config.pluginmanager.register(Plugin(config), "cordon-session")


def _wanted(config: pytest.Config) -> bool:
    """A session that a test starts in this process is looked after by the one that is there."""
    option = config.getoption("--cordon-guard")
    try:
        return WriteHook.watching is None and (config.getini("cordon_guard") if option is None else option == "on")
    except ValueError as e:
        raise pytest.UsageError(f"cordon_guard in pytest's configuration is on or off: {e}") from None


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
    settings = found if isinstance(found, dict) else {}
    for name in ("writable", "caches"):
        if not _is_list(settings.get(name, [])):
            raise pytest.UsageError(f"cordon.json: /test/{name} is a list of strings")
    if not isinstance(settings.get("config_template", ""), str):
        raise pytest.UsageError("cordon.json: /test/config_template is a string")
    return settings


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


class Plugin:
    """One session, or one worker of a session that xdist spreads over processes."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.worker = hasattr(config, "workerinput")
        self.root = Path(config.rootpath)
        self.inside = _guarded(self.root)
        self.attempts: List[Attempt] = []
        self.clean = True
        self.hook: Optional[WriteHook] = None
        self.workspace: Optional[Workspace] = None
        self.before: Dict[str, Optional[str]] = {}
        if not self.inside and _wanted(config):
            settings = _settings(self.root)
            temporary = self._temporary()
            if not self.worker:
                self._isolate(settings)
            try:
                self.hook = self._make_hook(settings, temporary)
            except BaseException:
                self.pytest_unconfigure()
                raise

    @staticmethod
    def _temporary() -> List[str]:
        """pytest's own, and where libraries keep what they can make again: they were found before."""
        roots = [os.environ.get("PYTEST_DEBUG_TEMPROOT"), tempfile.gettempdir()]
        return [*(os.path.join(r, "pytest-of-*") for r in roots if r),
                os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")]

    def _isolate(self, settings: Dict[str, Any]) -> None:
        template = settings.get("config_template")
        try:
            content = (self.root / template).read_text() if template else TEMPLATE
        except (OSError, ValueError) as e:
            raise pytest.UsageError(f"cordon.json: /test/config_template: {e}") from None
        given = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
        self.workspace = w = Workspace(
            self.root, content, own_tmp=not given)
        self._set({"SLOP_CONFIG": None, _CONFIG_VARIABLE: str(w.config), _IN_PROCESS: "1", **w.variables})
        tempfile.tempdir = None  # asked for already, to capture output
        if self.config.option.basetemp is None:
            self.config.option.basetemp = w.base_temp

    def _set(self, variables: Dict[str, Optional[str]]) -> None:
        for name, value in variables.items():
            self.before.setdefault(name, os.environ.get(name))
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def _make_hook(self, settings: Dict[str, Any], temporary: List[str]) -> WriteHook:
        base = self.config.option.basetemp
        places = [str(self.root / place) for place in settings.get("writable", ["tests"])]
        if self.config.pluginmanager.hasplugin("cacheprovider"):
            places.append(str(self.root / os.path.expandvars(self.config.getini("cache_dir"))))
        temporary = [tempfile.gettempdir(), *temporary, *([str(base)] if base else [])]
        if os.environ.get(_IN_PROCESS) == "1":  # set above, or by the session that this worker is of
            temporary.append(os.path.dirname(os.environ[_CONFIG_VARIABLE]))
        return WriteHook(places, temporary, [*settings.get("caches", _CACHES), *_REDIRECTED], str(self.root))

    # -- the hook is on while tests are collected and run, not while pytest writes its own reports

    @_hookimpl(hookwrapper=True)
    def pytest_collection(self) -> Generator[None, None, None]:
        self._watch("", [])
        yield
        self._rest()

    def pytest_collection_modifyitems(self, items: List[pytest.Item]) -> None:
        for item in items:
            for mark in item.iter_markers("cordon"):
                if not _is_list(mark.kwargs.get("writable", [])):
                    raise pytest.UsageError(f"{item.nodeid}: cordon(writable=[...]) is a list of strings")

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
            self.hook.watch(test, extra)

    def _rest(self) -> None:
        if self.hook is not None:
            self.hook.rest()

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
            report.cordon = [[a.op, a.path, a.test, a.fix] for a in self.hook.attempts]
            self.hook.attempts.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.attempts += [Attempt(*row) for row in getattr(report, "cordon", [])]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.hook is not None and not self.worker:
            self.attempts += self.hook.attempts  # while collecting
            if self.attempts and session.exitstatus == 0:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED  # a test may have swallowed the error
        self.clean = session.exitstatus not in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED,
                                                pytest.ExitCode.INTERNAL_ERROR)

    def pytest_report_header(self) -> str:
        if self.inside:
            return "cordon: inside the kernel's guard"
        if self.hook is None:
            return "cordon: switched off; the guard is --cordon"
        place = "tests/ and temporary" if (self.root / "tests").is_dir() else "temporary"
        return f"cordon: a hook in this process names writes outside of {place} directories; the guard is --cordon"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.attempts and self.hook is not None:
            terminalreporter.section("cordon")
            for attempt in dict.fromkeys(self.attempts):
                where = f" in {attempt.test}" if attempt.test else ""
                terminalreporter.line(f"TEST_SANDBOX_VIOLATION: attempted to write to {attempt.path} "
                                      f"({attempt.op}){where}")
                terminalreporter.line(f"  fix: {attempt.fix}")
            terminalreporter.line(_OFF)
        if self.workspace is not None and self.workspace.path is not None and not self.clean:
            terminalreporter.line(f"cordon: kept {self.workspace.path} until the next run")

    def pytest_unconfigure(self) -> None:
        if self.workspace is not None:
            self._set(self.before)
            tempfile.tempdir = None
            self.workspace.release(remove=self.clean)


@pytest.fixture
def cordon_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration that this session may write."""
    named = os.environ.get(_CONFIG_VARIABLE)
    if named is not None:
        return Path(named)
    config = tmp_path_factory.mktemp("cordon") / "config_overrides.toml"  # the hook is switched off
    config.write_text(TEMPLATE)
    return config
