"""The agent profile keeps files that make code run later read-only, however the tree is named."""
import pytest

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
