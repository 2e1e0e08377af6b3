"""completions/cordon.bash knows what the program knows, and bash can use it."""
import os
import pathlib
import re
import subprocess

import pytest

import support


def script():
    for top in (support.TOP, pathlib.Path(os.environ.get("CORDON_SOURCE", support.TOP))):
        path = top / "completions/cordon.bash"
        if path.exists():
            return path
    raise AssertionError("completions/cordon.bash is missing")


def bash(code, cwd=None):
    p = subprocess.run(["bash", "--norc", "--noprofile", "-c", f"source '{script()}'\n{code}"],
                       env=support.ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                       text=True, timeout=30, check=False)
    assert p.stderr == "", p.stderr
    return p.stdout


def complete(*words, cwd=None):
    """What is offered for the last word."""
    quoted = " ".join(f"'{w}'" for w in ("cordon", *words))
    out = bash(f"COMP_WORDS=({quoted}) COMP_CWORD={len(words)}\n_cordon\n"
               'printf "%s\\n" "${COMPREPLY[@]}"', cwd)
    return sorted(out.split())


def table(command):
    entries = bash(f'echo $_cordon_{command}').split()
    return dict((e.split("=", 1) + [None])[:2] for e in entries)


def help_of(command):
    """The options of a command, each with the name of its value or None."""
    text = support.cordon(command, "--help").text
    return {name: arg or None
            for name, arg in re.findall(r"^  (--[a-z-]+)(?: (\S+))?", text, re.M)}


def commands():
    return re.findall(r"^  ([a-z]+) ", support.cordon("--help").text, re.M)


def test_every_command_is_known():
    assert bash("echo $_cordon_commands").split() == [*commands(), "help"]
    assert complete("") == sorted([*commands(), "help", "--help", "--version"])
    assert complete("do") == ["doctor"]
    assert complete("help", "r") == ["run"]


@pytest.mark.parametrize("command", commands() if os.path.exists(support.BIN) else [])
def test_every_option_is_known_and_no_other(command):
    known, helped = table(command), help_of(command)
    assert list(known) == list(helped)
    for name, arg in helped.items():
        assert (known[name] is None) == (arg is None), name
        words = (arg or "").split("|")
        if all(re.fullmatch("[a-z0-9]+", w) for w in words):  # a closed set is named in full
            assert known[name].split("|") == words
        elif name == "--profile":
            assert known[name].split("|") == ["stage", "module", "limits", "test", "agent"]
        elif name == "--require":
            assert known[name].split("|") == [*support.CAPABILITIES, "cpu_rate"]
        elif "FILE" in words:
            assert known[name] == "@file"


def test_options_and_values():
    assert complete("run", "--sec") == ["--seccomp"]
    assert complete("run", "--net", "") == ["host", "loopback", "none"]
    assert complete("run", "--net", "l") == ["loopback"]
    assert complete("run", "--net", "=", "l") == ["loopback"]
    assert complete("run", "--net", "=") == ["host", "loopback", "none"]
    assert complete("run", "--wall", "") == []
    assert complete("run", "--env", "HO") == ["HOME"]
    assert complete("doctor", "--profile", "a") == ["agent"]
    assert complete("policy", "no") == ["normalize"]
    assert complete("policy", "from-effects", "--form", "") == ["noether", "v1"]
    assert complete("nothing", "--x") == []


def test_methods_of_fs():
    helped = support.cordon("fs", "--help").text.split("Methods:")[1]
    assert bash("echo $_cordon_fs_methods").split() == re.findall(r"^  (\w+)", helped, re.M)
    assert complete("fs", "--root", "/srv", "readF") == ["readFile"]
    assert complete("fs", "--root", "/srv", "readFile", "") == []


def test_files_and_commands(place):
    (place / "policy.json").write_text("{}")
    (place / "pdir").mkdir()
    for option in ("--policy", "--result", "--ro"):
        assert complete("run", option, "p", cwd=place) == ["pdir", "policy.json"]
    assert complete("run", "--work", "p", cwd=place) == ["pdir", "private"]
    assert complete("policy", "check", "po", cwd=place) == ["policy.json"]
    assert "true" in complete("run", "--net", "none", "--", "tru")
    assert complete("run", "--", "cat", "po", cwd=place) == ["policy.json"]
    assert complete("run", "--", "cat", "--net", "", cwd=place) == ["pdir", "policy.json"]


def test_bash_itself_completes(place):
    """By its own machinery, as with the tabulator key."""
    out = bash("complete -p cordon")
    assert out.strip() == "complete -F _cordon cordon"
