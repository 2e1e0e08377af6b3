"""Symbolic links and `..` in binds: what is mounted must be what was named."""
import os
import subprocess

import pytest

from support import PYTHON, cordon, inside, outside, run


@pytest.fixture
def tree(place):
    for name in ("secret", "public", "rw"):
        (place / name).mkdir()
        (place / name).chmod(0o777)
    (place / "secret/f").write_text("secret")
    (place / "public/f").write_text("public")
    (place / "link").symlink_to(place / "secret")
    (place / "rw/out").symlink_to("/etc")
    (place / "rw/up").symlink_to("../secret")
    return place


@pytest.mark.parametrize("kind", ["--ro", "--rw"])
def test_a_final_symlink_as_source_is_refused(tree, kind):
    assert outside(f"say(open('{tree}/link/f').read())").answer == "secret"
    r = cordon("run", kind, f"{tree}/link:/d", "--", "cat", "/d/f")
    assert r.rc == 2 and b"link" in r.err and b"secret" not in r.out, r.told()


def test_dotdot_in_a_source_is_resolved_before_it_is_shown(tree):
    r = cordon("run", "--ro", f"{tree}/public/../secret:/d", "--", "cat", "/d/f")
    assert (r.rc, r.out) == (0, b"secret") or r.rc == 2, r.told()


@pytest.mark.parametrize("target", ["/a/../../../b", "/../b", "/b/."])
def test_dotdot_in_a_target_stays_inside(tree, target):
    r = cordon("run", "--ro", f"{tree}/public:{target}", "--", "cat", "/b/f")
    assert (r.rc, r.out) == (0, b"public") or r.rc == 2, r.told()
    assert not os.path.exists("/b")


@pytest.mark.parametrize("target", ["/d/out", "/d/up", "/d/out/x"])
def test_a_target_through_a_symlink_of_the_users_tree_is_refused(tree, target):
    r = cordon("run", "--rw", f"{tree}/rw:/d", "--ro", f"{tree}/public:{target}", "--", "true")
    assert r.rc in (2, 125) and r.out == b"", r.told()
    assert r.err.startswith(b"cordon: ")


def test_symlinks_inside_a_bind_point_into_the_sandbox(tree):
    """An absolute link in a bind leads to the sandbox's own /etc, a climbing one nowhere."""
    r = inside("say([os.path.exists('/d/out/shadow'), os.path.exists('/d/up/f'), "
               "os.path.realpath('/d/out')])", "--rw", f"{tree}/rw:/d")
    assert r.answer == [False, False, "/etc"]


def test_climbing_out_of_a_bind(tree):
    r = run("--rw", f"{tree}/rw:/d", "--", "sh", "-c", "ls -a /d/.. ; cat /d/../secret/f")
    assert "secret" not in r.doc["stdout"] and r.doc["rc"] != 0


SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
"""


@pytest.mark.parametrize("backend", ["native", "bwrap"])
def test_a_source_that_changes_places_with_a_link(tree, backend):
    """Whenever it is swapped: the link's target never appears. (If no run met the moment, nothing is shown.)"""
    swapping = subprocess.Popen([PYTHON, "-c", SWAP, str(tree / "public"), str(tree / "link")])
    try:
        seen = [cordon("run", "--backend", backend, "--ro", f"{tree}/public:/d", "--", "cat", "/d/f") for _ in range(25)]
    finally:
        swapping.kill()
        swapping.wait()
    assert all(r.out in (b"public", b"") for r in seen), [r.out for r in seen]
    assert all((r.rc == 0) == (r.out == b"public") and (r.rc == 0 or r.err != b"") for r in seen), \
        {(r.rc, r.err) for r in seen}
