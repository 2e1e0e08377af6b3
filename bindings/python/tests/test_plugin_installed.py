"""The plugin where it is merely installed: a sound suite passes as it does without it, and nothing is left."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SOUND = """
    import logging, multiprocessing, os, shutil, subprocess, tempfile, unittest
    import pytest

    def test_tmp_path(tmp_path): (tmp_path / "x").write_text("1")
    def test_tmpdir(tmpdir): tmpdir.join("x").write("1")
    def test_factory(tmp_path_factory): (tmp_path_factory.mktemp("a") / "b").write_text("1")
    def test_named():
        with tempfile.NamedTemporaryFile("w") as f: f.write("1")
    def test_nameless():
        with tempfile.TemporaryFile() as f: f.write(b"1")
    def test_directory():
        with tempfile.TemporaryDirectory() as d: open(os.path.join(d, "x"), "w").close()
    def test_of_a_program():
        name = subprocess.run(["mktemp"], capture_output=True, text=True, check=True).stdout.strip()
        os.unlink(name)
    def test_elsewhere(tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        os.makedirs("a/b")
        os.rename("a", "c")
        shutil.rmtree("c")
    def test_by_descriptor(tmp_path):
        directory = os.open(tmp_path, os.O_RDONLY)
        os.close(os.open("x", os.O_WRONLY | os.O_CREAT, dir_fd=directory))
        os.rename("x", "y", src_dir_fd=directory, dst_dir_fd=directory)
        os.close(directory)
        with pytest.raises(OSError, match="Bad file descriptor"): os.mkdir("z", dir_fd=directory)
    def test_captured(capfd):
        os.system("echo seen")
        assert capfd.readouterr().out == "seen\\n"
    def test_sockets():
        with multiprocessing.Manager() as m: m.list().append(1)
    def test_caches(request, pytestconfig):
        request.config.cache.set("cordon/x", 1)
        os.makedirs(".hypothesis/x", exist_ok=True)
        os.makedirs(os.path.expanduser("~/.cache/library"), exist_ok=True)
    def test_config(cordon_config): cordon_config.write_text("mine")
    class Test(unittest.TestCase):
        def setUp(self):
            self.place = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, self.place)
        def test_unit(self): open(self.place + "/x", "w").close()
"""
COUNT = 14
DOCTEST = '''
    def three():
        """
        >>> import tempfile; tempfile.TemporaryFile().close()
        >>> three()
        3
        """
        return 3
'''


@pytest.fixture
def place():
    """A temporary directory of the system's, short as such are, where nobody else leaves anything."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as found:
        yield Path(found)


@pytest.fixture
def session(pytester, site, monkeypatch, place):
    """Runs pytest as a user would; what is left in the system's temporary directory is seen."""
    for name in ("CORDON_TEST_CONFIG", "CORDON_TEST_IN_PROCESS", "PYTEST_DEBUG_TEMPROOT", "TEMP", "TMP", "TMPDIR",
                 "PYTEST_ADDOPTS", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (place / "home").mkdir()
    monkeypatch.setenv("HOME", str(place / "home"))
    (place / "sitecustomize.py").write_text(  # no variable is set: this is what Python finds by itself
        "import os, tempfile\n"
        f"tempfile._candidate_tempdir_list = lambda: [os.environ.get('TMPDIR') or {str(place)!r}]\n")
    monkeypatch.setenv("PYTHONPATH", f"{site}:{place}")

    def run(*arguments, timeout=120):
        return pytester.run(sys.executable, "-m", "pytest", *arguments, timeout=timeout)

    run.root = pytester.path
    run.files = lambda **files: [pytester.makepyfile(**{name: body}) for name, body in files.items()]
    run.left = lambda: sorted(p.name for p in place.glob("cordon-*"))
    return run


def layout(session, kind):
    if kind == "beside":
        session.files(**{"code_of_it": DOCTEST, "test_a": SOUND})
    else:
        (session.root / "src/pkg").mkdir(parents=True)
        (session.root / "tests").mkdir()
        (session.root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["src"]\n')
        session.files(**{"src/pkg/__init__": DOCTEST, "tests/test_a": SOUND})


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["-s"], ["--doctest-modules"], ["--basetemp=out"]],
                         ids=["plain", "xdist", "uncaptured", "doctest", "basetemp"])
@pytest.mark.parametrize("kind", ["beside", "src"])
def test_a_sound_suite(session, kind, arguments):
    layout(session, kind)
    before = {p.name for p in session.root.iterdir()}
    result = session(*arguments)
    result.assert_outcomes(passed=COUNT + ("--doctest-modules" in arguments))
    assert result.ret == 0 and session.left() == []
    new = {p.name for p in session.root.iterdir()} - before
    assert new <= {"__pycache__", ".pytest_cache", ".hypothesis", "out", "stdout", "stderr"}
    assert not (session.root / "tests/artifacts").exists()


def test_places_that_the_caller_chose(session, monkeypatch, tmp_path):
    (tmp_path / "t").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    session.files(test_a=f"""
        import tempfile
        def test_a(tmp_path):
            assert tempfile.gettempdir() == {str(tmp_path / "t")!r}
            open({str(tmp_path / "t/x")!r}, "w").close()
            assert str(tmp_path).startswith({str(tmp_path / "b")!r})
        """)
    assert session(f"--basetemp={tmp_path / 'b'}").ret == 0
    assert (tmp_path / "t/x").exists()


def test_a_temporary_directory_does_not_open_the_project_in_it(session, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(session.root.parent))
    session.files(test_a="def test_a(): open('config.toml', 'w')")
    result = session()
    result.stdout.fnmatch_lines(["*TEST_SANDBOX_VIOLATION: attempted to write to *config.toml (open for writing)",
                                 '*fix: write to tmp_path, or in a directory that "writable" in cordon.json names'])
    assert result.ret == 1 and not (session.root / "config.toml").exists()


def test_a_file_is_named_and_not_its_directory(session, place):
    """tempfile asks for the directory first."""
    session.files(test_a=f"import tempfile\ndef test_a(): tempfile.NamedTemporaryFile(dir={str(place)!r}, prefix='seen')")
    result = session()
    result.stdout.fnmatch_lines([f"*attempted to write to {place}/seen* (open for writing)",
                                 f"*fix: *open it to this test: @pytest.mark.cordon(writable=[[]\"{place}\"*"])


@pytest.mark.parametrize("kind", ["beside", "src"])
def test_what_a_failing_session_leaves_goes_with_the_next(session, kind):
    layout(session, kind)
    session.files(test_bad="""
        import tempfile
        def test_bad(tmp_path):
            (tmp_path / "x").write_text("1")
            tempfile.mkstemp()
            assert False
        """)
    for _ in range(2):
        result = session()
        assert result.ret == 1 and session.left() == []
        assert ("cordon: kept " in result.stdout.str()) == (kind == "src")
        if kind == "src":
            found = sorted(p.name for p in (session.root / "tests/artifacts").iterdir())
            assert found == [".gitignore", "_isolation_workspace_1", "_pytest_tmp"]
    assert (session.root / "tests").exists() == (kind == "src")
    os.unlink(session.root / "test_bad.py")
    assert session().ret == 0
    assert session.left() == [] and not (session.root / "tests/artifacts").exists()


def test_cordon_test_sweeps_what_a_session_left(session, site):
    layout(session, "src")
    session.files(**{"tests/test_bad": "def test_bad(tmp_path): assert False"})
    assert session().ret == 1 and (session.root / "tests/artifacts/_pytest_tmp").exists()
    subprocess.run([site / "bin/cordon", "test", "--root", session.root, "--", "true"], check=True, timeout=60)
    assert not (session.root / "tests/artifacts").exists()


def test_git_does_not_hear_of_a_workspace(session, site):
    """Whoever made tests/artifacts; one that the project has is left as it is."""
    layout(session, "src")
    session.files(**{"tests/test_bad": "def test_bad(tmp_path): assert False"})
    subprocess.run(["git", "init", "-q", "."], cwd=session.root, check=True)
    command = [site / "bin/cordon", "test", "--root", session.root, "--", "false"]
    for run in (session, lambda: subprocess.run(command, capture_output=True, check=False, timeout=60)):
        run()
        artifacts = session.root / "tests/artifacts"
        assert (artifacts / ".gitignore").read_text() == "# Made by cordon.\n*\n"
        status = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=session.root, capture_output=True, check=True)
        assert b"tests/test_a.py" in status.stdout and b"artifacts" not in status.stdout
        shutil.rmtree(artifacts)
    (session.root / "tests/artifacts").mkdir()
    (session.root / "tests/artifacts/golden").touch()
    session()
    assert not (session.root / "tests/artifacts/.gitignore").exists()


@pytest.mark.parametrize("kind", ["beside", "src"])
def test_what_a_killed_session_leaves_goes_with_the_next(session, kind):
    layout(session, kind)
    session.files(test_killed="import os, signal\ndef test_killed(tmp_path): os.kill(os.getpid(), signal.SIGKILL)")
    assert session().ret == -9 and len(session.left()) == 1
    os.unlink(session.root / "test_killed.py")
    assert session().ret == 0
    assert session.left() == [] and not (session.root / "tests/artifacts").exists()


def test_sessions_of_others_are_left_alone(session):
    """One that runs is locked; what has no mark is nobody's run; git does not hear of any."""
    layout(session, "src")
    artifacts = session.root / "tests/artifacts"
    for name in ("_isolation_workspace_1", "_pytest_tmp_2"):
        (artifacts / name).mkdir(parents=True)
        (artifacts / name / "test_other.py").write_text("def test_other(): assert False\n")
    session.files(**{"tests/test_b": "def test_b(tmp_path): assert '_pytest_tmp_3' in str(tmp_path)"})
    result = session()
    result.assert_outcomes(passed=COUNT + 1)
    assert sorted(p.name for p in artifacts.iterdir()) == ["_isolation_workspace_1", "_pytest_tmp_2"]


def test_a_tests_directory_that_cannot_be_written(session):
    layout(session, "src")
    os.symlink(session.root / "src", session.root / "tests/artifacts")
    session("-q").assert_outcomes(passed=COUNT)
    assert [p.name for p in (session.root / "src").iterdir()] == ["pkg"]


def test_bytecode_of_a_module_from_elsewhere(session, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    (tmp_path / "elsewhere.py").write_text("x = 1\n")
    session.files(test_a=f"""
        import sys
        def test_a():
            sys.path.insert(0, {str(tmp_path)!r})
            import elsewhere
        """)
    assert session().ret == 0
    assert (tmp_path / "__pycache__").is_dir()


def test_a_session_inside_a_session(session):
    """A suite that tests a plugin of its own, in its own process."""
    (session.root / "tests").mkdir()
    session.files(**{"tests/test_a": """
        import os
        pytest_plugins = ["pytester"]
        def test_a(pytester, cordon_config):
            pytester.makepyfile(test_b="def test_b(): open('out', 'w').close()")
            pytester.runpytest_inprocess().assert_outcomes(passed=1)
            assert os.environ["CORDON_TEST_CONFIG"] == str(cordon_config)
        """})
    session().assert_outcomes(passed=1)


def test_the_configuration_is_that_of_cordon_test(session, site):
    """T14, in one form: what a program finds does not depend on who runs the tests."""
    layout(session, "src")
    session.files(**{"tests/test_b": """
        def test_b(cordon_config):
            with open("tests/seen", "w") as f: f.write(cordon_config.read_text())
        """})
    assert session("-k", "test_b").ret == 0
    said = subprocess.run([site / "bin/cordon", "test", "--root", session.root, "--", "sh", "-c", 'cat "$CORDON_TEST_CONFIG"'],
                          capture_output=True, text=True, check=True, timeout=60).stdout
    assert (session.root / "tests/seen").read_text() == said
    tomllib = pytest.importorskip("tomllib")
    found = tomllib.loads(said)
    assert found["ai"]["provider"] and "projects" in found and found["gui"]["show_windows"] == {}


WRITES = "def test_writes(): open('config.toml', 'w').close()"


@pytest.mark.parametrize("how", ["option", "ini", "plugin"])
def test_switched_off(session, how, place):
    session.files(test_a=f"{WRITES}\nimport tempfile\ndef test_a(): assert tempfile.gettempdir() == {str(place)!r}")
    arguments = {"option": ["--cordon-guard=off"], "ini": [], "plugin": ["-p", "no:cordon"]}[how]
    if how == "ini":
        (session.root / "pytest.ini").write_text("[pytest]\ncordon_guard = off\n")
    assert session(*arguments).ret == 0 and (session.root / "config.toml").exists()
    if how == "ini":
        assert session("--cordon-guard=on").ret == 1


def test_a_setting_that_is_neither_on_nor_off(session):
    (session.root / "pytest.ini").write_text("[pytest]\ncordon_guard = offf\n")
    session.files(test_a="def test_a(): pass")
    result = session()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: cordon_guard in pytest's configuration is on or off: *offf*"])


def test_who_is_told_how_to_switch_it_off(session):
    session.files(test_a=WRITES)
    session().stdout.fnmatch_lines(["cordon_guard = off in pytest's configuration, or --cordon-guard=off, switches*"])
