"""The agent profile keeps files that make code run later read-only, however the tree is named."""
import os
import subprocess

import pytest

import support
from support import cordon

HOOK = "echo evil > .git/hooks/pre-commit"


@pytest.fixture
def project(place):
    path = place / "project"
    (path / ".git/hooks").mkdir(parents=True)
    (path / ".git/hooks").chmod(0o777)
    return path


def agent(project, script, *options):
    return cordon("run", "--profile", "agent", *options, "--", "sh", "-c", script, cwd=project)


def test_plain(project):
    assert agent(project, "echo fine > file").rc == 0, "the control: the tree is writable"
    assert b"Read-only" in agent(project, HOOK).err


@pytest.mark.parametrize("above", [0, 1])
def test_a_bind_that_names_the_tree_again_or_one_above(project, above):
    named = [project, project.parent][above]
    r = agent(project, HOOK, "--rw", named)
    assert r.rc != 0 and not (project / ".git/hooks/pre-commit").exists(), r.told()


def test_a_link_on_the_way(place):
    path = place / "linked"
    (path / "real/hooks").mkdir(parents=True)
    (path / ".git").symlink_to("real")
    r = agent(path, HOOK)
    assert r.rc != 0 and not (path / "real/hooks/pre-commit").exists(), r.told()


def test_a_work_tree_whose_git_is_a_file(place):
    path = place / "worktree"
    path.mkdir()
    (path / ".git").write_text("gitdir: /elsewhere\n")
    agent(path, "echo 'gitdir: evil' > .git; rm -f .git")
    assert (path / ".git").read_text() == "gitdir: /elsewhere\n"


def test_a_writable_file_in_a_tree_that_is_seen_elsewhere(place):
    """It is a tree of its own, in which nothing is protected: whoever may write it may do so by either name."""
    tree = place / "tree/set"
    tree.mkdir(parents=True)
    (tree / "file").write_text("old\n")
    r = support.run("--profile", "agent", "--rw", f"{tree}/file", "--rw", f"{place}/tree:/seen", "--cwd", "/tmp", "--", "sh", "-c",
                    f"echo one >> /seen/set/file; echo two >> {tree}/file", cwd=tree)
    assert r.rc == 0 and (tree / "file").read_text() == "old\none\ntwo\n", r.told()


# ---- names that are missing at the start: nothing can keep them from coming, and somebody is told

def appeared(r):
    return [w for w in r.doc["warnings"] if "appeared" in w]


def run(project, script, *options):
    return support.run("--profile", "agent", *options, "--", "sh", "-c", script, cwd=project)


REDIRECT = ("mkdir .git/evil && cp -r .git/objects .git/refs .git/evil/ && "
            "printf '[core]\\n\\tfsmonitor = \"echo PWNED >> %s; false\"\\n' > .git/evil/config && "
            "echo evil > .git/commondir")


def test_git_is_led_elsewhere(place):
    """Without the file git has the caller's own config. It cannot be kept away; it is told."""
    path, mark = place / "repo", place / "pwned"
    path.mkdir()
    git = dict(cwd=path, env={"PATH": os.environ["PATH"], "HOME": str(place), "GIT_CONFIG_NOSYSTEM": "1"}, check=False,
               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    subprocess.run(["git", "init", "-q", "."], **git)
    subprocess.run(["git", "status"], **git)
    assert not mark.exists()
    r = run(path, REDIRECT % mark)
    assert r.rc == 0 and subprocess.run(["git", "status"], **git) and mark.exists(), "the control: git follows it"
    assert appeared(r) == [f"'.git/commondir' appeared in '{path}': look at it before a tool reads it"]


def test_what_is_there_for_git_to_follow_is_kept(project):
    """The files that lead git elsewhere, where they exist."""
    (project / ".git/worktrees/w").mkdir(parents=True)
    for name in ("commondir", "config.worktree", "worktrees/w/commondir"):
        (project / ".git" / name).write_text("mine\n")
        r = run(project, f"echo evil > .git/{name}; rm -rf .git/{name}")
        assert (project / ".git" / name).read_text() == "mine\n" and appeared(r) == [], r.told()


@pytest.mark.parametrize("script, names", [
    ("touch .envrc .vscode", ["'.envrc'", "'.vscode'"]),
    ("mkdir -p .config/fish", ["'.config/fish'"]),
    ("ln -s /nowhere .bashrc", ["'.bashrc'"]),
    ("ln -s nowhere .config", ["'.config/fish'"]),
    ("touch .config", ["'.config/fish'"]),
    ("touch .envrc; rm .envrc; mkdir .config; touch file", []),
])
def test_what_appears_is_named(project, script, names):
    r = run(project, script)
    assert r.rc == 0
    assert appeared(r) == ([f"{', '.join(names)} appeared in '{project}': look at it before a tool reads it"] if names else [])


def age(link):
    """The kernel notes when a link was last followed, if that is before the last change of it."""
    os.utime(link, (0, 0), follow_symlinks=False)


def test_what_appears_is_not_followed(project, place):
    """A link may lead to a host that answers nobody, and no limit of the run holds any more."""
    (place / "elsewhere/fish").mkdir(parents=True)
    link = project / "control"
    link.symlink_to(place / "elsewhere")
    age(link)
    assert (link / "fish").exists()
    if link.lstat().st_atime == 0:
        pytest.skip("this disk keeps no note of who followed a link")
    r = run(project, f"ln -s {place}/elsewhere .config && touch -h -d @0 .config")
    assert len(appeared(r)) == 1 and "'.config/fish'" in appeared(r)[0]
    assert (project / ".config").lstat().st_atime == 0


def test_a_whole_repository_that_appears(place):
    path = place / "fresh"
    path.mkdir()
    told = appeared(run(path, "mkdir -p .git/hooks .git/worktrees .vscode .idea .config/fish; cd .git; "
                              "touch config config.worktree commondir ../.envrc ../.bashrc ../.profile ../.zshrc"))
    assert len(told) == 1 and "'.git/config'" in told[0] and " and more appeared in" in told[0]
    assert told[0].endswith(": look at it before a tool reads it")
    other = place / "gitfile"
    other.mkdir()
    assert "'.git/hooks'" in appeared(run(other, "echo 'gitdir: evil' > .git"))[0]


def test_each_writable_tree_is_looked_at_once(project, place):
    out = place / "out"
    out.mkdir()
    r = run(project, f"touch .envrc {out}/.envrc", "--rw", out, "--rw", project)
    assert sorted(w.split()[3] for w in appeared(r)) == sorted([f"'{out}':", f"'{project}':"])
    assert appeared(run(project, "rm .envrc; touch /work/.envrc", "--work", out)) == []  # both were there


def test_stderr_has_it_unless_quiet(project):
    assert b"cordon: warning: '.envrc' appeared" in agent(project, "touch .envrc").err
    os.unlink(project / ".envrc")
    assert agent(project, "touch .envrc", "--quiet").err == b""


def test_nothing_is_said_where_nothing_is_protected(project):
    r = support.run("--rw", project, "--", "touch", project / ".envrc")
    assert r.rc == 0 and r.doc["warnings"] == []
