"""One system call after the other fails in `cordon fs`: what it says it did is done, and where it failed nothing is lost that
it was not to replace; no file is cut or mixed. The calls are found by watching, as in test_faults.py.
"""
import errno
import hashlib
import json
import subprocess

import pytest
from support import ALL, BIN, ENV, ROOT, figure
from test_faults import BY_NUMBER, CRASHES, inject, pytestmark  # noqa: F401

# How a program begins and ends, on which no file depends.
OTHERS = {"execve", "mmap", "munmap", "mprotect", "brk", "arch_prctl", "set_tid_address", "rseq", "prlimit64", "getrandom",
          "exit_group", "rt_sigaction", "rt_sigprocmask"}
FILES = {"f": "old content", "source": "source", "t/x": "tx", "t/s/y": "ty", "full/z": "fz", "full/q/w": "fw", "m/t/v": "mv"}
PATCH = json.dumps({"patch": [[[[1, "x"]], 0, 0, 0, 1]], "sha256": hashlib.sha256(b"old content").hexdigest()})
ACTS = {
    "writeFile": ["writeFile", "f", "new content"],
    "writeFile, synced": ["--sync", "full", "writeFile", "f", "new content"],
    "writeFile of a new file": ["writeFile", "g", "new content"],
    "a patch": ["writeFile", "f", PATCH],
    "copyFile": ["copyFile", "source", "f"],
    "copyFile to a new name": ["copyFile", "source", "g"],
    "cp": ["cp", "t", "full", '{"recursive": true}'],
    "rename": ["rename", "source", "f"],
    "move": ["move", "t", "new/place"],
    "move over a directory": ["move", "t", "full", '{"overwrite": true}'],
    "move over a file": ["move", "t", "f", '{"overwrite": true}'],
    "move to a mount": ["move", "t", "m/new"],
    "move from a mount over a directory": ["--sync", "full", "move", "m/t", "full", '{"overwrite": true}'],
}


@pytest.fixture
def tree(request, tmp_path):
    (tmp_path / "root/m").mkdir(parents=True)
    if ROOT:
        request.getfixturevalue("own_mounts")
        subprocess.run(["mount", "-t", "tmpfs", "none", str(tmp_path / "root/m")], check=True)
    return tmp_path / "root"


def furnish(root):
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_file():
            path.unlink()
        elif path != root / "m":
            path.rmdir()
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def contents(root):
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}


def act(words, root):
    argv = [BIN, "fs", "--root", str(root), "--json", *words]
    return subprocess.run(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def watched(inject, how, words, root):  # noqa: F811
    """The act beneath the injector, and what that reports."""
    report = root.parent / "report"
    argv = ["sh", "-c", 'exec 3>"$0" && exec "$@"', str(report), inject, *map(str, how), "--", BIN, "fs", "--root", str(root),
            "--json", *words]
    r = subprocess.run(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return r, report.read_text().splitlines()


def calls_of(inject, words, root):  # noqa: F811
    lines = [map(int, line.split()) for line in watched(inject, ["list"], words, root)[1]]
    return [(number, count) for role, number, count in lines if role == 0 and BY_NUMBER.get(number) not in OTHERS]


def lost(before, done, now):
    """What was there, is nowhere now, and was not replaced as it was to be."""
    replaced = all(now.get(name) == text for name, text in done.items())
    return [name for name, text in before.items() if text not in now.values() and now.get(name) != done.get(name)
            and not (replaced and text not in done.values())]


@pytest.mark.parametrize("name", ACTS)
def test_no_call_that_fails_loses_a_file(inject, tree, name):  # noqa: F811
    words = ACTS[name]
    if "mount" in name and not ROOT:
        pytest.skip("only root mounts")
    furnish(tree)
    assert act(words, tree).returncode == 0
    done = contents(tree)
    furnish(tree)
    bad, tried = [], 0
    for number, count in calls_of(inject, words, tree):
        for n in range(1, count + 1) if ALL or count < 4 else (1, count):
            furnish(tree)
            r, report = watched(inject, [0, number, n, errno.EIO], words, tree)
            now, tried = contents(tree), tried + (report[:1] == ["hit"])
            crashed = r.returncode - 128 in CRASHES
            if crashed or (now != done if r.returncode == 0 else lost(FILES, done, now)):
                bad.append((BY_NUMBER.get(number, number), n, r.returncode, r.stdout, now))
    figure(f"faults: {tried} in {name}, {len(bad)} that lost something or told another thing")
    assert tried > 8 and not bad, bad
