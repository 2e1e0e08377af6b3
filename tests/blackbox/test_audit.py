"""`cordon audit`: T24 to T32, and what it does with files that are not meant well."""
import json
import os
import pathlib
import re

import pytest

import support

PROTECTED = ["manual_slop.toml", "manual_slop_history.toml", "config.toml", "credentials.toml",
             "presets.toml", "personas.toml", "tool_presets.toml"]


@pytest.fixture
def project(place):
    (place / "tests").mkdir()
    return place


def audit(project, *args, code=0):
    r = support.cordon("audit", *args, str(project))
    assert r.rc == code, r.told()
    return r


def findings(project, text=None, name="test_a.py", code=0):
    """(line, col, id) of what is found in a test file."""
    if text is not None:
        (project / "tests" / name).write_text(text)
    doc = json.loads(audit(project, "--json", code=code).out)
    return [(f["line"], f["col"], f["id"]) for f in doc["findings"]]


def ids(project, text):
    return [f[2] for f in findings(project, text)]


# --- T24: which files ----------------------------------------------------------------------------


def test_t24_only_test_files_beneath_tests(project):
    bad = 'Path("config.toml")\n'
    for name in ("helper.py", "test_notes.txt", "conftest.py", "artifacts/test_x.py", ".hidden/test_x.py"):
        (project / "tests" / name).parent.mkdir(exist_ok=True)
        (project / "tests" / name).write_text(bad)
    (project / "test_outside.py").write_text(bad)
    assert findings(project) == []
    assert findings(project, bad) == [(1, 1, "protected-path")]
    (project / "tests/unit").mkdir()
    (project / "tests/unit/test_b.py").write_text(bad)
    doc = json.loads(audit(project, "--json").out)
    assert [f["file"] for f in doc["findings"]] == ["tests/test_a.py", "tests/unit/test_b.py"]
    r = support.cordon("audit", str(project / "tests/helper.py"))  # named: looked at
    assert r.rc == 0 and r.text.count("\n") == 1


# --- T25 to T30: the rules ---------------------------------------------------------------------


@pytest.mark.parametrize("name", PROTECTED)
def test_t25_a_path_of_a_protected_file(project, name):
    assert findings(project, f'import pathlib\n\nx = Path("{name}")\n') == [(3, 5, "protected-path")]
    assert findings(project, f"pathlib.Path('./{name}')\n") == [(1, 1, "protected-path")]
    assert ids(project, f'tmp_path / "{name}"\nPath(tmp_path, "{name}")\n"{name}"\n') == []


def test_t25_as_it_may_be_written(project):
    for text in ('Path("config" ".toml")', 'Path(r"config.toml")', 'Path(f"config.toml")',
                 'Path("\\x63onfig.toml")', 'Path(\n  # (\n  "config.toml"\n)', 'Path(".") / "config.toml"',
                 'Path.cwd() / "config.toml"', 'Path().joinpath("config.toml")',
                 'from pathlib import Path as P; P("config.toml")'):
        assert ids(project, text + "\n") == ["protected-path"], text
    for text in ('Path("tests") / "config.toml"', 'Path("src/config.toml")', 'Path(f"{x}config.toml")',
                 '"""Path("config.toml")"""', '# Path("config.toml")', "x = 'Path(\"config.toml\")'",
                 'Path("a") / "config.toml".upper()'):
        assert ids(project, text + "\n") == [], text


def test_t26_open_for_writing(project):
    for mode in ("w", "a", "x", "r+", "w+", "a+", "wb", "ab"):
        assert ids(project, f'open("config.toml", "{mode}")\n') == ["protected-open"], mode
    assert ids(project, 'open("config.toml",\n     encoding="u8",\n     mode="w")\n') == ["protected-open"]
    assert ids(project, 'io.open(file="config.toml", mode="w")\n') == ["protected-open"]
    for text in ('open("config.toml")', 'open("config.toml", "r")', 'open("config.toml", "rb")',
                 'x.open("config.toml", "w")', 'open(path, "w")', 'open("config.toml", mode)',
                 'def open(a="config.toml", mode="w"): pass'):
        assert ids(project, text + "\n") == [], text


def test_t27_absolute_paths_in_both_styles(project):
    assert findings(project, 'Path("C:/projects/x")\nPath("C:\\\\projects\\\\x")\nPath(r"d:\\projects")\n') == \
        [(1, 1, "absolute-path"), (2, 1, "absolute-path"), (3, 1, "absolute-path")]
    assert ids(project, f'open("{project}/data.txt")\n') == ["absolute-path"]
    assert ids(project, 'PureWindowsPath("C:/x")\nurl("http://x")\nPath("/usr/bin")\n') == []


def test_t28_a_literal_path_in_artifacts(project):
    assert findings(project, 'p = Path("tests/artifacts/x")\n') == [(1, 5, "artifacts-literal")]
    assert ids(project, 'Path("tests", "artifacts", name)\n') == ["artifacts-literal"]
    assert ids(project, 'Path(f"tests/artifacts/{name}")\n') == ["artifacts-literal"]
    assert ids(project, 'Path("tests") / "artifacts" / "config.toml"\n') == ["artifacts-literal"]
    assert ids(project, 'Path("tests/artifacts_of_others")\n') == []


def test_t29_temporary_files_without_a_place(project):
    head = "import tempfile\n"
    for call in ("mkdtemp()", "mkstemp()", 'mkdtemp("a", "b")', "mkdtemp(dir=None)", 'mkdtemp(prefix="dir=")'):
        assert findings(project, f"{head}tempfile.{call}\n") == [(2, 1, "tempfile-dir")], call
    for call in ("mkdtemp(dir=d)", "mkstemp(None, None, d)", "mkdtemp(*args)", "mkdtemp(**kw)",
                 'mkdtemp(\n  prefix="x",\n  dir=d)', 'mkdtemp(  # see above\n\n  dir="tests/artifacts",\n)'):
        assert findings(project, f"{head}tempfile.{call}\n") == [], call
    assert ids(project, "from tempfile import mkdtemp\nmkdtemp()\n") == ["tempfile-dir"]
    assert ids(project, "from tempfile import (\n  mkstemp as m)\nm()\n") == ["tempfile-dir"]
    assert ids(project, "import tempfile as t\nt.mkdtemp()\n") == ["tempfile-dir"]
    assert ids(project, "self.mkdtemp()\nmkdtemp()\n") == []


def test_t30_climbing_to_the_root(project):
    for text in ('Path(__file__).parent.parent / "config.toml"',
                 'Path(__file__).resolve().parent.parent / "config.toml"',
                 'Path(__file__).parents[1] / "config.toml"',
                 'Path(__file__).parent.parent.joinpath("config.toml")',
                 'Path(__file__).parent / ".." / "config.toml"',
                 'os.path.join(os.path.dirname(os.path.dirname(__file__)), "config.toml")',
                 'os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "config.toml")',
                 'ROOT = Path(__file__).parent.parent\nx = ROOT / "config.toml"'):
        assert ids(project, text + "\n") == ["root-config"], text
    for text in ('Path(__file__).parent / "config.toml"', 'Path(__file__).parent.parent / "src"',
                 'Path(__file__).parent.parent / "pyproject.toml"', '",".join(["config.toml"])'):
        assert ids(project, text + "\n") == [], text
    (project / "tests/unit").mkdir()
    above = 'Path(__file__).parent.parent / "config.toml"\n'
    assert findings(project, above, "unit/test_b.py") == []  # that is tests/config.toml
    assert len(findings(project, above.replace("parent.", "parent.parent."), "unit/test_b.py")) == 1


def test_variables_that_select_a_configuration(project):
    for text in ('os.environ["SLOP_CONFIG"] = "x"', 'monkeypatch.setenv("SLOP_CONFIG", p)',
                 'os.putenv("SLOP_CONFIG", p)', 'env = {**os.environ, "SLOP_CONFIG": p}',
                 'run(env=dict(os.environ, SLOP_CONFIG=p))', 'os.environ.setdefault("SLOP_CONFIG", "x")'):
        assert ids(project, text + "\n") == ["config-env"], text
    for text in ('os.environ["SLOP_CONFIG"] == "x"', 'monkeypatch.delenv("SLOP_CONFIG")',
                 'os.environ.get("SLOP_CONFIG")', 'os.environ["OTHER"] = "x"', '"SLOP_CONFIG"'):
        assert ids(project, text + "\n") == [], text
    (project / "cordon.json").write_text('{"audit": {"rules": {"config_env": ["APP_CONF"]}}}')
    assert ids(project, 'os.environ["APP_CONF"] = os.environ["SLOP_CONFIG"] = ""\n') == ["config-env"]


def test_writes_to_settings_at_the_top(project):
    for text in ('open("setup.ini", "w")', 'Path("pyproject.toml").write_text("")',
                 '(Path(".") / "x.toml").unlink()', 'Path("x.ini").open("a")',
                 '(Path(__file__).parent.parent / "pyproject.toml").write_text("")'):
        assert ids(project, text + "\n") == ["toplevel-write"], text
    for text in ('open("setup.ini")', 'Path("pyproject.toml").read_text()', 'open("data/x.toml", "w")',
                 'Path("x.ini").open()', 'open("x.json", "w")'):
        assert ids(project, text + "\n") == [], text


# --- T31, T32: how it says it ----------------------------------------------------------------


def test_a_strict_audit_of_nothing_warns(place):
    (place / ".git").mkdir()
    (place / "tests").mkdir()
    for args in (["--strict"], ["--strict", "--json"], ["--strict", "--sarif"]):
        r = support.cordon("audit", *args, cwd=place)
        assert r.rc == 0 and b"warning: no test file was read" in r.err, r.told()
    assert b"warning" not in support.cordon("audit", cwd=place).err
    (place / "tests/test_a.py").write_text("def test_a(): pass\n")
    assert b"warning" not in support.cordon("audit", "--strict", cwd=place).err


def test_t31_informational_and_strict(project):
    (project / "tests/test_a.py").write_text("x = 1\n")
    assert audit(project).out == b"" and audit(project, "--strict").out == b""
    (project / "tests/test_a.py").write_text('x = Path("config.toml")\n')
    r = audit(project)
    assert r.text == ("tests/test_a.py:1:5: protected-path names a protected file of the project: "
                      "config.toml\n")
    assert b"1 finding in 1 test file" in r.err and b"fix protected-path: " in r.err
    assert audit(project, "--strict", code=1).text == r.text


def test_t32_sorted_and_the_same_every_time(project):
    for name in ("test_c.py", "test_a.py", "test_b.py"):
        (project / "tests" / name).write_text('Path("C:/x"); tempfile.mkdtemp()\nPath("config.toml")\n')
    first = audit(project).text
    lines = first.splitlines()
    assert len(lines) == 9
    assert [line.split(": ")[0] for line in lines] == [
        f"tests/test_{c}.py:{place}" for c in "abc" for place in ("1:1", "1:15", "2:1")]
    assert audit(project).text == first


def test_json(project):
    (project / "tests/test_a.py").write_text('é = Path("config.toml")\n')
    doc = json.loads(audit(project, "--json").out)
    found = doc["findings"][0]
    assert found == {"file": "tests/test_a.py", "line": 1, "col": 5, "id": "protected-path",
                     "message": found["message"], "fix": found["fix"]}
    assert "config.toml" in found["message"] and "tmp_path" in found["fix"]
    assert json.loads(audit(project, "--json", "--strict", code=1).out) == doc


def test_sarif(project):
    (project / "tests/test_a b.py").write_text('x = Path("config.toml")\n')
    doc = json.loads(audit(project, "--sarif").out)
    assert doc["version"] == "2.1.0" and len(doc["runs"]) == 1
    run = doc["runs"][0]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    assert len(rules) == 8
    result = run["results"][0]
    assert rules[result["ruleIndex"]] == result["ruleId"] == "protected-path"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tests/test_a%20b.py"
    assert place["region"] == {"startLine": 1, "startColumn": 5}
    assert result["message"]["text"]


def test_an_allow_comment_needs_its_rule_and_a_reason(project):
    line = 'Path("config.toml")'
    assert ids(project, f"{line}  # cordon: allow protected-path it is only compared\n") == []
    assert ids(project, f"Path(  # cordon: allow protected-path why\n  'config.toml')\n") == []
    for comment in ("# noqa: S108  # cordon: allow protected-path why", "# cordon: allow protected-path #7",
                    "#: # cordon: allow tempfile-dir why # cordon: allow protected-path why # noqa"):
        assert ids(project, f"{line}  {comment}\n") == [], comment
    for comment in ("# cordon: allow protected-path", "# cordon: allow protected-path   ",
                    "# noqa # cordon: allow protected-path", "#" * 1000 + " cordon: allow protected-path why",
                    "# cordon: allow tempfile-dir why", "# cordon: allow protected why", "# allow protected-path x"):
        assert ids(project, f"{line}  {comment}\n") == ["protected-path"], comment
    assert ids(project, f"# cordon: allow protected-path why\n{line}\n") == ["protected-path"]
    (project / "tests/test_a.py").write_text(f"{line}  # cordon: allow protected-path\n")
    assert "the allow comment gives no reason" in audit(project).text


def test_a_directory_of_tests_is_looked_at_as_it_is(project):
    """Also if there is one within it that is named like that."""
    (project / "cordon.json").write_text("{}")
    for name in ("tests/test_a.py", "tests/tests/test_b.py", "module/test_c.py", "module/tests/test_d.py"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text('Path("config.toml")\n')
    for path, expected in (("tests", {"test_a.py", "test_b.py"}), ("module", {"test_d.py"})):
        found = json.loads(audit(project / path, "--json").out)["findings"]
        assert {f["file"].rpartition("/")[2] for f in found} == expected


def test_cordon_json(project):
    text = 'Path("own.cfg")\nPath("config.toml")\ntempfile.mkdtemp()\n'
    (project / "cordon.json").write_text(
        '{"audit": {"protected": ["own.cfg"], "rules": {"disable": ["tempfile-dir"]}}}')
    assert findings(project, text) == [(1, 1, "protected-path")]
    (project / "spec").mkdir()
    (project / "spec/test_s.py").write_text(text)
    (project / "cordon.json").write_text('{"test": {"writable": ["spec"]}}')
    doc = json.loads(audit(project, "--json").out)
    assert {f["file"] for f in doc["findings"]} == {"spec/test_s.py"}
    # What is made only while tests run need not be there; the first place must.
    (project / "cordon.json").write_text('{"test": {"writable": ["spec", "build/out", "tests"]}}')
    found = json.loads(audit(project, "--json", "--strict", code=1).out)["findings"]
    assert {f["file"] for f in found} == {"spec/test_s.py", "tests/test_a.py"}
    (project / "cordon.json").write_text('{"test": {"writable": ["build/out", "spec"]}}')
    assert b"build/out" in audit(project, code=2).err


@pytest.mark.parametrize("text,where", [
    ('{"audit": {"protected": "x"}}', b"'/audit/protected': 1:25: "),
    ('{"audit": {"rules": {"disable": ["nope"]}}}', b"/audit/rules/disable"),
    ('{\n "adit": {}}', b"2:2: unknown key"),
    ('{', b"1:2: "),
])
def test_a_bad_cordon_json(project, text, where):
    (project / "tests/test_a.py").write_text('Path("config.toml")\n')
    (project / "cordon.json").write_text(text)
    r = audit(project, "--strict", code=2)
    assert where in r.err and r.out == b"", r.told()


# --- places --------------------------------------------------------------------------------------


def test_the_root_is_found_from_below(project):
    (project / "cordon.json").write_text("{}")
    (project / "tests/test_a.py").write_text('Path("config.toml")\n')
    (project / "src/deep").mkdir(parents=True)
    r = support.cordon("audit", cwd=project / "src/deep")
    assert r.text.startswith("tests/test_a.py:1:1: ")
    os.rename(project / "cordon.json", project / ".git")
    assert support.cordon("audit", cwd=project / "src/deep").text == r.text
    os.unlink(project / ".git")
    r = support.cordon("audit", cwd=project / "src/deep")
    assert r.rc == 2 and b"find tests 'tests'" in r.err


def test_places_that_are_not_there(project):
    assert b"no such file" in support.cordon("audit", str(project / "missing")).err
    os.rmdir(project / "tests")
    r = support.cordon("audit", cwd=project)
    assert r.rc == 2 and b"tests" in r.err
    os.symlink("/usr/lib", project / "tests")
    r = support.cordon("audit", cwd=project)
    assert r.rc == 2 and b"symbolic link" in r.err


def test_what_lies_too_deep_to_be_looked_at_is_not_clean(project):
    place = project.joinpath("tests", *["d"] * 63)
    place.mkdir(parents=True)
    (place / "test_a.py").write_text('Path("config.toml")\n')
    assert support.cordon("audit", "--strict", cwd=project).rc == 1
    (place / "d/d").mkdir(parents=True)
    os.rename(place / "test_a.py", place / "d/d/test_a.py")
    r = support.cordon("audit", "--strict", cwd=project)
    assert r.rc == 2 and b"/d'" in r.err, r.told()


def test_usage(project):
    for args in (["--strcit"], ["--json=1"], ["--json", "--sarif"]):
        r = support.cordon("audit", *args, cwd=project)
        assert r.rc == 2 and r.out == b"" and r.err.startswith(b"cordon: ")
    assert "protected-path" in support.cordon("audit", "--help").text


def test_files_by_name_as_a_hook_gives_them(project):
    for name in "abc":
        (project / f"tests/test_{name}.py").write_text('Path("config.toml")\n')
    r = support.cordon("audit", "--strict", "tests/test_c.py", "tests/test_a.py", cwd=project)
    assert r.rc == 1
    assert [line.split(":")[0] for line in r.text.splitlines()] == ["tests/test_a.py", "tests/test_c.py"]
    r = support.cordon("audit", "tests/test_c.py", "/etc/passwd", cwd=project)
    assert r.rc == 2 and b"not in the project" in r.err


# --- files that are not meant well -----------------------------------------------------------------


def test_names_cannot_speak_to_the_terminal(project):
    (project / "tests/test_\033[31m.py").write_text('Path("C:/\x1b]0;x\x07")\n')
    r = audit(project)
    assert b"\033" not in r.out + r.err and b"\x07" not in r.out + r.err
    assert b"test_\\x1b[31m.py" in r.out


def test_what_cannot_be_read_is_said(project):
    os.mkfifo(project / "tests/test_fifo.py")
    os.symlink("/nonexistent", project / "tests/test_gone.py")
    (project / "tests/test_big.py").write_bytes(b"#" * (17 << 20))
    (project / "tests/test_ok.py").write_text('Path("config.toml")\n')
    r = audit(project, code=2)
    for name, why in (("fifo", "not a regular file"), ("gone", "no such file"), ("big", "too large")):
        assert f"tests/test_{name}.py".encode() in r.err and why.encode() in r.err, r.told()
    assert r.text.count("\n") == 1


@pytest.mark.parametrize("data", [
    b"", b"\0" * 100, b"\xff\xfe\xfd" * 50, b'"""never', b"(" * 5000, b")" * 5000, b'f"{' * 3000,
    b'Path(' * 5000 + b'"config.toml"' + b')' * 5000, b'"a" ' * 20000, b'Path("", ' + b'"", ' * 20000 + b')',
    b'open(' * 20000, b"\\" * 999, b"'\\", b'x = ' + b'Path("a") / ' * 20000],
    ids=range(14))
def test_strange_text(project, data):
    (project / "tests/test_a.py").write_bytes(data)
    (project / "tests/test_b.py").write_text('Path("config.toml")\n')
    assert (1, 1, "protected-path") in findings(project)


def test_very_many_findings_in_one_file(project):
    (project / "tests/test_a.py").write_text('Path("config.toml");' * 20000 + "\n")
    assert len(findings(project)) == 1000


def test_the_audit_changes_nothing(project):
    (project / "tests/test_a.py").write_text('Path("config.toml")\n')
    before = sorted((str(p), p.lstat().st_mtime_ns) for p in project.rglob("*"))
    audit(project)
    assert sorted((str(p), p.lstat().st_mtime_ns) for p in project.rglob("*")) == before


def on_terminal(project, env):
    """What `cordon audit` writes to a terminal."""
    return support.on_terminal("audit", str(project), env=env)


def test_progress_on_a_terminal_only(project):
    for i in range(70):
        (project / f"tests/test_{i}.py").write_text("x = 1\n")
    assert b"\raudit: 65 files" in on_terminal(project, {"TERM": "xterm"})
    assert b"\r\033[K" in on_terminal(project, {"TERM": "xterm"})
    assert b"audit: " not in on_terminal(project, {"TERM": "dumb"})
    assert b"audit: " not in audit(project).err


def test_the_hook_definition():
    top = pathlib.Path(os.environ.get("CORDON_SOURCE", support.TOP))
    if not os.access(top / ".pre-commit-hooks.yaml", os.R_OK):
        pytest.skip("this user cannot enter the checkout")
    text = (top / ".pre-commit-hooks.yaml").read_text()
    assert "id: cordon-audit" in text and "entry: cordon audit --strict" in text
    files = re.search("files: (.*)", text).group(1)
    for name, taken in (("tests/test_a.py", True), ("pkg/tests/unit/test_b.py", True),
                        ("tests/helper.py", False), ("src/test_a.py", False)):
        assert bool(re.search(files, name)) == taken, name
