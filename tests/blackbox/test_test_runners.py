"""`cordon test`: pytest and what belongs to it, other runners, and a suite that nobody here wrote."""
import os
import re
import shutil
import subprocess
import sys

import pytest

import support
from guarded import PYTEST, SUITE, by_test, document, python, run_test, unchanged


# --- pytest ----------------------------------------------------------------------------------------


def test_the_violations_name_their_tests(suite):
    with unchanged(suite):
        r = document(suite, "--", *PYTEST, "-p", "no:cacheprovider", env={"HOME": f"{suite}/home"})
    assert r.doc["status"] == "POLICY_VIOLATION" and r.rc == 1  # although all passed
    assert "6 passed" in r.text, r.text
    found = by_test(r.doc, suite)
    tmp = found.pop("test_tmp[1]")
    assert tmp.startswith("/tmp/")
    assert found == {"test_config": "config.toml", "test_home": "home/x", "TestBeside::test_child": "src/beside"}
    assert "  test: tests/test_suite.py::test_config\n" in r.err.decode()


def test_workers_of_xdist(suite):
    pytest.importorskip("xdist")
    r = document(suite, "--", *PYTEST, "-n", "2", "-p", "no:cacheprovider", env={"HOME": f"{suite}/home"})
    assert "6 passed" in r.text, r.told()
    assert sorted(by_test(r.doc, suite)) == ["TestBeside::test_child", "test_config", "test_home", "test_tmp[1]"]


def test_a_violation_while_tests_are_collected(project):
    (project / "tests/test_early.py").write_text("try:\n    open('config.toml', 'w')\nexcept OSError:\n    pass\n"
                                                 "def test_a(): pass\n")
    r = document(project, "--", *PYTEST, code=1)
    assert [v["test"] for v in r.doc["violations"]] == ["tests/test_early.py"]


@pytest.mark.parametrize("options", [[], ["-x"]], ids=["to-the-end", "first-failure"])
def test_a_violation_after_the_tests_belongs_to_none(project, options):
    (project / "tests/conftest.py").write_text(
        "def pytest_sessionfinish():\n    try: open('config.toml', 'w')\n    except OSError: pass\n")
    (project / "tests/test_a.py").write_text("def test_a(): assert 0\ndef test_b(): pass\n")
    r = document(project, "--", *PYTEST, *options, "-p", "no:cacheprovider", code=1)
    assert [v.get("test") for v in r.doc["violations"]] == [None], r.told()


def test_the_plugin_never_writes_to_a_file_of_the_tests(project):
    """A test closes all descriptors and opens its own at the same numbers."""
    (project / "tests/test_a.py").write_text(
        "import os\nkept = []\ndef test_a():\n    os.closerange(3, 64)\n"
        "    for i in range(40): kept.append(open(f'tests/own{i}', 'w'))\n"
        "def test_b():\n    try: open('config.toml', 'w')\n    except OSError: pass\n"
        "    for i in range(40): assert os.path.getsize(f'tests/own{i}') == 0\n")
    r = document(project, "--", *PYTEST, "-s", "-p", "no:cacheprovider", code=1)
    assert "2 passed" in r.text, r.text
    assert [v["test"] for v in r.doc["violations"]] == ["tests/test_a.py::test_b"]


def test_the_plugin_disturbs_nothing(project):
    """A suite with its own conftest, plug-ins and PYTHONPATH sees what it would see anyway."""
    (project / "tests/own_plugin.py").write_text("import pytest\n@pytest.fixture\ndef own(): return 7\n")
    (project / "tests/conftest.py").write_text(
        "import sys, os\npytest_plugins = ['own_plugin']\n"
        "def pytest_runtest_protocol(item, nextitem): return None\n")
    (project / "tests/test_a.py").write_text(
        "import os, subprocess, sys\ndef test_a(own):\n    assert own == 7\n"
        "    assert os.environ.get('PYTHONPATH') == os.environ.get('WANTED')\n"
        "    assert '_isolation_workspace' not in sys.path[0]\n")
    for path in (None, f"{project}/src"):
        env = {"PYTHONPATH": path, "WANTED": path} if path else {}
        r = run_test(project, "--", *PYTEST, "-W", "error", "--strict-config", code=0, env=env)
        assert "1 passed" in r.text
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": f"{project}/src", "WANTED": f"{project}/src"}
    run_test(project, "--", *PYTEST, code=0, env=env)


def test_caches_still_work(suite):
    """Bytecode (its variable unset), the cache of pytest, and coverage."""
    (suite / "tests/test_suite.py").write_text(SUITE.split("def test_config")[0])
    run_test(suite, "--", "env", "-u", "PYTHONDONTWRITEBYTECODE", support.PYTHON, "-c",
             "import sys; sys.path.insert(0, 'src'); import program", code=0)
    assert list((suite / "src/__pycache__").glob("program.*.pyc"))
    run_test(suite, "--", *PYTEST, code=0)
    assert (suite / ".pytest_cache/v/cache/nodeids").exists()
    assert "1 passed" in run_test(suite, "--", *PYTEST, "--lf", code=0).text
    if not shutil.which("python3-coverage"):
        pytest.skip("python3-coverage is not installed")
    r = run_test(suite, "--", "python3-coverage", "run", "--source", "src", "-m", "pytest", "-q", code=0)
    assert (suite / ".coverage").exists(), r.told()
    r = subprocess.run(["python3-coverage", "report"], cwd=suite, stdout=subprocess.PIPE, check=True)
    assert b"src/program.py" in r.stdout


BYTECODE = ["--setenv", "PYTHONDONTWRITEBYTECODE="]


def test_pytest_writes_bytecode(suite, place):
    """In the project; what lies elsewhere is read as ever, and its bytecode is refused without a word."""
    elsewhere = place.parent / f"{place.name}-elsewhere"
    elsewhere.mkdir()
    try:
        (elsewhere / "library.py").write_text("value = 1\n")
        (suite / "tests/test_suite.py").write_text(
            SUITE.split("def test_config")[0] + "def test_library():\n    import library\n    assert library.value == 1\n")
        env = {"PYTHONPATH": str(elsewhere)}
        r = document(suite, *BYTECODE, "--", *PYTEST, env=env, code=0)
        assert r.doc["violations"] == [] and "2 passed" in r.text, r.told()
        assert not (elsewhere / "__pycache__").exists()
        assert list((suite / "src/__pycache__").glob("program.*.pyc"))
        assert list((suite / "tests/__pycache__").glob("test_suite.*-pytest-*.pyc"))
        assert (suite / ".pytest_cache/v/cache/nodeids").exists()
        # A name that only begins so is named.
        r = document(suite, *python(f"import os; os.mkdir('{elsewhere}/__pycache__x')"))
        assert r.rc != 0 and [v["path"] for v in r.doc["violations"]] == [f"{elsewhere}/__pycache__x"]
        r = document(suite, *python(f"import os; os.mkdir('{elsewhere}/__pycache__')"))
        assert r.doc["violations"] == [] and r.rc != 0 and "Read-only" in r.doc["stderr"], r.told()
        (suite / "cordon.json").write_text('{"test": {"caches": []}}')  # in the project it is what cordon.json says
        shutil.rmtree(suite / "src/__pycache__")
        r = document(suite, *python("import os; os.mkdir('src/__pycache__')"))
        assert [v["path"] for v in r.doc["violations"]] == [f"{suite}/src/__pycache__"], r.told()
    finally:
        shutil.rmtree(elsewhere)


def test_coverage_in_child_processes(suite):
    if not shutil.which("python3-coverage"):
        pytest.skip("python3-coverage is not installed")
    (suite / "tests/test_suite.py").write_text(
        "import subprocess, sys\ndef test_child():\n"
        "    subprocess.run(['python3-coverage', 'run', '-p', '--source', 'src', 'src/child.py'], check=True)\n")
    (suite / "src/child.py").write_text("import program\nprint(program.answer())\n")
    for command in (["run", "-p", "--source", "src", "-m", "pytest", "-q"], ["combine"]):
        r = document(suite, *BYTECODE, "--", "python3-coverage", *command, code=0)
        assert r.doc["violations"] == [], r.told()
        assert bool(list(suite.glob(".coverage.*"))) == (command != ["combine"])
    r = subprocess.run(["python3-coverage", "report"], cwd=suite, stdout=subprocess.PIPE, check=True)
    assert re.search(rb"src/child.py +2 +0 +100%", r.stdout) and re.search(rb"src/program.py +2 +0 +100%", r.stdout)


# --- other runners ---------------------------------------------------------------------------------


def test_other_runners(project):
    (project / "tests/test_u.py").write_text(
        "import tempfile, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertIn('_isolation_workspace_', tempfile.mkdtemp())\n")
    run_test(project, "--", support.PYTHON, "-m", "unittest", "discover", "tests", code=0)


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@needs("node")
def test_the_runner_of_node(project):
    (project / "tests/a.test.mjs").write_text(
        "import test from 'node:test'; import fs from 'node:fs'; import os from 'node:os';\n"
        "test('temporary files', () => { fs.writeFileSync(os.tmpdir() + '/x', 'y'); });\n")
    run_test(project, "--", "node", "--test", "tests/a.test.mjs", code=0)
    (project / "tests/b.test.mjs").write_text(
        "import fs from 'node:fs'; try { fs.writeFileSync('config.toml', 'y'); } catch {}\n")
    with unchanged(project):
        run_test(project, "--", "node", "tests/b.test.mjs", code=1)


def caught(project, command, test, env):
    """The command passes, with nothing to tell; then one of its tests tries to write to config.toml."""
    r = document(project, "--", *command, code=0, env=env)
    assert r.doc["violations"] == [], r.told()
    test.write_text(test.read_text().replace("config.none", "config.toml"))
    r = document(project, "--", *command, code=1, env=env)
    assert [v["path"] for v in r.doc["violations"]] == [f"{project}/config.toml"], r.told()
    assert (project / "config.toml").read_text() == "keep = 1\n"


@needs("meson")
def test_meson_test(project):
    (project / "meson.build").write_text(
        "project('x')\ntest('t', find_program('tests/t.sh'), workdir: meson.current_source_dir())\n")
    test = project / "tests/t.sh"
    test.write_text("#!/bin/sh\n[ ! -e config.none ] || echo lost >config.none || true\n")
    test.chmod(0o755)
    subprocess.run(["meson", "setup", "build"], cwd=project, check=True, stdout=subprocess.DEVNULL)
    caught(project, ["meson", "test", "-C", "build"], test, {})
    assert (project / "build/meson-logs/testlog.txt").exists()


@needs("ctest")
def test_ctest(project):
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(x NONE)\nenable_testing()\n"
        "add_test(NAME t COMMAND sh tests/t.sh WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})\n")
    test = project / "tests/t.sh"
    test.write_text("[ ! -e config.none ] || echo lost >config.none || true\n")
    subprocess.run(["cmake", "-B", "build", "-S", "."], cwd=project, check=True, stdout=subprocess.DEVNULL)
    caught(project, ["ctest", "--test-dir", "build"], test, {})
    assert (project / "build/Testing/Temporary/LastTest.log").exists()


@needs("ctest")
def test_ctest_beside_sources_of_that_name(project):
    """Projects keep baselines in Modules/*/Testing; ctest writes into Testing of the build directory."""
    baseline = project / "Modules/Core/Testing/Baseline/x.txt"
    baseline.parent.mkdir(parents=True)
    baseline.write_text("keep")
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(x NONE)\nenable_testing()\n"
        "add_test(NAME t COMMAND sh tests/t.sh WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})\n")
    (project / "tests/t.sh").write_text(f"echo lost >{baseline} || true\n")
    subprocess.run(["cmake", "-B", "build", "-S", "."], cwd=project, check=True, stdout=subprocess.DEVNULL)
    r = document(project, "--", "ctest", "--test-dir", "build", code=1)
    assert [v["path"] for v in r.doc["violations"]] == [str(baseline)], r.told()
    assert baseline.read_text() == "keep"
    assert (project / "build/Testing/Temporary/LastTest.log").exists()


@needs("go")
def test_go_test(project):
    (project / "go.mod").write_text("module example.org/x\n\ngo 1.19\n")
    test = project / "x_test.go"
    test.write_text('package x\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestX(t *testing.T) {\n'
                    '\tif f, err := os.OpenFile("config.none", os.O_WRONLY, 0); err == nil {\n\t\tf.Close()\n\t}\n'
                    '\tif os.WriteFile(t.TempDir()+"/f", nil, 0o644) != nil {\n\t\tt.Fatal()\n\t}\n}\n')
    caught(project, ["go", "test", "./..."], test, {"CGO_ENABLED": "0"})


@needs("cargo")
def test_cargo_test(project):
    if subprocess.run(["cargo", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False).returncode != 0:
        pytest.skip("cargo is not set up for this user")
    (project / "Cargo.toml").write_text('[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n')
    (project / "src/lib.rs").write_text("")
    test = project / "tests/a.rs"
    test.write_text('#[test]\nfn a() {\n    let _ = std::fs::OpenOptions::new().write(true).open("config.none");\n}\n')
    subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=project, check=True, stderr=subprocess.DEVNULL)
    caught(project, ["cargo", "test", "--offline"], test, {k: os.environ[k] for k in ("PATH", "HOME")})


@needs("git")
def test_a_look_at_the_repository_is_no_violation(project):
    """It would refresh the index by the way, and goes on where it cannot; a change of it is named."""
    own = {**support.ENV, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for words in (["init", "-q"], ["add", "."],
                  ["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=project, env=own, check=True)
    os.utime(project / "config.toml")  # so that the index is to be refreshed
    look = ["--", "git", "status", "--porcelain"]
    r = document(project, *look, code=0)
    assert r.doc["violations"] == [], r.told()
    lock = f"{project}/.git/index.lock"
    r = document(project, "--setenv", "GIT_OPTIONAL_LOCKS=1", *look)
    assert {v["path"] for v in r.doc["violations"]} == {lock}, r.told()
    r = document(project, "--", "sh", "-c", "git rm -q --cached config.toml || true", code=1)
    assert lock in [v["path"] for v in r.doc["violations"]], r.told()


def test_locks_of_cargo_are_no_violation(project, place):
    """Outside of the project it cannot take them, and goes on."""
    elsewhere = place.parent / f"{place.name}-elsewhere"
    elsewhere.mkdir()
    try:
        act = "try: open('{}/{}', 'a')\nexcept OSError as e: print(e.strerror)"
        for name in (".package-cache", ".package-cache-mutate", ".global-cache"):
            r = document(project, *python(act.format(elsewhere, name)), code=0)
            assert r.doc["violations"] == [] and "Read-only" in r.text, r.told()
            r = document(project, *python(act.format(project, name)), code=1)
            assert [v["path"] for v in r.doc["violations"]] == [f"{project}/{name}"]
        (elsewhere / ".global-cache").mkdir()
        r = document(project, *python(act.format(elsewhere, ".global-cache/x")), code=1)
        assert [v["path"] for v in r.doc["violations"]] == [f"{elsewhere}/.global-cache/x"]
    finally:
        shutil.rmtree(elsewhere)


# --- a suite that nobody here wrote ----------------------------------------------------------------

REAL = ["test_tempfile", "test_glob", "test_json", "test_csv", "test_pathlib", "test_fileio"]
if support.ALL and not support.ROOT:
    REAL += ["test_os", "test_subprocess"]  # as root they become other users, and there are none inside


def test_a_suite_that_nobody_here_wrote(project):
    """The tests of Python's own library, from Debian: they pass outside and inside, unchanged."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not os.path.exists(f"/usr/lib/python{version}/test/test_tempfile.py"):
        pytest.skip(f"libpython{version}-testsuite is not installed")
    r = document(project, "--", support.PYTHON, "-m", "test", *REAL, timeout=300)
    assert r.rc == 0 and f"All {len(REAL)} tests OK" in r.text, r.text[-3000:]
    assert r.doc["violations"] == []
