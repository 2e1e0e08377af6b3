"""docs/from-bubblewrap.md: its pairs of lines print the same, and the options that it names exist."""
import re
import shutil
import subprocess

import pytest

import support

PAGE = "docs/from-bubblewrap.md"


def pairs():
    first, *rest = re.search(r"```sh\n(.*?)\n```", support.page(PAGE), re.S).group(1).split("\n\n")
    return first, [tuple(block.split("\n")) for block in rest]


@pytest.fixture
def ground(place):
    (place / "bin").mkdir()
    (place / "bin/cordon").symlink_to(support.BIN)
    for name in ("data", "out"):
        (place / name).mkdir()
    (place / "data/file.txt").write_text("hello\n")
    return place


def said(ground, base, line):
    env = {**support.ENV, "PATH": f"{ground}/bin:{support.ENV['PATH']}"}
    p = subprocess.run(["sh", "-c", f"{base}\n{line}"], cwd=ground, env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    assert p.stderr == b"", f"{line}: {p.stderr!r}"
    return p.stdout


@pytest.mark.skipif(shutil.which("bwrap", path=support.ENV["PATH"]) is None, reason="there is no bwrap here")
@pytest.mark.parametrize("number", range(len(pairs()[1])))
def test_both_lines_of_a_pair_print_the_same(ground, number):
    base, all_pairs = pairs()
    theirs, ours = all_pairs[number]
    assert theirs.startswith("$B ") and "cordon run " in ours
    expected = said(ground, base, theirs)
    assert expected not in (b"", b"0\n") and said(ground, base, ours) == expected


def test_the_options_that_it_names_exist():
    known = set(re.findall(r"^  (--[a-z-]+)", support.cordon("run", "--help").text, re.M))
    named = set()
    for row in re.findall(r"^\| (.*) \|$", support.page(PAGE), re.M):
        named |= set(re.findall(r"--[a-z][a-z-]*", re.sub(r"\\\|", "", row).split(" | ")[1]))
    assert len(named) > 20 and named <= known
