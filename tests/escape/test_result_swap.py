"""The payload swaps the result file, in a directory it may write, for a link to a victim."""
import contextlib
import json
import os
import stat

import pytest

from support import PRELUDE, PYTHON, check_document, cordon, inside, outside

SWAP = """
for name in os.listdir({d!r}):
    if name != 'victim':
        try: os.unlink({d!r} + '/' + name)
        except OSError: pass
os.symlink({victim!r}, {d!r} + '/r.json')
say('swapped')
"""


@pytest.mark.parametrize("option", ["--result", "--stdout-file", "--stderr-file"])
def test_result_swap(place, option):
    home, shared = place / "home", place / "shared"
    home.mkdir()
    shared.mkdir()
    shared.chmod(0o777)
    victim = home / "victim"
    victim.write_text("precious")
    outside(SWAP.format(d=str(shared), victim=str(victim)))
    (shared / "r.json").open("a").close()
    with open(shared / "r.json", "w", encoding="utf-8") as f:
        f.write("lost")
    assert victim.read_text() == "lost", "the control: a plain open follows the link"
    victim.write_text("precious")
    (shared / "r.json").unlink()

    r = cordon("run", option, shared / "r.json", "--rw", f"{shared}:/d", "--", PYTHON, "-c",
               PRELUDE + SWAP.format(d="/d", victim=str(victim)))
    assert r.rc == 0, r.told()
    assert victim.read_text() == "precious"
    mode = os.lstat(shared / "r.json").st_mode
    assert stat.S_ISREG(mode)
    if option == "--result":
        check_document(json.loads((shared / "r.json").read_text()))


def test_a_result_path_that_is_a_link_already(place):
    """Replaced by rename: what it pointed to stays as it was."""
    (place / "victim").write_text("precious")
    (place / "r.json").symlink_to(place / "victim")
    cordon("run", "--result", place / "r.json", "--", "true")
    assert (place / "victim").read_text() == "precious"


def plant(place, code):
    (place / "d").mkdir()
    (place / "d").chmod(0o777)
    r = inside(f"{code}; say(1)", "--rw", f"{place}/d:/d")
    assert r.answer == 1
    return place / "d/out"


@pytest.mark.parametrize("option", ["--result", "--stdout-file", "--stderr-file"])
@pytest.mark.parametrize("target", ["terminal", "fifo", "/dev/stdout", "/proc/self/fd/1", "/dev/null"])
def test_a_planted_link_leads_to_nothing(place, option, target):
    """What an earlier run left under the name of a file of the caller's."""
    ours, theirs = os.openpty() if target == "terminal" else (-1, -1)
    if target == "terminal":
        target = os.ttyname(theirs)
    elif target == "fifo":
        target = str(place / "fifo")
        os.mkfifo(target)
        ours = os.open(target, os.O_RDONLY | os.O_NONBLOCK)
    if ours >= 0:
        with open(target, "w", encoding="utf-8") as f:
            f.write("control")
        assert os.read(ours, 100) == b"control"
    planted = plant(place, f"os.symlink({target!r}, '/d/out')")
    r = cordon("run", option, planted, "--", "sh", "-c", "echo evil; echo evil >&2")
    assert r.rc == 2 and b"symbolic link" in r.err and b"evil" not in r.out, r.told()
    if ours >= 0:
        os.set_blocking(ours, False)
        with contextlib.suppress(BlockingIOError, OSError):
            assert os.read(ours, 100) == b""
        os.close(ours)
    assert planted.is_symlink()


@pytest.mark.parametrize("option", ["--result", "--stdout-file"])
def test_a_planted_fifo_holds_nobody(place, option):
    planted = plant(place, "os.mkfifo('/d/out')")
    r = cordon("run", option, planted, "--", "true", timeout=60)
    assert r.rc == 2 and b"nobody reads this fifo" in r.err, r.told()
    # The caller's own, with a reader, is written to.
    reader = os.open(planted, os.O_RDONLY | os.O_NONBLOCK)
    r = cordon("run", option, planted, "--", "echo", "hello")
    assert r.rc == 0, r.told()
    assert b"hello" in os.read(reader, 65536)
    os.close(reader)


def test_the_payload_cannot_keep_the_result_open(place):
    """A writable descriptor kept on a file of that name does not reach the final document."""
    r = inside("f = open('/d/r.json', 'w'); f.write('fake'); f.flush(); say(1)",
               "--rw", f"{place}:/d", "--result", place / "r.json")
    assert r.answer == 1
    assert json.loads((place / "r.json").read_text())["status"] == "OK"
