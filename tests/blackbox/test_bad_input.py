"""Malformed, huge, contradictory or impossible input: exit 2, one line, nothing run."""
import json
import os

import pytest

from support import BIN, ROOT, TEST_BIN, cordon, run


def refused(r, *words, status=2, ran=None):
    assert r.rc == status, r.told()
    lines = r.err.decode().splitlines()
    assert 1 <= len(lines) <= 2, r.told()
    assert lines[0].startswith("cordon: "), r.told()
    for word in words:
        assert word in r.err.decode(), r.told()
    assert r.out == b"" or r.out.startswith(b"{")
    if ran is not None:
        assert not ran.exists(), "it ran"


DOCUMENTS = {
    "empty": (b"", ""),
    "not json": (b"nonsense", "1:1"),
    "array": (b"[]", ""),
    "trailing": (b'{"version": 1} x', "1:16"),
    "duplicate": (b'{"version": 1, "net": "none", "net": "host"}', "net"),
    "unknown": (b'{"version": 1, "nett": "none"}', "/nett"),
    "unknown deep": (b'{"version": 1, "fs": {"moode": "view"}}', "/fs/moode"),
    "wrong type": (b'{"version": 1,\n "limits": {"pids": "8"}}', "/limits/pids"),
    "negative": (b'{"version": 1, "limits": {"pids": -1}}', "/limits/pids"),
    "fraction": (b'{"version": 1, "limits": {"pids": 1.5}}', "/limits/pids"),
    "zero": (b'{"version": 1, "limits": {"mem_bytes": 0}}', "/limits/mem_bytes"),
    "too large": (b'{"version": 1, "limits": {"pids": 99999999999999999999}}', "/limits/pids"),
    "bad word": (b'{"version": 1, "net": "some"}', "/net"),
    "bad version": (b'{"version": 9}', "/version"),
    "bad utf-8": (b'{"version": 1, "net": "\xff"}', ""),
    "nul": (b'{"version": 1, "fs": {"ro": ["/a\\u0000b"]}}', ""),
    "relative path": (b'{"version": 1, "fs": {"ro": ["usr"]}}', "/fs/ro/0"),
    "over proc": (b'{"version": 1, "fs": {"ro": [{"host": "/usr", "sandbox": "/proc"}]}}', "/proc"),
    "over dev": (b'{"version": 1, "fs": {"ro": [{"host": "/usr", "sandbox": "/dev/x"}]}}', "/dev"),
    "bad name": (b'{"version": 1, "env": {"set": {"A=B": "x"}}}', "env"),
    "bad extends": (b'{"version": 1, "extends": "mine"}', "/extends"),
    "deep": (b'{"version": 1, "fs": ' + b"[" * 4000 + b"]" * 4000 + b"}", ""),
    "older, unknown key": (b'{"wall_time_s": 1, "wall_tim": 2}', "wall_tim"),
    "older, negative": (b'{"wall_time_s": -1}', "wall_time_s"),
    "older, text": (b'{"pids_max": "many"}', "pids_max"),
    "require": (b'{"version": 1, "require": ["warp_drive"]}', "/require/0"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_p30_bad_documents(name, place):
    text, word = DOCUMENTS[name]
    (place / "p").write_bytes(text)
    r = cordon("run", "--policy", place / "p", "--rw", f"{place}:/d", "--", "touch", "/d/ran")
    refused(r, word, ran=place / "ran")
    if text and name != "array":
        where = r.err.decode()
        assert any(c.isdigit() for c in where), "no place named"


def test_p30_positions(place):
    (place / "p").write_bytes(b'{\n  "version": 1,\n  "limits": {\n    "pids": "x"\n  }\n}\n')
    r = cordon("policy", "check", place / "p")
    refused(r, "/limits/pids", "4:13")


def test_huge_document(place):
    (place / "p").write_bytes(b'{"version": 1, "env": {"allow": ["' + b"A" * (1 << 20) + b'"]}}')
    refused(cordon("run", "--policy", place / "p", "--", "true"))
    refused(cordon("run", "--policy", "-", "--", "true", stdin=b" " * (3 << 20) + b"{}"))


def test_endless_document():
    with open("/dev/zero", "rb") as f:
        refused(cordon("run", "--policy", "-", "--", "true", stdin=f))


@pytest.mark.parametrize("args", [
    ["--no-such-option"], ["--profile", "mine"], ["--net", "some"], ["--wall", "fast"],
    ["--wall", "-1"], ["--wall", "1x"], ["--wall", ""], ["--mem", "0"], ["--mem", "12Q"],
    ["--mem", "99999999999999999999G"], ["--pids", "0"], ["--pids", "x"], ["--nofile", "0"],
    ["--output", "-5"], ["--on-overflow", "ignore"], ["--seccomp", "maybe"], ["--uid", "root"],
    ["--on-forbidden", "cry"], ["--backend", "magic"], ["--exit", "sometimes"],
    ["--format", "xml"], ["--setenv", "NOVALUE"], ["--setenv", "=x"], ["--env", "A=B"],
    ["--ro", ""], ["--ro", "/no/such/path"], ["--rw", "/no/such/path"], ["--cwd", "relative"],
    ["--policy", "/no/such/file"], ["--policy", "fd:99"], ["--policy", "fd:x"],
    ["--result", "/no/such/dir/r.json"], ["--result", "fd:99"], ["--tmp", "0"],
    ["--work", "/no/such/dir"], ["--require", "warp_drive"], ["--trace-id", "xyz"],
    ["--stdin", "some"], ["--ro", "/usr:/proc/x"], ["--ro", "/usr:/dev"], ["--wall"],
])
def test_p30_bad_options(args, place):
    r = cordon("run", "--rw", f"{place}:/d", *args, *(["--"] if len(args) > 1 or
               args[0] == "--no-such-option" else []), "touch", "/d/ran")
    refused(r, ran=place / "ran")


def test_no_command():
    refused(cordon("run"))
    refused(cordon("run", "--"))
    refused(cordon("run", "--wall", "1s", "--"))
    r = cordon("run", "--", "")
    refused(r, status=127 if r.rc == 127 else 2)


def test_unknown_command():
    refused(cordon("fly"), "fly")
    assert cordon().rc == 2


@pytest.mark.parametrize("args", [["--help"], ["help"], ["run", "--help"], ["policy", "--help"],
                                  ["help", "run"], ["--version"]])
def test_help(args):
    r = cordon(*args)
    assert r.rc == 0 and r.out and r.err == b""


@pytest.mark.parametrize("args,word", [
    (["--ro", "/usr:/x", "--ro", "/etc:/x"], "/x"),
    (["--json", "--format", "text"], ""),
    (["--rw", "/:/"], "/"),
])
def test_contradictions(args, word, place):
    r = cordon("run", *args, "--", "true")
    refused(r, word)


def test_127_not_found():
    r = run("--", "no-such-command-at-all")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (127, "SPAWN_FAILED", 127)
    r = cordon("run", "--", "no-such-command-at-all")
    refused(r, "no-such-command-at-all", status=127)


def test_127_says_which_bind_would_show_it(place):
    (place / "tool").write_text("#!/bin/sh\n")
    (place / "tool").chmod(0o755)
    r = cordon("run", "--", f"{place}/tool")
    refused(r, str(place), "--ro", status=127)


def test_126_not_executable(place):
    (place / "f").write_text("x")
    r = run("--ro", f"{place}:/d", "--", "/d/f")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (126, "SPAWN_FAILED", 126)
    refused(cordon("run", "--ro", f"{place}:/d", "--", "/d/f"), "/d/f", status=126)


def test_126_a_directory():
    assert run("--", "/usr").rc == 126


def test_126_no_interpreter(place):
    (place / "f").write_text("#!/no/such/interpreter\n")
    (place / "f").chmod(0o755)
    assert run("--ro", f"{place}:/d", "--", "/d/f").rc in (126, 127)


def test_125_set_up_failure_names_layer_and_remedy():
    used = run("--", "true").doc["enforced"]["memory"]["mechanism"]
    other = "cgroup1" if used == "cgroup2" else "cgroup2"
    refused(cordon("run", "--require", f"memory:{other}", "--", "true"), "memory", status=125)


def test_a_requirement_that_no_host_could_meet_is_a_mistake():
    """A word that a mechanism has is a demand, met or not; any other is a slip of the pen."""
    r = cordon("run", "--require", "memory:cgroup", "--", "true")
    assert r.rc == 2 and b"cgroup2, cgroup1, watcher" in r.err
    r = cordon("policy", "check", stdin=b'{"version": 1, "require": ["memory:cgroup"]}')
    assert r.rc == 2 and b"/require/0" in r.err and b"cgroup2, cgroup1, watcher" in r.err
    ledger = run("--", "true").doc["enforced"]
    words = [f"{name}:{word}" for name, entry in ledger.items() if entry["applied"]
             for word in entry["mechanism"].replace(",", "").split()]
    assert words
    r = run(*(w for word in words for w in ("--require", word)), "--", "true")
    assert r.rc in (0, 125), r.told()  # 125: a rung of the second tier, which the first plan does not have


def test_i28_errors_of_the_command_are_its_own():
    r = cordon("run", "--", "sh", "-c", "exit 3")
    assert (r.rc, r.out, r.err) == (3, b"", b"")


def test_i29_dashes_after_the_separator_are_untouched():
    r = cordon("run", "--", "sh", "-c", 'echo "$1" "$2"', "x", "--isolate=none", "--json")
    assert r.out == b"--isolate=none --json\n"


def test_control_characters_are_escaped_in_messages():
    r = cordon("run", "--ro", "/no/\x1b[31mred\n2", "--", "true")
    assert r.rc == 2 and b"\x1b" not in r.err and len(r.err.splitlines()) <= 2


def test_result_file_is_written_for_what_failed_to_start(place):
    r = cordon("run", "--result", place / "r", "--", "no-such-command-at-all")
    assert r.rc == 127
    assert json.loads((place / "r").read_text())["status"] == "SPAWN_FAILED"


def test_a_long_command_line():
    word = "x" * 100_000
    r = run("--", "sh", "-c", 'echo "${#1}"', "-", word)
    assert r.doc["stdout"] == "100000\n"
    assert r.doc["cmd"][-1] == word


def test_unreadable_policy(place):
    if ROOT:
        pytest.skip("root reads everything")
    (place / "p").write_text("{}")
    (place / "p").chmod(0)
    refused(cordon("run", "--policy", place / "p", "--", "true"), "p")


def test_source_without_permission(place):
    if ROOT:
        pytest.skip("root enters every directory")
    (place / "d").mkdir(mode=0)
    r = cordon("run", "--ro", f"{place}/d/in:/x", "--", "true")
    assert r.rc in (2, 125) and len(r.err.splitlines()) <= 2


def test_the_release_program_has_no_test_switches():
    with open(BIN, "rb") as f:
        assert b"CORDON_TEST_DISABLE" not in f.read()


def test_a_descriptor_for_reading_is_no_place_for_a_result(place):
    (place / "mark").touch()
    with open(place / "mark", "rb") as f:
        for option in ("--result", "--stdout-file"):
            r = cordon("run", option, f"fd:{f.fileno()}", "--rw", place, "--", "rm", place / "mark", pass_fds=[f.fileno()])
            refused(r, "open for writing", f"fd:{f.fileno()}")
    assert (place / "mark").exists()


def test_the_remedies_of_likely_mistakes(place):
    (place / "p").write_text('{"version": 1, "nett": "none"}')
    (place / "tool").write_text("#!/bin/sh\n")
    (place / "venv/bin").mkdir(parents=True)
    (place / "venv/pyvenv.cfg").touch()
    (place / "venv/bin/python").symlink_to("/usr/bin/python3")
    (place / "mine").mkdir()
    (place / "mine/entry").write_text(f"#!{place}/venv/bin/python\nprint('ran')\n")
    for name in ("tool", "mine/entry"):
        (place / name).chmod(0o755)
    for words, remedy, status in (
            (("--policy", "p", "--", "true"), "'p#/nett': 1:16", 2),
            (("--within", "p", "--", "true"), "'p#/nett': 1:16", 2),
            (("--ro", "tool:tool", "--", "true"), "as in --ro data:/data", 2),
            (("--", "true --help"), "sh -c '...'", 127),
            (("--work", "tool", "--", "true"), "--work takes a directory", 2),
            (("--work", "nope", "--", "true"), "create it first\n", 2),
            (("--", "./tool"), "--ro ./tool:/tool would show", 127)):
        refused(cordon("run", *words, cwd=place), remedy, status=status)
    refused(cordon("run", "--work", ".", "--", "./entry", cwd=place / "mine"), f"--ro {place}/venv would show it\n", status=127)
    r = cordon("run", "--work", ".", "--ro", place / "venv", "--", "./entry", cwd=place / "mine")
    assert (r.rc, r.out) == (0, b"ran\n"), r.told()
    r = cordon("run", "--ro", "./tool:/tool", "--", "/tool", cwd=place)
    assert (r.rc, r.err) == (0, b"")


@pytest.mark.parametrize("theirs, ours", [
    ("--ro-bind", "--ro"), ("--die-with-parent", "--die-with"), ("--rlimit_as", "--mem"), ("--rlimit-nproc", "--pids"),
    ("--private", "--work"), ("--unshare-net", "--net"), ("--wal", "--wall"), ("--polciy", "--policy"),
    ("--noroot", None), ("--proc", None), ("--frob", None)])
def test_words_of_other_sandboxes_and_slips(theirs, ours):
    remedy = f"did you mean {ours}?" if ours else "see --help for all options"
    refused(cordon("run", theirs, "x", "--", "true"), f"'{theirs}'", remedy)


@pytest.mark.parametrize("command", ["run", "test", "audit", "call", "fs", "policy", "doctor"])
def test_short_names_of_help_and_version(command):
    assert cordon(command, "-h").out == cordon(command, "--help").out != b""
    assert cordon("-h").out == cordon("--help").out != b""
    assert cordon("-V").out == cordon("--version").out != b""
    assert cordon(command, "-x").rc == 2


@pytest.mark.parametrize("command,profile", [("run", "stage"), ("test", "test"), ("call", "module")])
def test_help_names_the_profile_that_the_command_begins_with(command, profile):
    line = next(x for x in cordon(command, "--help").text.splitlines() if x.startswith("  --profile"))
    assert f"{profile} (default)" in line and line.count("(default)") == 1


def test_fs_options_end_with_two_dashes_and_slips_are_understood(place):
    (place / "--json").write_text("text")
    assert cordon("fs", "--root", place, "--", "readFile", "--json").out == b"text"
    r = cordon("fs", "--rot", place, "stat", ".")
    assert r.rc == 2 and b"did you mean --root?" in r.err
    r = cordon("fs", "--root", place, "--reedonly", "stat", ".")
    assert r.rc == 2 and b"did you mean --readonly?" in r.err


def test_the_root_of_the_file_system_is_no_project():
    r = cordon("test", "--", "true", cwd="/")
    assert r.rc == 2 and b"find project root '/'" in r.err and b"--root DIR" in r.err
    assert not os.path.exists("/tests")


@pytest.mark.skipif(ROOT, reason="root can write there")
def test_a_workspace_that_cannot_be_made_is_named_in_full():
    r = cordon("test", "--root", "/usr/lib", "--", "true")
    assert b"make '/usr/lib/tests/artifacts': permission denied" in r.err


def test_a_run_inside_of_a_run_says_what_refuses_it():
    sampled = dict(binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "cgroup"})
    r = cordon("run", "--ro", f"{BIN}:/c", "--", "/c", "run", "--", "true", **sampled)
    assert r.rc == 125 and b"a system call filter around this process refuses it" in r.err, r.told()
    assert b"kernel" not in r.err
    for inner in ("run", "test"):
        r = cordon("run", "--mem", "none", "--ro", f"{BIN}:/c", "--", "/c", inner, "--", "true")
        assert r.rc in (2, 125) and b"\n  sandboxes do not nest: " in r.err and b"sysctl" not in r.err, r.told()
    r = cordon("run", "--mem", "none", "--ro", f"{BIN}:/c", "--", "/c", "doctor")
    assert r.rc == 1 and b"fix: sandboxes do not nest: " in r.out and b"docker" not in r.out, r.told()
