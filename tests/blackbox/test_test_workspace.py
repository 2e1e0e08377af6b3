"""`cordon test`: the place of a run, what it leaves behind, and suites that behave badly."""
import os
import resource
import shutil
import signal
import subprocess

import pytest

import support
from guarded import PYTEST, artifacts, document, python, run_test, unchanged


def test_a_clean_run_leaves_nothing(project):
    with support.nothing_left():
        run_test(project, "--", "sh", "-c", "echo x >$TMPDIR/y; mkdir $HOME/z", code=0)
    assert not (project / "tests/artifacts").exists()
    os.rmdir(project / "tests")
    run_test(project, "--", "true", code=0)
    assert not (project / "tests").exists()  # made for the run, and gone with it


def test_directories_that_a_suite_closes_are_removed(project):
    """As go does in its cache of modules, and tests that ask for EACCES; outside, nobody but root could."""
    act = ("mkdir -p $HOME/go/mod $TMPDIR/a/b; touch $HOME/go/mod/x $TMPDIR/a/b/y\n"
           "chmod 555 $HOME/go/mod; chmod 0 $TMPDIR/a/b; chmod 100 $TMPDIR/a; exit {}")
    run_test(project, "--", "sh", "-c", act.format(0), code=0)
    assert not (project / "tests/artifacts").exists()
    run_test(project, "--", "sh", "-c", act.format(3), code=3)  # kept, and then swept
    run_test(project, "--", "true", code=0)
    assert not (project / "tests/artifacts").exists()


def test_what_a_failed_run_leaves_goes_with_the_next(project):
    r = run_test(project, "--", "sh", "-c", "echo x >$TMPDIR/y; exit 1", code=1)
    kept = project / "tests/artifacts/_isolation_workspace_1"
    assert f"kept {kept}".encode() in r.err and (kept / "tmp/y").exists()
    assert b"kept" not in run_test(project, "--quiet", "--", "false", code=1).err
    run_test(project, "--", "sh", "-c", "test ! -e $TMPDIR/y", code=0)
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


def test_git_does_not_hear_of_a_workspace(project):
    """A tests/artifacts that was made for a run ignores itself; one that was there is the project's."""
    ignore = project / "tests/artifacts/.gitignore"
    run_test(project, "--", "false", code=1)
    assert ignore.read_text() == "# Made by cordon.\n*\n"
    ignore.write_text("mine\n")
    run_test(project, "--", "true", code=0)
    assert artifacts(project) == [".gitignore"] and ignore.read_text() == "mine\n"
    ignore.unlink()
    run_test(project, "--", "true", code=0)
    assert artifacts(project) == []
    (project / "tests/artifacts/golden").touch()
    run_test(project, "--", "false", code=1)
    assert artifacts(project) == ["_isolation_workspace_1", "golden"]


@pytest.mark.skipif(not support.ROOT, reason="an ordinary user's suite is that user")
def test_root_is_told_of_a_project_of_somebody_elses(project):
    """As in a container: the checkout belongs to the user outside."""
    os.chown(project / "tests", 1500, 1500)
    (project / "tests").chmod(0o755)
    run_test(project, "--", "sh", "-c", "touch $TMPDIR/x $HOME/y", code=0)
    r = run_test(project, "--", "touch", "tests/x", code=1)
    assert f"'{project}/tests' (owner 1500:1500, mode 755) cannot be written inside".encode() in r.err
    os.chown(project / "tests", 0, 0)
    assert b"cannot be written" not in run_test(project, "--", "touch", "tests/x", code=0).err


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


def held(project, wrap=(), **kw):
    p = subprocess.Popen([*wrap, support.BIN, "test", "--", "sh", "-c", "echo ready; read line"], cwd=project, env=support.ENV,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **kw)
    assert p.stdout.readline() == b"ready\n"
    return p


def stopped_while_it_sweeps(project, command):
    """A run that has begun to remove what another left, and not ended; None: it was too quick."""
    base, left = project / "tests/artifacts/_pytest_tmp", project / "tests/artifacts/_isolation_workspace_1"
    for i in range(1000):
        (base / str(i)).mkdir(parents=True)
    left.mkdir()
    (left / ".cordon-workspace").touch()
    p = subprocess.Popen([support.BIN, "test", "--quiet", "--", *command], cwd=project, env=support.ENV,
                         stdin=subprocess.DEVNULL)
    try:
        while len(os.listdir(base)) == 1000:
            pass
        p.send_signal(signal.SIGSTOP)
        if os.listdir(base):
            return p
    except FileNotFoundError:
        pass
    p.send_signal(signal.SIGCONT)
    p.wait()
    return None


def test_a_run_does_not_sweep_what_another_has_swept_and_taken(project):
    slow = next(filter(None, (stopped_while_it_sweeps(project, ["true"]) for _ in range(20))))
    try:
        other = held(project)
    finally:
        slow.send_signal(signal.SIGCONT)
    assert slow.wait() == 0
    place = next((project / "tests/artifacts").glob("_isolation_workspace_*"))
    assert {"home", "tmp", "config_overrides.toml"} <= {p.name for p in place.iterdir()}
    other.communicate(b"\n")
    assert other.returncode == 0 and artifacts(project) == []


def test_a_killed_run_is_swept_by_the_next(project):
    p = subprocess.Popen([support.BIN, "test", "--", "sh", "-c", "echo ready; sleep 60"], cwd=project,
                         env=support.ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"ready\n"
    p.send_signal(signal.SIGKILL)
    p.wait()
    p.stdout.close()
    assert artifacts(project) == [".gitignore", "_isolation_workspace_1"]
    assert support.eventually(lambda: run_test(project, "--", "true").rc == 0 and artifacts(project) == [])


def test_a_killed_run_is_swept_also_behind_a_gap(project):
    first, second = held(project), held(project)
    assert first.communicate(b"\n")[0] == b"" and artifacts(project) == [".gitignore", "_isolation_workspace_2"]
    second.kill()
    second.communicate()
    assert support.eventually(lambda: run_test(project, "--", "true").rc == 0 and artifacts(project) == [])


def test_a_run_that_cannot_remove_all_leaves_it_to_the_next(project):
    """Without descriptors left the mark must stay as long as anything else does."""
    place = project / "tests/artifacts/_isolation_workspace_1"
    for most in range(9, 30):
        subprocess.run([support.BIN, "test", "--quiet", "--", "sh", "-c", "mkdir -p $HOME/a/b/c/d/e"], cwd=project,
                       env=support.ENV, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                       preexec_fn=lambda n=most: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        assert not place.exists() or (place / ".cordon-workspace").exists(), (most, list(place.iterdir()))
    run_test(project, "--", "true", code=0)
    assert artifacts(project) == []


@pytest.mark.parametrize("errno", ["ENOLCK", "EOPNOTSUPP", "EAGAIN"])
def test_a_file_system_without_locks(project, deny, errno):
    """Runs beside each other keep their places, whether they can lock or not; what is over is swept."""
    unlocked = deny(errno, "flock")
    first, second = held(project, unlocked), held(project)
    places = ["_isolation_workspace_1", "_isolation_workspace_2"]
    for wrap in (unlocked, []):  # would sweep what nobody holds
        assert run_test(project, "--", "true", wrap=wrap).rc == 0
        assert artifacts(project) == [".gitignore", *places]
        for name in places:
            assert {"home", "tmp"} <= {p.name for p in (project / "tests/artifacts" / name).iterdir()}
    for p in (first, second):
        p.communicate(b"\n")
        assert p.returncode == 0
    assert artifacts(project) == []
    for wrap in (unlocked, []):  # kept until the next run, as is said
        r = run_test(project, "--", "false", wrap=unlocked, code=1)
        assert b"kept" in r.err and artifacts(project) == [".gitignore", places[0]]
        run_test(project, "--", "true", wrap=wrap, code=0)
        assert artifacts(project) == []


def test_pytest_does_not_look_into_workspaces(project):
    """Those of other runs come and go while it collects."""
    for name in ("_isolation_workspace_7", "_pytest_tmp_7"):
        (project / "tests/artifacts" / name).mkdir(parents=True)
        (project / "tests/artifacts" / name / "test_other.py").write_text("def test_other(): assert False\n")
    (project / "tests/test_a.py").write_text("def test_a(): pass\n")
    assert b"1 passed" in run_test(project, "--", *PYTEST, code=0).out


def test_a_payload_that_swaps_the_workspace(project, place):
    victim = project / "src"
    code = ("import os, shutil\nw = os.path.dirname(os.environ['TMPDIR'])\n"
            f"os.rename(w, 'tests/moved')\nos.symlink('{victim}', w)\n")
    with unchanged(project):
        run_test(project, *python(code), code=0)
    assert (project / "tests/artifacts/_isolation_workspace_1").is_symlink()
    with unchanged(project):
        run_test(project, "--", "true", code=0)
    assert (victim / "program.py").exists()


@pytest.mark.parametrize("name", ["tests", "tests/artifacts"])
def test_a_link_is_refused(project, name):
    shutil.rmtree(project / "tests")
    if "/" in name:
        (project / "tests").mkdir()
    os.symlink(project / "src", project / name)
    with unchanged(project):
        r = run_test(project, "--", "touch", "src/ran")
    assert r.rc in (2, 125) and b"symbolic link" in r.err
    assert not (project / "src/ran").exists()


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
        r = run_test(project, "--", "sh", "-c",
                     f"(setsid sleep 600 {word} 2>/dev/null &) ; for i in 1 2 3; do sleep 600 & done; exit 0", code=0)
        r = run_test(project, *python("import os, signal; os.kill(os.getppid(), signal.SIGKILL)"))
        assert r.rc in (0, 1)
        r = run_test(project, *python("import os, signal; os.kill(0, signal.SIGKILL)"), code=137)
    with unchanged(project):
        run_test(project, "--", "sh", "-c", "rm -rf . 2>/dev/null; true")
