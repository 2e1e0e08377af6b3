"""`cordon test`: the root, the configuration, the command and cordon.json (T11 to T19, T21, T22)."""
import json
import os
import pathlib
import shutil

import pytest

import support
from guarded import PYTEST, artifacts, document, python, run_test, unchanged


# --- the configuration of a run ------------------------------------------------------------------

SHOW = ["--", "sh", "-c", 'printf %s "$CORDON_TEST_CONFIG"']


def test_t11_both_forms_first_wins_absolute(project):
    (project / "sub").mkdir()
    for args in (["--config", "c.toml"], ["--config=c.toml"], ["--config=c.toml", "--config", "d.toml"],
                 ["--config", "./x/../c.toml"]):
        assert run_test(project, *args, *SHOW, code=0).text == f"{project}/c.toml", args
        r = run_test(project, "--root", project, *args, *SHOW, code=0, cwd=project / "sub")
        assert r.text == f"{project}/sub/c.toml", args


def test_t12_without_a_value_is_an_error(project):
    for args in (["--config"], ["--config", "--", "true"], ["--config="]):
        r = run_test(project, *args, code=2)
        assert b"--config" in r.err, r.told()


def test_t13_and_t14_the_generated_configuration(project):
    r = run_test(project, "--", "sh", "-c", 'echo "$CORDON_TEST_CONFIG" {config}; cat {config}; exit 3', code=3)
    first, _, text = r.text.partition("\n")
    path = f"{project}/tests/artifacts/_isolation_workspace_1/config_overrides.toml"
    assert first.split() == [path, path]
    assert pathlib.Path(path).read_text() == text  # kept, because the run failed
    config = pytest.importorskip("tomllib").loads(text)
    assert config["ai"]["provider"] and "projects" in config and "show_windows" in config["gui"]


def test_t14_a_template_of_the_project(project):
    (project / "tests/base.toml").write_text("own = true\n")
    (project / "cordon.json").write_text('{"test": {"config_template": "tests/base.toml"}}')
    assert run_test(project, "--", "sh", "-c", "cat {config}", code=0).text == "own = true\n"
    (project / "cordon.json").write_text('{"test": {"config_template": "tests/missing.toml"}}')
    r = run_test(project, "--", "true", code=2)
    assert b"tests/missing.toml" in r.err


def test_t15_an_explicit_one_is_honoured(project):
    r = run_test(project, "--config", "/some/other.toml", "--", "sh", "-c",
                 'printf "%s " "$CORDON_TEST_CONFIG"; ls tests/artifacts/*/config_overrides.toml', code=2)
    assert r.text == "/some/other.toml "


def test_t16_and_t17_no_variable_selects_it(project):
    env = {"SLOP_CONFIG": f"{project}/config.toml", "CORDON_TEST_CONFIG": "/evil"}
    plain = run_test(project, "--print-config", code=0).text
    assert plain == f"{project}/tests/artifacts/_isolation_workspace_1/config_overrides.toml\n"
    assert run_test(project, "--print-config", code=0, env=env).text == plain
    assert artifacts(project) == []
    r = run_test(project, "--", "env", code=0, env=env)
    assert "SLOP_CONFIG" not in r.text and f"CORDON_TEST_CONFIG={plain}" in r.text
    assert run_test(project, "--config", "/o.toml", "--print-config", code=0).text == "/o.toml\n"


# --- places and commands ---------------------------------------------------------------------------


def test_t18_base_temp_and_temporary_files(project):
    (project / "tests/test_a.py").write_text(
        "import os, tempfile\ndef test_place(tmp_path):\n"
        "    assert 'tests/artifacts/_pytest_tmp/' in str(tmp_path)\n"
        "    assert 'tests/artifacts/_isolation_workspace_' in tempfile.mkdtemp()\n")
    r = document(project, "--", *PYTEST, code=0)
    assert r.doc["cmd"][:4] == [support.PYTHON, "-m", "pytest", "-p"]
    assert f"--basetemp={project}/tests/artifacts/_pytest_tmp" in r.doc["cmd"]
    r = document(project, "--cwd", project / "tests", "--", *PYTEST, "test_a.py", code=0)  # from there, too
    assert "1 passed" in r.text and not (project / "tests/tests").exists()
    env = run_test(project, "--", "env", code=0).text
    workspace = f"{project}/tests/artifacts/_isolation_workspace_1"
    for line in (f"HOME={workspace}/home", f"TMPDIR={workspace}/tmp", f"XDG_CACHE_HOME={workspace}/cache",
                 f"GOCACHE={workspace}/cache/go-build", "PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
                 f"PWD={project}"):
        assert f"{line}\n" in env, line


def test_what_tools_keep_at_home_stays_readable(project):
    """Its place is named, if it is there and nobody named it; HOME itself is the run's own."""
    home = project / "src"
    (home / ".cargo").mkdir()
    (home / ".gitconfig").write_text("[user]\n")
    env = {"HOME": str(home), "GOMODCACHE": "/own"}
    text = run_test(project, "--", "env", code=0, env=env).text
    assert f"CARGO_HOME={home}/.cargo\n" in text and f"GIT_CONFIG_GLOBAL={home}/.gitconfig\n" in text
    assert "GOMODCACHE=/own\n" in text and "RUSTUP_HOME" not in text and f"HOME={home}\n" not in text


def test_variables_that_the_caller_sets_are_not_replaced(project):
    (project / "src/.cargo").mkdir()
    options = ["--setenv", "TMPDIR=/own", "--setenv", "GOCACHE=", "--setenv", "CARGO_HOME=/own"]
    text = run_test(project, *options, "--", "env", code=0, env={"HOME": str(project / "src")}).text
    assert "\nTMPDIR=/own\n" in f"\n{text}" and "\nGOCACHE=\n" in text and "\nCARGO_HOME=/own\n" in text
    assert "\nTMP=/" in f"\n{text}" and "/own" not in text.split("\nTMP=")[1].split("\n")[0]
    (project / "tests/test_a.py").write_text(
        "import os, program\ndef test_a(): assert os.environ['PYTHONPATH'] == 'src'\n")
    r = run_test(project, "--setenv", "PYTHONPATH=src", "--", *PYTEST, code=0, env={"PYTHONPATH": "/elsewhere"})
    assert b"1 passed" in r.out, r.told()
    (project / "p.json").write_text('{"version": 1, "extends": "stage", "fs": {"mode": "guard"}, "net": "host"}')
    text = run_test(project, "--policy", "p.json", "--", "env", code=0).text
    assert "_isolation_workspace_1/home\n" in text.split("HOME=")[1], text  # not what that profile has


def test_t19_the_usual_place_for_temporary_files(project):
    raw = "import os, tempfile\nfor k in ('TMPDIR', 'TMP', 'TEMP'): os.environ.pop(k)\n"
    r = document(project, *python(raw + "open(tempfile.gettempdir() + '/x-of-mine', 'w')\n"))
    assert r.rc != 0
    r = document(project, *python(raw + "tempfile.mkdtemp(dir='tests')\n"), code=0)
    r = document(project, *python("import tempfile; tempfile.mkdtemp(); tempfile.NamedTemporaryFile()"), code=0)


def test_t21_a_dry_run_does_nothing(project):
    before = sorted(project.rglob("*"))
    r = run_test(project, "--dry-run", "--", "touch", "tests/x", code=0)
    assert f"project root: {project}\n" in r.text and "command: touch tests/x\n" in r.text
    assert "filesystem" in r.text
    assert sorted(project.rglob("*")) == before


def test_t22_root_directory_and_exit_status(project):
    r = run_test(project, "--root", project, "--", "sh", "-c", "pwd; exit 5", code=5, cwd="/")
    assert r.text == f"{project}\n"
    (project / "tests/test_a.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    assert run_test(project, "--", *PYTEST, "tests/test_a.py", code=1).rc == 1
    assert run_test(project, "--", *PYTEST, "tests/test_a.py::test_a", code=0).rc == 0
    assert run_test(project, "--", "sh", "-c", "kill -9 $$", code=137).rc == 137
    assert run_test(project, "--", "nothing-of-this-name", code=127).rc == 127


def test_the_root_is_found_upward(project):
    (project / "src/deep").mkdir()
    at = project / "src/deep"
    (project / ".git").mkdir()
    assert run_test(project, "--", "pwd", code=0, cwd=at).text == f"{project}\n"
    (project / "src/cordon.json").write_text("{}")  # nearer than the top of git
    assert run_test(project, "--", "pwd", code=0, cwd=at).text == f"{project}/src\n"
    (project / "cordon.json").write_text('{"test": {"root": "src"}}')
    os.unlink(project / "src/cordon.json")
    assert run_test(project, "--", "pwd", code=0, cwd=at).text == f"{project}/src\n"
    shutil.rmtree(project / ".git")
    os.unlink(project / "cordon.json")
    assert run_test(project, "--", "pwd", code=0, cwd=at).text == f"{at}\n"


@pytest.mark.skipif(not support.ROOT, reason="only root can give a file to somebody else")
def test_a_stranger_above_does_not_choose_the_root(project):
    (project / "src/mine").mkdir()
    os.chown(project / "src/mine", 1501, 1501)
    (project / "cordon.json").write_text("{}")
    os.chown(project / "cordon.json", 1502, 1502)
    r = run_test(project, "--", "pwd", code=0, cwd=project / "src/mine")
    assert r.text == f"{project}/src/mine\n"


def test_without_a_command(project):
    (project / "tests/test_a.py").write_text("def test_a(): pass\n")
    r = run_test(project, code=0)
    assert "1 passed" in r.text
    (project / "cordon.json").write_text('{"test": {"command": ["sh", "-c", "echo own {config}"]}}')
    assert run_test(project, code=0).text.startswith(f"own {project}/tests/artifacts/")
    os.unlink(project / "cordon.json")
    assert b"pytest" in run_test(project, code=2, env={"PATH": "/nonexistent"}).err
    assert run_test(project, "--", code=2).err.startswith(b"cordon: read command '--'")  # P26
    assert b"put -- before" in run_test(project, "pytest", code=2).err


# --- cordon.json -----------------------------------------------------------------------------------


def test_writable_places_and_caches(project):
    (project / "data/in").mkdir(parents=True)
    (project / "cordon.json").write_text('{"test": {"writable": ["tests", "data/in"], "caches": [".own_cache"]}}')
    act = ("import os\nopen('data/in/x', 'w').close()\nos.makedirs('src/.own_cache')\n"
           "open('src/.own_cache/y', 'w').close()\n")
    document(project, *python(act), code=0)
    assert (project / "data/in/x").exists() and (project / "src/.own_cache/y").exists()
    r = document(project, *python("open('data/x', 'w')"))
    assert r.doc["status"] == "POLICY_VIOLATION"
    r = document(project, *python("import os; os.mkdir('src/__pycache__')"))  # the list replaces
    assert r.doc["status"] == "POLICY_VIOLATION"


def test_a_workspace_elsewhere(project):
    (project / "spec").mkdir()
    (project / "cordon.json").write_text('{"test": {"writable": ["spec"]}}')
    r = run_test(project, "--", "sh", "-c", "echo $TMPDIR; exit 1", code=1)
    assert r.text == f"{project}/spec/artifacts/_isolation_workspace_1/tmp\n"
    assert artifacts(project) == []


@pytest.mark.parametrize("text,where", [
    ("{", b"1:2: "), ('{"test": {"writable": ["../x"]}}', b"'/test/writable/0': 1:24: "),
    ('{"test": {"writable": ["/etc"]}}', b"'/test/writable/0': 1:24: "),
    ('{"test": {"writeable": []}}', b"did you mean \"writable\"?"),
    ('{"test": {"root": "missing"}}', b"missing"),
    ('{"test": {"command": "pytest"}}', b"'/test/command': 1:22: "),
    ('{"audit": {}, "audit": {}}', b"1:15: ")])
def test_a_bad_cordon_json(project, text, where):
    (project / "cordon.json").write_text(text)
    before = sorted(project.rglob("*"))
    r = run_test(project, "--", "touch", "tests/ran", code=2)
    assert where in r.err, r.told()
    assert sorted(project.rglob("*")) == before


def test_a_cordon_json_that_cannot_be_read(project):
    os.mkfifo(project / "cordon.json")
    assert b"not a regular file" in run_test(project, "--", "true", code=2).err
    os.unlink(project / "cordon.json")
    os.symlink("/etc/passwd", project / "cordon.json")
    assert b"symbolic link" in run_test(project, "--", "true", code=2).err
    os.unlink(project / "cordon.json")
    (project / "cordon.json").write_text("{}")
    (project / "cordon.json").chmod(0)
    if not support.ROOT:
        assert b"permission denied" in run_test(project, "--", "true", code=2).err.lower()


def test_it_is_never_written(project):
    (project / "cordon.json").write_text('{"test": {"writable": ["tests"]}}')
    with unchanged(project):
        r = run_test(project, *python("open('cordon.json', 'w')"))
    assert r.rc != 0


def test_a_missing_root(project):
    r = run_test(project, "--root", project / "missing", "--", "true", code=2)
    assert b"find project root" in r.err and b"no such file" in r.err.lower()
    assert run_test(project, "--root", project / "config.toml", "--", "true", code=2).rc == 2


def test_another_profile_is_refused(project):
    r = run_test(project, "--profile", "stage", "--", "true", code=2)
    assert b"guards the host's tree" in r.err


def test_within_holds_for_what_cordon_json_asks(project):
    (project / "ceiling.json").write_text('{"version": 1, "extends": "test"}')
    r = run_test(project, "--within", "ceiling.json", "--", "true", code=2)
    assert b"/fs/rw" in r.err, r.told()


def test_a_ceiling_grants_no_caches_that_cordon_json_names(project):
    write_to_src = ("--", "sh", "-c", "echo changed > src/cached")
    (project / "src").mkdir(exist_ok=True)
    (project / "cordon.json").write_text('{"test": {"caches": ["src"]}}')
    assert run_test(project, *write_to_src).rc == 0 and (project / "src/cached").exists()
    (project / "src/cached").unlink()
    (project / "ceiling.json").write_text(json.dumps(
        {"version": 1, "extends": "test", "fs": {"rw": [str(project / "tests")]}}))
    r = run_test(project, "--within", "ceiling.json", *write_to_src, code=2)
    assert b"/test/caches" in r.err and not (project / "src/cached").exists(), r.told()
