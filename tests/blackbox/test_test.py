"""`cordon test`: what is refused and what is not, T1 to T8 and T20, as root and as a user.

The kernel's side (every way to write, from every language) is in test_guard.py.
"""
import json
import os
import re
import shutil
import subprocess

import pytest

import support
from guarded import DATA, document, python, run_test, unchanged


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


def test_a_suite_that_took_too_long_is_told_so(project):
    r = run_test(project, "--wall", "300ms", "--", "sleep", "30")
    assert r.rc == 124, r.told()
    assert r.err.endswith(b"cordon: stopped 'sleep': wall time of 300 ms reached\n  --wall 600ms allows more\n"), r.told()


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
    assert json.loads(run_test(project, *python(act), code=0).out) == want


@pytest.mark.parametrize("name", [*DATA, "new.toml", "new.ini"])
def test_t20_settings_at_the_top(project, name):
    with unchanged(project):
        r = document(project, *python(f"open('{name}', 'w')"))
    assert r.rc != 0 and [v["path"] for v in r.doc["violations"]] == [f"{project}/{name}"]
