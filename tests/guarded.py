"""Projects for the tests of `cordon test`, and runs in them."""
import contextlib
import json
import os

import support

PYTEST = [support.PYTHON, "-m", "pytest", "-q"]
DATA = ["manual_slop.toml", "manual_slop_history.toml", "config.toml", "credentials.toml",
        "presets.toml", "personas.toml", "tool_presets.toml", "x.ini"]
FIX = "write under tests/ (pytest: tmp_path; else $TMPDIR or tests/artifacts/)"

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


def make_project(place):
    """With data that somebody would miss."""
    (place / "tests").mkdir()
    (place / "src").mkdir()
    (place / "src/program.py").write_text("def answer():\n    return 42\n")
    for name in DATA:
        (place / name).write_text("keep = 1\n")
        os.utime(place / name, (1e9, 1e9))
    return place


def add_suite(project):
    (project / "home").mkdir()
    text = SUITE.replace("{home}", f"{project}/home").replace("{word}", support.marker())
    (project / "tests/test_suite.py").write_text(text)
    return project


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


def run_test(project, *args, code=None, **kw):
    kw.setdefault("cwd", project)
    r = support.cordon("test", *args, **kw)
    assert code is None or r.rc == code, r.told()
    return r


def document(project, *args, code=None, **kw):
    """The result document of a run, validated."""
    r = run_test(project, "--json", *args, code=code, **kw)
    r.doc = json.loads(r.out)
    support.check_document(r.doc)
    return r


def python(code):
    return ["--", support.PYTHON, "-c", code]


def artifacts(project):
    path = project / "tests/artifacts"
    return sorted(p.name for p in path.iterdir()) if path.exists() else []


def by_test(doc, root):
    return {v["test"].split("::", 1)[1]: v["path"].replace(f"{root}/", "") for v in doc["violations"]}
