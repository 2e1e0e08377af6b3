"""The pytest plugin, in sessions of their own."""

import os
import sys

import pytest

SUITE = """
    import os, subprocess
    import pytest

    def test_fine(tmp_path, cordon_config):
        (tmp_path / "x").write_text("1")
        assert cordon_config.read_text() and "tests/artifacts" in str(cordon_config)

    def test_missing():
        with pytest.raises(FileNotFoundError):
            open("/no/such/directory/x", "w")

    def test_there_already():
        os.makedirs("out", exist_ok=True)

    @pytest.mark.cordon(writable=["out"])
    def test_marked():
        open("out/y", "w").close()
"""
WRITES = """
    def test_writes():
        open("config.toml", "w").write("gone")
"""
SWALLOWS = """
    import os
    def test_swallows():
        try:
            os.rename("config.toml", "gone")
        except Exception:
            pass
"""

ODD_NAMES = r"""
    import pytest
    ODD = "a\x1b[2J\nPASSED \udcff"

    def test_writes():
        open(ODD, "w")

    def test_swallows():
        with pytest.raises(RuntimeError):
            open("swallowed " + ODD, "w")
"""
THREADS = """
    import os, threading
    import pytest

    def test_threads(monkeypatch):
        judged, written = threading.Event(), threading.Event()
        access = os.access

        def slow(*arguments):
            if threading.current_thread() is first:
                judged.set()
                written.wait(60)
            return access(*arguments)

        def write(name):
            with pytest.raises(RuntimeError):
                open(name, "w")

        monkeypatch.setattr(os, "access", slow)
        first = threading.Thread(target=write, args=("first",))
        first.start()
        assert judged.wait(60)
        try:
            write("second")
        finally:
            written.set()
            first.join()
"""


@pytest.fixture
def project(pytester, site, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.delenv("CORDON_TEST_CONFIG", raising=False)
    monkeypatch.delenv("CORDON_TEST_IN_PROCESS", raising=False)
    root = pytester.path
    (root / "tests").mkdir()
    (root / "out").mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "config.toml").write_text("real")

    def run(*arguments, **files):
        for name, body in files.items():
            pytester.makepyfile(**{f"tests/test_{name}": body})
        if "--cordon" in arguments:  # with its own base temp, not pytester's
            return pytester.run(sys.executable, "-m", "pytest", *arguments, timeout=120)
        return pytester.runpytest_subprocess(*arguments, timeout=120)

    run.root = root
    return run


def test_a_clean_session(project):
    result = project("-v", fine=SUITE)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["cordon: a hook in this process*the guard is --cordon"])
    assert result.ret == 0 and not (project.root / "tests/artifacts").exists()


def test_a_write_fails_at_its_line(project):
    result = project(bad=WRITES)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*TEST_SANDBOX_VIOLATION: attempted to write to *config.toml*",
                                 "*fix: write under tests/*", "tests/test_bad.py:2: Violation", "*= cordon =*",
                                 "*config.toml (open for writing) in tests/test_bad.py::test_writes"])
    assert (project.root / "config.toml").read_text() == "real"


def test_a_swallowed_error_fails_the_session(project):
    result = project(sly=SWALLOWS)
    assert result.ret == 1 and (project.root / "config.toml").exists()
    result.stdout.fnmatch_lines(["*attempted to write to *config.toml (rename) in tests/test_sly.py::test_swallows"])


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]], ids=["plain", "xdist"])
def test_a_name_that_no_terminal_should_see(project, arguments):
    """Nor a worker's channel, which takes no text that is not UTF-8."""
    result = project(*arguments, odd=ODD_NAMES)
    result.assert_outcomes(failed=1, passed=1)
    odd = r"a\x1b[[]2J\x0aPASSED \xdcff (open for writing)"
    result.stdout.fnmatch_lines([f"E*TEST_SANDBOX_VIOLATION: attempted to write to {project.root}/{odd}"])
    for name in (odd, f"swallowed {odd}"):
        result.stdout.fnmatch_lines([f"TEST_SANDBOX_VIOLATION: attempted to write to {project.root}/{name} in *"])
    assert "\x1b" not in result.stdout.str() and not any(line.startswith("PASSED") for line in result.outlines)


def test_threads_are_judged_at_once(project):
    result = project(threads=THREADS)
    result.stdout.fnmatch_lines_random(["*attempted to write to */first (*", "*attempted to write to */second (*"])
    assert result.ret == 1 and not (project.root / "second").exists()


def test_what_the_hook_does_not_see(project):
    """The nicety is none of the kernel's: a program that a test starts goes past it."""
    past = "import os\n    def test_past(): assert os.system('echo gone > config.toml') == 0"
    assert project(past="    " + past).ret == 0
    assert (project.root / "config.toml").read_text() == "gone\n"


def test_junit_and_xdist(project):
    result = project("-n", "2", "--junitxml=report.xml", fine=SUITE, bad=WRITES, sly=SWALLOWS)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*config.toml (rename) in tests/test_sly.py::test_swallows"])
    report = (project.root / "report.xml").read_text()
    assert 'tests="6"' in report and "TEST_SANDBOX_VIOLATION" in report


def test_writable_places_of_cordon_json(project):
    (project.root / "cordon.json").write_text('{"test": {"writable": ["tests", "config.toml"]}}')
    assert project(bad=WRITES).ret == 0
    (project.root / "cordon.json").write_text("{nonsense")
    assert project(bad=WRITES).ret == pytest.ExitCode.USAGE_ERROR


def test_switched_off(project):
    assert project("-p", "no:cordon", bad=WRITES).ret == 0


def test_two_sessions_have_two_base_temps(project):
    body = "def test_a(tmp_path): print('AT', tmp_path)"
    found = {line for _ in range(2) for line in project("-s", a="    " + body).outlines if "AT " in line}
    assert len(found) == 2


# --- --cordon: the same sessions, with the kernel's guard ---------------------------------------------

GUARDED = """
    import pytest

    def test_fine(tmp_path, cordon_config):
        (tmp_path / "x").write_text("1")
        assert cordon_config.read_text() and "tests/artifacts" in str(cordon_config)

    def test_missing():
        with pytest.raises(FileNotFoundError):
            open("/no/such/directory/x", "w")
"""
CHILD = """
    import os
    def test_child():
        os.system('echo gone > config.toml')
"""


def outcome(result):
    """The tests that the command named at the end."""
    return {test for line in result.errlines if line.startswith("  test: ")
            for test in line.removeprefix("  test: ").split(", ")}


def test_guarded_and_clean(project):
    result = project("--cordon", "-v", fine=GUARDED)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cordon: inside the kernel's guard"])
    assert result.ret == 0 and outcome(result) == set()
    assert not (project.root / "tests/artifacts").exists()


def test_guarded_the_kernel_sees_children(project):
    result = project("--cordon", child=CHILD, sly=SWALLOWS, fine=GUARDED)
    result.assert_outcomes(passed=4)  # nobody complained
    result.stdout.no_fnmatch_line("*TEST_SANDBOX_VIOLATION*")  # the hook is off
    assert result.ret == 1 and (project.root / "config.toml").read_text() == "real"
    assert outcome(result) == {"tests/test_child.py::test_child", "tests/test_sly.py::test_swallows"}
    result.stderr.fnmatch_lines(["TEST_SANDBOX_VIOLATION: attempted to write to *config.toml (*; 2 times in all)"])


def test_guarded_exit_statuses(project):
    assert project("--cordon", a="    def test_a(): pass").ret == 0
    assert project("--cordon", "-k", "nothing").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project("--cordon", "--no-such-option").ret == pytest.ExitCode.USAGE_ERROR
    assert project("--cordon", bad=WRITES).ret == pytest.ExitCode.TESTS_FAILED
    assert project("--cordon", "tests/test_a.py").ret == 0


def test_guarded_junit_and_xdist(project):
    result = project("--cordon", "-n", "2", "--junitxml=tests/report.xml", fine=GUARDED, bad=WRITES, child=CHILD)
    assert result.ret == 1 and (project.root / "config.toml").read_text() == "real"
    assert outcome(result) == {"tests/test_bad.py::test_writes", "tests/test_child.py::test_child"}
    report = (project.root / "tests/report.xml").read_text()
    assert 'tests="4"' in report and 'failures="1"' in report and "Read-only file system" in report
    assert "TEST_SANDBOX_VIOLATION" not in result.stdout.str()  # the hook is off: each is named once


def test_guarded_from_a_directory_below(project, monkeypatch):
    monkeypatch.chdir(project.root / "tests")
    result = project("--cordon", "test_a.py", "-s", a="    import os\n    def test_a(tmp_path): print('AT', os.getcwd(), tmp_path)")
    assert result.ret == 0 and f"AT {project.root}/tests {project.root}/tests/artifacts/" in result.stdout.str()


def test_guarded_by_the_ini_file(project):
    (project.root / "pytest.ini").write_text("[pytest]\naddopts = --cordon\n")
    assert project(child=CHILD).ret == 1
    assert (project.root / "config.toml").read_text() == "real"


@pytest.mark.parametrize("left", [{"CORDON_TEST_CONFIG": "/left"},
                                  {"CORDON_TEST_CONFIG": "/left", "CORDON_TEST_IN_PROCESS": "1"}])
def test_a_variable_is_no_guard(project, monkeypatch, left):
    for name, value in left.items():
        monkeypatch.setenv(name, value)
    result = project("--cordon", child=CHILD)
    assert result.ret == 1 and (project.root / "config.toml").read_text() == "real"
    result.stdout.fnmatch_lines(["cordon: inside the kernel's guard"])


def test_the_filter_of_another_sandbox_is_no_guard(project, pytester, site):
    project(writes="def test_writes():\n    open('config.toml', 'w').write('gone')\n")
    r = pytester.run(site / "bin/cordon", "run", "--profile", "limits", "--quiet", "--setenv", "CORDON_TEST_CONFIG=/left",
                     "--setenv", f"PYTHONPATH={site}", "--", sys.executable, "-m", "pytest", "--cordon", timeout=120)
    r.stdout.no_fnmatch_line("*inside the kernel's guard*")
    assert r.ret != 0


def test_a_plugin_of_a_conftest_is_too_late_for_the_guard(project, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (project.root / "conftest.py").write_text('pytest_plugins = ["cordon.pytest_plugin"]\n')
    r = project("--cordon", writes="def test_writes():\n    open('config.toml', 'w').write('gone')\n")
    assert r.ret == pytest.ExitCode.USAGE_ERROR and (project.root / "config.toml").read_text() == "real"
    r.stderr.fnmatch_lines(["*-p cordon.pytest_plugin*"])
    assert project("-p", "cordon.pytest_plugin", "--cordon").ret == 1
    assert (project.root / "config.toml").read_text() == "real"


FLAGS = "import sys\ndef test_flags(): print('FLAGS', sys.flags.dev_mode, sys.flags.isolated, 'ignore::UserWarning' in sys.warnoptions)\n"


def test_guarded_with_the_interpreters_own_options(project, pytester):
    project(flags=FLAGS)
    argv = [sys.executable, "-X", "dev", "-W", "ignore::UserWarning", "-m", "pytest", "-s"]
    for more in ([], ["--cordon"]):
        assert "FLAGS True 0 True" in pytester.run(*argv, *more, timeout=120).stdout.str(), more


@pytest.mark.skipif(not hasattr(sys, "orig_argv"), reason="Python 3.9 does not tell how it was called")
def test_no_other_program_is_replaced(project, pytester):
    project(writes="def test_writes():\n    open('config.toml', 'w').write('gone')\n")
    (project.root / "runner.py").write_text("import pytest\nprint('END', int(pytest.main(['--cordon', 'tests'])))\n")
    r = pytester.run(sys.executable, project.root / "runner.py", timeout=120)
    r.stderr.fnmatch_lines(["*cordon test -- COMMAND*"])
    assert "END 4" in r.stdout.str() and (project.root / "config.toml").read_text() == "real"


@pytest.mark.parametrize("settings,words", [
    ('{"test": {"caches": 5}}', "/test/caches is a list"), ('{"test": {"writable": "tests"}}', "/test/writable is a list"),
    ('{"test": {"config_template": 1}}', "/test/config_template is a string"),
    ('{"test": {"config_template": "nope.toml"}}', "nope.toml"), ('{"test": 1', "cordon.json")])
def test_wrong_settings_are_errors_in_words(project, settings, words):
    (project.root / "cordon.json").write_text(settings)
    r = project(fine="def test_fine(): pass")
    assert r.ret == pytest.ExitCode.USAGE_ERROR
    r.stderr.fnmatch_lines([f"*{words}*"])
    assert not (project.root / "tests/artifacts").exists()


@pytest.mark.parametrize("places", ["5", "'out'", "[1]"])
def test_a_mark_that_is_no_list(project, places):
    r = project(marked=f"import pytest\n@pytest.mark.cordon(writable={places})\ndef test_marked(): print('RAN')\n")
    assert r.ret == pytest.ExitCode.USAGE_ERROR and "INTERNALERROR" not in r.stdout.str()
    r.stderr.fnmatch_lines(["*test_marked*is a list of strings*"])
