"""`cordon test`: T1 to T23, its workspace, its words and its page, as root and as a user.

The kernel's side (every way to write, from every language) is in test_guard.py.
"""
import contextlib
import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tomllib

import pytest

import support

PYTEST = [support.PYTHON, "-m", "pytest", "-q"]
DATA = ["manual_slop.toml", "manual_slop_history.toml", "config.toml", "credentials.toml",
        "presets.toml", "personas.toml", "tool_presets.toml", "x.ini"]
FIX = "write under tests/ (pytest: tmp_path; else tests/artifacts/)"


@pytest.fixture
def project(place):
    """A project with data that somebody would miss."""
    (place / "tests").mkdir()
    (place / "src").mkdir()
    (place / "src/program.py").write_text("def answer():\n    return 42\n")
    for name in DATA:
        (place / name).write_text("keep = 1\n")
        os.utime(place / name, (1e9, 1e9))
    return place


def facts(project):
    """All that a write could change outside of tests/."""
    found = {}
    for path in sorted(project.rglob("*")):
        name = str(path.relative_to(project))
        if name.split("/")[0] == "tests":
            continue
        st = path.lstat()
        found[name] = (st.st_mode, st.st_uid, st.st_size, st.st_nlink,
                       path.read_bytes() if path.is_file() else None,
                       st.st_mtime_ns if path.is_file() else None)
    return found


@contextlib.contextmanager
def unchanged(project):
    before = facts(project)
    yield
    assert facts(project) == before


def test_run(project, *args, code=None, **kw):
    kw.setdefault("cwd", project)
    r = support.cordon("test", *args, **kw)
    assert code is None or r.rc == code, r.told()
    return r


test_run.__test__ = False


def document(project, *args, code=None, **kw):
    """The result document of a run, validated."""
    r = test_run(project, "--json", *args, code=code, **kw)
    r.doc = json.loads(r.out)
    support.check_document(r.doc)
    return r


def python(code):
    return ["--", support.PYTHON, "-c", code]


def artifacts(project):
    path = project / "tests/artifacts"
    return sorted(p.name for p in path.iterdir()) if path.exists() else []


# --- T1 to T10: what is refused, and how it is said ------------------------------------------------


def test_t1_nothing_outside_of_tests_changes(project):
    act = "open('config.toml', 'w').write('lost')"
    subprocess.run([support.PYTHON, "-c", act], cwd=project, check=True)  # without cordon
    assert (project / "config.toml").read_text() == "lost"
    with unchanged(project):
        r = document(project, *python(act))
    assert r.rc != 0
    assert r.doc["status"] == "POLICY_VIOLATION" and r.doc["exit"]["code"] == 1
    assert r.doc["enforced"]["filesystem"]["applied"] is True  # T23
    assert re.search("mount namespace|landlock", r.doc["enforced"]["filesystem"]["mechanism"])


def test_t2_doctor_knows_the_layers():
    r = support.cordon("doctor", "--json", "--profile", "test")
    layers = json.loads(r.out)["profile"]["layers"]
    assert len(layers) == 4 and all(v["state"] == "on" for v in layers.values()), layers


def test_t3_on_without_any_file_and_the_audit_only_tells(project):
    """No file switches the guard and the workspace on or off; cordon.json can only say more exactly what is what."""
    (project / "tests/test_a.py").write_text("Path('config.toml')\ndef test_a(): pass\n")
    act = python("import os; open('config.toml', 'w') if '_isolation_workspace_' in os.environ['HOME'] else 0")
    for _ in range(2):
        with unchanged(project):
            assert document(project, *act).doc["status"] == "POLICY_VIOLATION"
        for options, code in (([], 0), (["--strict"], 1)):
            r = support.cordon("audit", *options, cwd=project)
            assert b"protected-path" in r.out and r.rc == code, r.told()
        (project / "cordon.json").write_text("{}")


def test_t4_reads_are_free(project):
    r = document(project, *python("open('config.toml').read(); open('/etc/passwd', 'rb').read()"), code=0)
    assert r.doc["violations"] == []


@pytest.mark.parametrize("mode", ["w", "a", "x", "r+", "w+", "a+", "wb", "ab"])
def test_t5_modes_that_write(project, mode):
    name = "fresh.txt" if mode == "x" else "config.toml"
    code = f"open('{{}}{name}', '{mode}').close()"
    with unchanged(project):
        r = document(project, *python(code.format("")))
    assert r.rc != 0
    assert [v["path"] for v in r.doc["violations"]] == [f"{project}/{name}"]
    (project / "tests/config.toml").write_text("")
    document(project, *python(code.format("tests/")), code=0)


def test_t6_beneath_tests_by_where_it_leads(project):
    os.symlink("..", project / "tests/up")
    with unchanged(project):
        r = document(project, *python("import os; os.makedirs('tests/artifacts', exist_ok=True);"
                                      "open('tests/artifacts/x', 'w').write('y')"), code=0)
        assert (project / "tests/artifacts/x").read_text() == "y"
        for path in ("tests/../config.toml", "tests/up/config.toml", f"/dev/..{project}/config.toml"):
            r = document(project, *python(f"open({path!r}, 'w')"))
            assert r.doc["status"] == "POLICY_VIOLATION", path
            assert [v["path"] for v in r.doc["violations"]] == [f"{project}/config.toml"]


def test_t7_caches_by_whole_components(project):
    code = "import os\nfor d in {}:\n    os.makedirs(os.path.dirname(d) or '.', exist_ok=True); open(d, 'w').close()"
    granted = [".pytest_cache/v", "src/__pycache__/m.pyc", ".coverage", ".coverage.host.1", ".ruff_cache/x",
               ".slop_cache/y"]
    document(project, *python(code.format(granted)), code=0)
    for name in granted:
        assert (project / name).exists(), name
    for name in (".coveragerc", "my__pycache__/x", ".pytest_cache2"):  # X16
        r = document(project, *python(code.format([name])))
        assert r.rc != 0 and not (project / name).exists(), name


@pytest.mark.parametrize("options", [[], ["--ro", "{0}"]], ids=["covered", "overlay"])
def test_a_cache_grant_does_not_reach_what_is_hidden(project, options):
    (project / "__pycache__").mkdir()
    (project / "__pycache__/key").write_text("secret")
    act = ("import os\np = '__pycache__/key'\nwith open(os.open(p, os.O_RDWR | os.O_CREAT)) as f:\n"
           "    print(f.read())\nos.rename(p, p + '2')\nos.rename(p + '2', p)")
    assert "secret" in document(project, *python(act), code=0).doc["stdout"], "the control"
    tries = ("import os\np = '__pycache__/key'\nfor f in (lambda: open(os.open(p, os.O_RDWR | os.O_CREAT)).read(),\n"
             "          lambda: os.rename(p, p + '2'), lambda: os.unlink(p)):\n"
             "    try:\n        print('done', f())\n    except OSError as e:\n        print(e.strerror)")
    hide = [o.format(project) for o in options] + ["--hide", f"{project}/__pycache__/key"]
    with unchanged(project):
        r = document(project, *hide, *python(tries))
    assert "done" not in r.doc["stdout"] and r.doc["stdout"].count("\n") == 3, r.told()


def test_nothing_is_moved_from_a_writable_place_into_a_cache(project):
    act = ("import os\nos.makedirs('{0}__pycache__/d')\nopen('{0}__pycache__/d/f', 'w').close()\n"
           "os.rename('{0}__pycache__/d', '.pytest_cache')")
    document(project, *python(act.format("src/")), code=0)
    shutil.rmtree(project / ".pytest_cache")
    r = document(project, *python(act.format("tests/")))
    assert r.rc != 0 and "cross-device" in r.doc["stderr"], r.told()
    assert not (project / ".pytest_cache").exists()


def test_t8_devices(project):
    document(project, "--", "sh", "-c", "echo x >/dev/null", code=0)
    # Without a terminal the first is ENXIO outside; the others would be files that root makes by mistake.
    act = ("import os\nfor act in (lambda: open('/dev/tty', 'a'), lambda: open('/dev/nul', 'w'), lambda: os.mkdir('/dev/d'),\n"
           "            lambda: open('/dev/pts/99', 'w')):\n"
           "    try: act(); print('done')\n    except OSError: pass\n")
    r = document(project, *python(act), code=0)
    assert r.doc["violations"] == [] and "done" not in r.text, r.told()
    with unchanged(project):
        r = document(project, *python(f"open('/dev/..{project}/config.toml', 'w')"))
    assert r.rc != 0 and [v["path"] for v in r.doc["violations"]] == [f"{project}/config.toml"]


def test_numbers_of_other_users(project):
    """They do not exist inside; the answer is the one that everybody but root gets outside."""
    act = ("import json, os\nopen('tests/f', 'w').close()\ndef tried(act, *args):\n"
           "    try: act(*args); return 0\n    except OSError as e: return e.errno\n"
           "me = os.getuid(), os.getgid()\n"
           "print(json.dumps([tried(os.chown, 'tests/f', 12345, -1), tried(os.lchown, 'tests/f', -1, 12345),\n"
           "    tried(os.fchown, os.open('tests/f', 0), 12345, 12345), tried(os.chown, 'tests/none', 12345, -1),\n"
           "    tried(os.setuid, 12345), tried(os.setreuid, -1, 12345), tried(os.setresgid, -1, -1, 12345), tried(os.setgid, 12345),\n"
           "    tried(os.chown, 'tests/f', *me), tried(os.chown, 'tests/f', -1, -1), tried(os.setreuid, -1, me[0]),\n"
           "    tried(os.setgid, me[1])]))\n")
    want = [1, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0, 0]
    if not support.ROOT:
        outside = subprocess.run([support.PYTHON, "-c", act], cwd=project, check=True, stdout=subprocess.PIPE)
        assert json.loads(outside.stdout) == want
    assert json.loads(test_run(project, *python(act), code=0).out) == want


def test_t9_and_t10_the_words(project):
    act = "import contextlib\nwith contextlib.suppress(OSError):\n    open('config.toml', 'w')"
    r = test_run(project, *python(act), code=1)  # it hid the error
    text = r.err.decode()
    assert re.search(rf"^TEST_SANDBOX_VIOLATION: attempted to write to {project}/config\.toml "
                     r"\(open for writing, pid \d+ python3\)$", text, re.M), text
    assert f"  fix: {FIX}, or in a directory that \"writable\" in cordon.json names\n" in text
    assert text.count("TEST_SANDBOX_VIOLATION") == 1
    r = test_run(project, *python("open('src/out.txt', 'w')"), code=1)
    assert f'{FIX}, or add "src" to "writable" in cordon.json' in r.err.decode()
    r = test_run(project, *python("open('/tmp/x-of-mine', 'w')"), code=1)
    assert f"{FIX}; TMPDIR names a place there; or allow it with --rw DIR" in r.err.decode()


def test_one_block_a_path_with_all_its_calls(project):
    act = ("import contextlib, os\nfor i in range(7):\n"
           "    for f in (lambda: open('config.toml', 'w'), lambda: os.unlink('config.toml')):\n"
           "        with contextlib.suppress(OSError): f()\n")
    r = test_run(project, *python(act), code=1)
    assert r.err.count(b"TEST_SANDBOX_VIOLATION") == 1
    assert b"14 times in all" in r.err
    assert b"cordon: 14 refused writes to 1 path\n" in r.err


def test_on_violation_report(project):
    act = "try: open('config.toml', 'w')\nexcept OSError: pass"
    with unchanged(project):
        r = document(project, "--on-violation", "report", *python(act), code=0)
    assert r.doc["status"] == "OK" and len(r.doc["violations"]) == 1
    assert b"TEST_SANDBOX_VIOLATION" in r.err
    assert test_run(project, "--on-violation", "fail", *python(act)).rc == 1
    assert test_run(project, "--on-violation", "never", *python(act)).rc == 2


def test_hostile_names_are_escaped(project):
    act = "import os\ntry: os.mkdir('a\\x1b[31m\\nb')\nexcept OSError: pass"
    r = test_run(project, *python(act), code=1)
    assert b"\033" not in r.err and b"a\\x1b[31m\\nb" in r.err


# --- T11 to T17: the configuration -----------------------------------------------------------------

SHOW = ["--", "sh", "-c", 'printf %s "$CORDON_TEST_CONFIG"']


def test_t11_both_forms_first_wins_absolute(project):
    (project / "sub").mkdir()
    for args in (["--config", "c.toml"], ["--config=c.toml"], ["--config=c.toml", "--config", "d.toml"],
                 ["--config", "./x/../c.toml"]):
        assert test_run(project, *args, *SHOW, code=0).text == f"{project}/c.toml", args
        r = test_run(project, "--root", project, *args, *SHOW, code=0, cwd=project / "sub")
        assert r.text == f"{project}/sub/c.toml", args


def test_t12_without_a_value_is_an_error(project):
    for args in (["--config"], ["--config", "--", "true"], ["--config="]):
        r = test_run(project, *args, code=2)
        assert b"--config" in r.err, r.told()


def test_t13_and_t14_the_generated_configuration(project):
    r = test_run(project, "--", "sh", "-c", 'echo "$CORDON_TEST_CONFIG" {config}; cat {config}; exit 3', code=3)
    first, _, text = r.text.partition("\n")
    path = f"{project}/tests/artifacts/_isolation_workspace_1/config_overrides.toml"
    assert first.split() == [path, path]
    assert pathlib.Path(path).read_text() == text  # kept, because the run failed
    config = tomllib.loads(text)
    assert config["ai"]["provider"] and "projects" in config and "show_windows" in config["gui"]


def test_t14_a_template_of_the_project(project):
    (project / "tests/base.toml").write_text("own = true\n")
    (project / "cordon.json").write_text('{"test": {"config_template": "tests/base.toml"}}')
    assert test_run(project, "--", "sh", "-c", "cat {config}", code=0).text == "own = true\n"
    (project / "cordon.json").write_text('{"test": {"config_template": "tests/missing.toml"}}')
    r = test_run(project, "--", "true", code=2)
    assert b"tests/missing.toml" in r.err


def test_t15_an_explicit_one_is_honoured(project):
    r = test_run(project, "--config", "/some/other.toml", "--", "sh", "-c",
                 'printf "%s " "$CORDON_TEST_CONFIG"; ls tests/artifacts/*/config_overrides.toml', code=2)
    assert r.text == "/some/other.toml "


def test_t16_and_t17_no_variable_selects_it(project):
    env = {"SLOP_CONFIG": f"{project}/config.toml", "CORDON_TEST_CONFIG": "/evil"}
    plain = test_run(project, "--print-config", code=0).text
    assert plain == f"{project}/tests/artifacts/_isolation_workspace_1/config_overrides.toml\n"
    assert test_run(project, "--print-config", code=0, env=env).text == plain
    assert artifacts(project) == []
    r = test_run(project, "--", "env", code=0, env=env)
    assert "SLOP_CONFIG" not in r.text and f"CORDON_TEST_CONFIG={plain}" in r.text
    assert test_run(project, "--config", "/o.toml", "--print-config", code=0).text == "/o.toml\n"


# --- T18 to T22: places and commands -----------------------------------------------------------------


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
    env = test_run(project, "--", "env", code=0).text
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
    text = test_run(project, "--", "env", code=0, env=env).text
    assert f"CARGO_HOME={home}/.cargo\n" in text and f"GIT_CONFIG_GLOBAL={home}/.gitconfig\n" in text
    assert "GOMODCACHE=/own\n" in text and "RUSTUP_HOME" not in text and f"HOME={home}\n" not in text


def test_t19_the_usual_place_for_temporary_files(project):
    raw = "import os, tempfile\nfor k in ('TMPDIR', 'TMP', 'TEMP'): os.environ.pop(k)\n"
    r = document(project, *python(raw + "open(tempfile.gettempdir() + '/x-of-mine', 'w')\n"))
    assert r.rc != 0
    r = document(project, *python(raw + "tempfile.mkdtemp(dir='tests')\n"), code=0)
    r = document(project, *python("import tempfile; tempfile.mkdtemp(); tempfile.NamedTemporaryFile()"), code=0)


@pytest.mark.parametrize("name", [*DATA, "new.toml", "new.ini"])
def test_t20_settings_at_the_top(project, name):
    with unchanged(project):
        r = document(project, *python(f"open('{name}', 'w')"))
    assert r.rc != 0 and [v["path"] for v in r.doc["violations"]] == [f"{project}/{name}"]


def test_t21_a_dry_run_does_nothing(project):
    before = sorted(project.rglob("*"))
    r = test_run(project, "--dry-run", "--", "touch", "tests/x", code=0)
    assert f"project root: {project}\n" in r.text and "command: touch tests/x\n" in r.text
    assert "filesystem" in r.text
    assert sorted(project.rglob("*")) == before


def test_t22_root_directory_and_exit_status(project):
    r = test_run(project, "--root", project, "--", "sh", "-c", "pwd; exit 5", code=5, cwd="/")
    assert r.text == f"{project}\n"
    (project / "tests/test_a.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    assert test_run(project, "--", *PYTEST, "tests/test_a.py", code=1).rc == 1
    assert test_run(project, "--", *PYTEST, "tests/test_a.py::test_a", code=0).rc == 0
    assert test_run(project, "--", "sh", "-c", "kill -9 $$", code=137).rc == 137
    assert test_run(project, "--", "nothing-of-this-name", code=127).rc == 127


def test_the_root_is_found_upward(project):
    (project / "src/deep").mkdir()
    at = project / "src/deep"
    (project / ".git").mkdir()
    assert test_run(project, "--", "pwd", code=0, cwd=at).text == f"{project}\n"
    (project / "src/cordon.json").write_text("{}")  # nearer than the top of git
    assert test_run(project, "--", "pwd", code=0, cwd=at).text == f"{project}/src\n"
    (project / "cordon.json").write_text('{"test": {"root": "src"}}')
    os.unlink(project / "src/cordon.json")
    assert test_run(project, "--", "pwd", code=0, cwd=at).text == f"{project}/src\n"
    shutil.rmtree(project / ".git")
    os.unlink(project / "cordon.json")
    assert test_run(project, "--", "pwd", code=0, cwd=at).text == f"{at}\n"


@pytest.mark.skipif(not support.ROOT, reason="only root can give a file to somebody else")
def test_a_stranger_above_does_not_choose_the_root(project):
    (project / "src/mine").mkdir()
    os.chown(project / "src/mine", 1501, 1501)
    (project / "cordon.json").write_text("{}")
    os.chown(project / "cordon.json", 1502, 1502)
    r = test_run(project, "--", "pwd", code=0, cwd=project / "src/mine")
    assert r.text == f"{project}/src/mine\n"


def test_without_a_command(project):
    (project / "tests/test_a.py").write_text("def test_a(): pass\n")
    r = test_run(project, code=0)
    assert "1 passed" in r.text
    (project / "cordon.json").write_text('{"test": {"command": ["sh", "-c", "echo own {config}"]}}')
    assert test_run(project, code=0).text.startswith(f"own {project}/tests/artifacts/")
    os.unlink(project / "cordon.json")
    assert b"pytest" in test_run(project, code=2, env={"PATH": "/nonexistent"}).err
    assert test_run(project, "--", code=2).err.startswith(b"cordon: read command '--'")  # P26
    assert b"put -- before" in test_run(project, "pytest", code=2).err


# --- cordon.json ---------------------------------------------------------------------------------------


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
    r = test_run(project, "--", "sh", "-c", "echo $TMPDIR; exit 1", code=1)
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
    r = test_run(project, "--", "touch", "tests/ran", code=2)
    assert where in r.err, r.told()
    assert sorted(project.rglob("*")) == before


def test_a_cordon_json_that_cannot_be_read(project):
    os.mkfifo(project / "cordon.json")
    assert b"not a regular file" in test_run(project, "--", "true", code=2).err
    os.unlink(project / "cordon.json")
    os.symlink("/etc/passwd", project / "cordon.json")
    assert b"symbolic link" in test_run(project, "--", "true", code=2).err
    os.unlink(project / "cordon.json")
    (project / "cordon.json").write_text("{}")
    (project / "cordon.json").chmod(0)
    if not support.ROOT:
        assert b"permission denied" in test_run(project, "--", "true", code=2).err.lower()


def test_it_is_never_written(project):
    (project / "cordon.json").write_text('{"test": {"writable": ["tests"]}}')
    with unchanged(project):
        r = test_run(project, *python("open('cordon.json', 'w')"))
    assert r.rc != 0


# --- the workspace ------------------------------------------------------------------------------------


def test_a_clean_run_leaves_nothing(project):
    with support.nothing_left():
        test_run(project, "--", "sh", "-c", "echo x >$TMPDIR/y; mkdir $HOME/z", code=0)
    assert not (project / "tests/artifacts").exists()
    os.rmdir(project / "tests")
    test_run(project, "--", "true", code=0)
    assert not (project / "tests").exists()  # made for the run, and gone with it


def test_what_a_failed_run_leaves_goes_with_the_next(project):
    r = test_run(project, "--", "sh", "-c", "echo x >$TMPDIR/y; exit 1", code=1)
    kept = project / "tests/artifacts/_isolation_workspace_1"
    assert f"kept {kept}".encode() in r.err and (kept / "tmp/y").exists()
    assert b"kept" not in test_run(project, "--quiet", "--", "false", code=1).err
    test_run(project, "--", "sh", "-c", "test ! -e $TMPDIR/y", code=0)
    assert artifacts(project) == []


def test_data_of_others_is_not_emptied(project):
    """X18: pytest empties its base temp at the start."""
    for name in ("_pytest_tmp", "_isolation_workspace_2"):
        (project / "tests/artifacts" / name).mkdir(parents=True)
        (project / "tests/artifacts" / name / "mine").write_text("keep")
    (project / "tests/test_a.py").write_text("def test_a(tmp_path): (tmp_path / 'x').write_text('y')\n")
    r = document(project, "--", *PYTEST, code=0)
    assert f"--basetemp={project}/tests/artifacts/_pytest_tmp_3" in r.doc["cmd"]
    assert artifacts(project) == ["_isolation_workspace_2", "_pytest_tmp"]
    assert (project / "tests/artifacts/_pytest_tmp/mine").read_text() == "keep"


def test_two_runs_at_once(project):
    (project / "tests/test_a.py").write_text(
        "import pathlib, time\ndef test_a(tmp_path):\n    pathlib.Path('tests/up' + tmp_path.parts[-2]).touch()\n"
        "    while len(list(pathlib.Path('tests').glob('up*'))) < 2: time.sleep(0.01)\n"
        "    pathlib.Path('tests/base-' + tmp_path.parts[-2]).touch()\n")
    runs = [subprocess.Popen([support.BIN, "test", "--", *PYTEST], cwd=project, env=support.ENV,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for _ in range(2)]
    for p in runs:
        out = p.communicate(timeout=60)[0]
        assert p.returncode == 0, out
    names = sorted(p.name for p in (project / "tests").glob("base-*"))
    assert names == ["base-_pytest_tmp", "base-_pytest_tmp_2"]
    assert artifacts(project) == []


def test_a_killed_run_is_swept_by_the_next(project):
    p = subprocess.Popen([support.BIN, "test", "--", "sh", "-c", "echo ready; sleep 60"], cwd=project,
                         env=support.ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(signal.SIGKILL)
    p.wait()
    p.stdout.close()
    assert artifacts(project) == ["_isolation_workspace_1"]
    assert support.eventually(lambda: test_run(project, "--", "true").rc == 0 and artifacts(project) == [])


def test_a_payload_that_swaps_the_workspace(project, place):
    victim = project / "src"
    code = ("import os, shutil\nw = os.path.dirname(os.environ['TMPDIR'])\n"
            f"os.rename(w, 'tests/moved')\nos.symlink('{victim}', w)\n")
    with unchanged(project):
        test_run(project, *python(code), code=0)
    assert (project / "tests/artifacts/_isolation_workspace_1").is_symlink()
    with unchanged(project):
        test_run(project, "--", "true", code=0)
    assert (victim / "program.py").exists()


@pytest.mark.parametrize("name", ["tests", "tests/artifacts"])
def test_a_link_is_refused(project, name):
    shutil.rmtree(project / "tests")
    if "/" in name:
        (project / "tests").mkdir()
    os.symlink(project / "src", project / name)
    with unchanged(project):
        r = test_run(project, "--", "touch", "src/ran")
    assert r.rc in (2, 125) and b"symbolic link" in r.err
    assert not (project / "src/ran").exists()


def test_a_missing_root(project):
    r = test_run(project, "--root", project / "missing", "--", "true", code=2)
    assert b"find project root" in r.err and b"no such file" in r.err.lower()
    assert test_run(project, "--root", project / "config.toml", "--", "true", code=2).rc == 2


@pytest.mark.skipif(not support.ROOT, reason="only root can mount a read-only disk")
def test_a_read_only_disk(project):
    p = subprocess.run(["unshare", "--mount", "sh", "-c",
                        f"mount --bind {project} {project} && mount -o remount,ro,bind {project} && "
                        f"cd {project} && {support.BIN} test -- touch tests/ran"], env=support.ENV,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == 125 and b"read-only file system" in p.stderr.lower(), p.stderr
    assert not (project / "tests/ran").exists()


def test_suites_that_behave_badly(project):
    """Daemons, forks and the like end with the run, and nothing is left."""
    word = support.marker()
    with support.nothing_left(word):
        r = test_run(project, "--", "sh", "-c",
                     f"(setsid sleep 600 {word} 2>/dev/null &) ; for i in 1 2 3; do sleep 600 & done; exit 0", code=0)
        r = test_run(project, *python("import os, signal; os.kill(os.getppid(), signal.SIGKILL)"))
        assert r.rc in (0, 1)
        r = test_run(project, *python("import os, signal; os.kill(0, signal.SIGKILL)"), code=137)
    with unchanged(project):
        test_run(project, "--", "sh", "-c", "rm -rf . 2>/dev/null; true")


def test_another_profile_is_refused(project):
    r = test_run(project, "--profile", "stage", "--", "true", code=2)
    assert b"guards the host's tree" in r.err


def test_within_holds_for_what_cordon_json_asks(project):
    (project / "ceiling.json").write_text('{"version": 1, "extends": "test"}')
    r = test_run(project, "--within", "ceiling.json", "--", "true", code=2)
    assert b"/fs/rw" in r.err, r.told()


# --- a project with a suite of its own -----------------------------------------------------------------

SUITE = '''
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, "src")


def test_reads():
    import program
    assert program.answer() == 42


def test_config():
    with pytest.raises(OSError):
        pathlib.Path("config.toml").write_text("lost")


def test_home():
    with pytest.raises(OSError):
        open("{home}/x", "w")
    pathlib.Path.home().joinpath("x").write_text("fine")


@pytest.mark.parametrize("n", [1])
def test_tmp(n, tmp_path):
    (tmp_path / "x").write_text("fine")
    with pytest.raises(OSError):
        open("/tmp/{word}", "w")


class TestBeside:
    def test_child(self):
        assert subprocess.run(["sh", "-c", "echo x >src/beside 2>/dev/null"]).returncode != 0


def test_names_that_do_not_exist():
    with pytest.raises(FileNotFoundError):
        open("missing/dir/file", "w")
    with pytest.raises(FileNotFoundError):
        os.unlink("missing")
'''


@pytest.fixture
def suite(project):
    (project / "home").mkdir()
    text = SUITE.replace("{home}", f"{project}/home").replace("{word}", support.marker())
    (project / "tests/test_suite.py").write_text(text)
    return project


def by_test(doc, root):
    return {v["test"].split("::", 1)[1]: v["path"].replace(f"{root}/", "") for v in doc["violations"]}


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
        r = test_run(project, "--", *PYTEST, "-W", "error", "--strict-config", code=0, env=env)
        assert "1 passed" in r.text
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": f"{project}/src", "WANTED": f"{project}/src"}
    test_run(project, "--", *PYTEST, code=0, env=env)


def test_caches_still_work(suite):
    """Bytecode (its variable unset), the cache of pytest, and coverage."""
    (suite / "tests/test_suite.py").write_text(SUITE.split("def test_config")[0])
    test_run(suite, "--", "env", "-u", "PYTHONDONTWRITEBYTECODE", support.PYTHON, "-c",
             "import sys; sys.path.insert(0, 'src'); import program", code=0)
    assert list((suite / "src/__pycache__").glob("program.*.pyc"))
    test_run(suite, "--", *PYTEST, code=0)
    assert (suite / ".pytest_cache/v/cache/nodeids").exists()
    assert "1 passed" in test_run(suite, "--", *PYTEST, "--lf", code=0).text
    if not shutil.which("python3-coverage"):
        pytest.skip("python3-coverage is not installed")
    r = test_run(suite, "--", "python3-coverage", "run", "--source", "src", "-m", "pytest", "-q", code=0)
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


def test_other_runners(project):
    (project / "tests/test_u.py").write_text(
        "import tempfile, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertIn('_isolation_workspace_', tempfile.mkdtemp())\n")
    test_run(project, "--", support.PYTHON, "-m", "unittest", "discover", "tests", code=0)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_runner_of_node(project):
    (project / "tests/a.test.mjs").write_text(
        "import test from 'node:test'; import fs from 'node:fs'; import os from 'node:os';\n"
        "test('temporary files', () => { fs.writeFileSync(os.tmpdir() + '/x', 'y'); });\n")
    test_run(project, "--", "node", "--test", "tests/a.test.mjs", code=0)
    (project / "tests/b.test.mjs").write_text(
        "import fs from 'node:fs'; try { fs.writeFileSync('config.toml', 'y'); } catch {}\n")
    with unchanged(project):
        test_run(project, "--", "node", "tests/b.test.mjs", code=1)


def test_meson_test(project):
    if not shutil.which("meson"):
        pytest.skip("meson is not installed")
    (project / "meson.build").write_text("project('x', 'c')\ntest('t', find_program('true'))\n")
    subprocess.run(["meson", "setup", "build"], cwd=project, check=True, stdout=subprocess.DEVNULL)
    r = test_run(project, "--", "meson", "test", "-C", "build", code=0)
    assert "Ok: " in r.text and (project / "build/meson-logs/testlog.txt").exists()


REAL = ["test_tempfile", "test_glob", "test_json", "test_csv", "test_pathlib", "test_fileio"]
if support.ALL and not support.ROOT:
    REAL += ["test_os", "test_subprocess"]  # as root they become other users, and there are none inside


def test_a_suite_that_nobody_here_wrote(project):
    """The tests of Python's own library, from Debian: they pass outside and inside, unchanged."""
    if not os.path.exists("/usr/lib/python3.11/test/test_tempfile.py"):
        pytest.skip("libpython3.11-testsuite is not installed")
    r = document(project, "--", support.PYTHON, "-m", "test", *REAL, timeout=300)
    assert r.rc == 0 and f"All {len(REAL)} tests OK" in r.text, r.text[-3000:]
    assert r.doc["violations"] == []


# --- the page -----------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Collects tags, attributes and text; a tag that is not closed is an error."""

    VOID = {"meta", "br", "link", "img", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows, self.text = [], [], {}, ""
        self.table = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = dict(attrs)["id"]
            self.rows[self.table] = []
        if tag == "tr":
            self.rows[self.table].append([])
        if tag in ("td", "th"):
            self.rows[self.table][-1].append("")

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data
        if self.open and ("td" in self.open or "th" in self.open):
            self.rows[self.table][-1][-1] += data


EVIL = "<img src=x onerror=alert(1)>&\"'"


def page_of(project, code):
    r = document(project, "--report", "tests/report.html", *python(code))
    return r, Page((project / "tests/report.html").read_text())


def test_the_page(project):
    code = (f"import os\nfor n in ('config.toml', {EVIL!r}):\n    try: open(n, 'w')\n    except OSError: pass\n")
    r, page = page_of(project, code)
    assert r.rc == 1
    names = [tag for tag, _ in page.tags]
    assert "script" not in names and "img" not in names and "link" not in names
    for _, attrs in page.tags:  # nothing from elsewhere, nothing that runs
        assert not any(k.startswith("on") or k == "src" for k in attrs)
        assert attrs.get("href", "#").startswith("#")
    raw = (project / "tests/report.html").read_text()
    assert "http://" not in raw and "https://" not in raw and "url(" not in raw and "@import" not in raw
    assert "default-src 'none'" in raw and "prefers-color-scheme: dark" in raw
    files = [row[0] for row in page.rows["by-file"][1:]]
    assert sorted(files) == sorted([f"{project}/config.toml", f"{project}/{EVIL}"])
    assert [row[0] for row in page.rows["enforced"][1:]] == support.CAPABILITIES
    assert page.rows["enforced"][7][2] == "yes"  # filesystem
    assert "POLICY_VIOLATION" in page.text and "duration" in page.text and str(project) in page.text
    regions = [a for t, a in page.tags if t == "div" and a.get("tabindex") == "0"]
    assert len(regions) == 3 and all(a["role"] == "region" and a["aria-label"] for a in regions)


def test_the_page_of_a_clean_run(project):
    r, page = page_of(project, "pass")
    assert r.rc == 0 and "No write was refused." in page.text and "by-file" not in page.rows


def test_the_page_names_tests(suite):
    r = test_run(suite, "--report", "tests/r.html", "--", *PYTEST, env={"HOME": f"{suite}/home"}, code=1)
    page = Page((suite / "tests/r.html").read_text())
    tests = [row[0] for row in page.rows["by-test"][1:]]
    assert tests == sorted(tests) and "tests/test_suite.py::test_config" in tests, r.told()


def test_the_page_in_a_browser(suite):
    if not shutil.which("chromium") or not support.ALL:
        pytest.skip("chromium is there for make check-all")
    test_run(suite, "--report", "tests/r.html", "--", *PYTEST, env={"HOME": f"{suite}/home"}, code=1)
    shot = suite / "tests/shot.png"
    for scheme in ("light", "dark"):
        p = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={suite}/chromium",
                            *(["--force-dark-mode"] if scheme == "dark" else []), "--host-resolver-rules=MAP * 0.0.0.0",
                            "--window-size=1200,900", f"--screenshot={shot}", f"file://{suite}/tests/r.html"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        assert shot.exists() and shot.stat().st_size > 10000, p.stderr
        shot.unlink()
    p = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={suite}/chromium",
                        "--dump-dom", f"file://{suite}/tests/r.html"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120, check=False)
    page = Page(p.stdout.decode())
    assert "tests/test_suite.py::test_config" in [row[0] for row in page.rows["by-test"][1:]]


def test_a_report_that_cannot_be_written(project):
    r = test_run(project, "--report", "missing/dir/r.html", "--", "touch", "tests/ran", code=2)
    assert b"missing/dir/r.html" in r.err and not (project / "tests/ran").exists()


def test_the_report_lands_where_it_was_asked_for(project, place):
    """The payload swaps the directory of the report for a link; the page goes to the old one."""
    (project / "tests/out").mkdir()
    code = f"import os; os.rename('tests/out', 'tests/old'); os.symlink('{project}/src', 'tests/out')"
    with unchanged(project):
        test_run(project, "--report", "tests/out/r.html", *python(code), code=0)
    assert (project / "tests/old/r.html").exists()


def test_help_and_usage(project):
    text = test_run(project, "--help", code=0).text
    for word in ("--root", "--config", "--print-config", "--on-violation", "--report", "--wall"):
        assert word in text
    assert test_run(project, "--rooot", "x", "--", "true", code=2).err.count(b"did you mean --root?") == 1
