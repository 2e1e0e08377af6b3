"""The tools of `cordon fs`: what they may be told, what they see, and that they end."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from support import BIN, ENV, ROOT, pids_with

# Tells what a program meets: its words, directory, environment and tree.
SHOW = """#!/bin/sh
echo "args:$*"
for word in "$@"; do echo "word:$word"; done
echo "cwd:$(pwd)"
echo "env:$(tr '\\0' ' ' </proc/self/environ)"
echo "top:$(echo /*)"
echo "work:$(echo /work/*)"
(echo made >made) 2>/dev/null && echo wrote || echo readonly
echo "input:$(wc -c)"
"""


class Tools:
    def __init__(self, top):
        self.top = top
        self.home = top / "home"
        self.scratch = top / "scratch"
        self.outside = top / "outside"
        self.programs = top / "programs"
        for d in (self.home, self.scratch, self.outside, self.programs):
            d.mkdir()
        (self.outside / "secret").write_text("canary")
        for d in (top, self.programs):
            d.chmod(0o755)

    def stand_in(self, name, text=SHOW):
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *args, options=()):
        words = [a if isinstance(a, str) else json.dumps(a) for a in args]
        done = subprocess.run(
            [BIN, "fs", "--root", self.home, "--scratch", self.scratch, "--json", *options, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
            env={**ENV, "SECRET": "token", "PATH": f"{self.programs}:{ENV['PATH']}"})
        assert done.stderr == b"", done.stderr
        assert str(self.top) not in done.stdout.decode()
        return json.loads(done.stdout)

    def ok(self, *args, **kw):
        answer = self.run(*args, **kw)
        assert answer["ok"], answer
        value = answer["value"]
        for key in ("stdout", "stderr"):
            value[key] = base64.b64decode(value[key])
            assert str(self.top).encode() not in value[key]
        return value

    def lines(self, *args, **kw):
        value = self.ok(*args, **kw)
        assert (value["code"], value["truncated"]) == (0, False), value
        return sorted(value["stdout"].decode().splitlines())

    def words(self, *args, **kw):
        shown = self.ok(*args, **kw)["stdout"].decode().splitlines()
        return [line[5:] for line in shown if line.startswith("word:")]

    def refused(self, *args, **kw):
        answer = self.run(*args, **kw)
        assert not answer["ok"], answer
        return answer["error"]


@pytest.fixture
def tools(tmp_path):
    return Tools(tmp_path)


def installed(name):
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")


# ---- find, fd, ripgrep themselves ----

def test_find(tools):
    (tools.home / "d/sub").mkdir(parents=True)
    assert tools.lines("find", "d/sub") == ["."]
    (tools.home / "d/a.txt").write_text("x")
    (tools.home / "d/sub/b.c").write_text("x")
    assert tools.lines("find", "d") == [".", "./a.txt", "./sub", "./sub/b.c"]
    assert tools.lines("find", "/root/d", {"options": ["-name", "*.c", "-printf", "%f\n"]}) == ["b.c"]
    assert tools.lines("find", "d", {"options": ["-maxdepth", "0"], "linux": ["-printf", "%y\n"]}) == ["d"]
    assert tools.lines("find", "/scratch") == ["."]


@installed("fdfind")
def test_fd(tools):
    (tools.home / "d").mkdir()
    assert tools.lines("fd", "d") == []
    (tools.home / "d/a.txt").write_text("x")
    (tools.home / "d/-b").write_text("x")
    names = [line.removeprefix("./") for line in tools.lines("fd", "d")]
    assert names == ["-b", "a.txt"]
    assert [n.removeprefix("./") for n in tools.lines("fd", "d", {"pattern": "-b"})] == ["-b"]
    assert [n.removeprefix("./") for n in tools.lines("fd", "d", {"options": ["-e", "txt"]})] == ["a.txt"]


@installed("rg")
def test_ripgrep(tools):
    (tools.home / "d").mkdir()
    assert tools.ok("ripgrep", "d", "x")["stdout"] == b""
    (tools.home / "d/a.txt").write_text("--files\n")
    assert tools.ok("ripgrep", "d", "x") == {"stdout": b"", "stderr": b"", "code": 1, "truncated": False}
    assert tools.lines("ripgrep", "d", "--files") == ["a.txt:--files"]
    # Beside these options a positional would be a path.
    assert tools.ok("ripgrep", "d", "/etc/passwd", {"options": ["-e", "files"]})["stdout"] == b"a.txt:--files\n"
    assert tools.lines("ripgrep", "d", "/etc", {"options": ["--files"]}) == ["a.txt"]
    assert b"rust: *.rs\n" in tools.ok("ripgrep", "d", "/etc", {"options": ["--type-list"]})["stdout"]
    assert tools.refused("ripgrep", "d", "x", {"options": ["--pre", "sh"]})["message"] == "Disallowed option: --pre"


@pytest.mark.parametrize("name", ["find", "fd", "rg"])
def test_follows_no_link_and_sees_nothing_outside(tools, name):
    if shutil.which({"fd": "fdfind"}.get(name, name)) is None:
        pytest.skip(f"{name} is not installed")
    (tools.home / "out").symlink_to(tools.outside)
    tool, *rest = {"find": ["find", ""], "fd": ["fd", ""], "rg": ["ripgrep", "", "canary"]}[name]
    for mode in ((), ("--unsafe",)):
        assert b"secret" not in tools.ok(tool, *rest, options=mode)["stdout"]
    # The directory itself may lead outside only where nothing is contained.
    rest[0] = "out"
    error = tools.refused(tool, *rest)
    assert error["message"] == "realpath of 'out' resolves to a path outside of sandbox"
    assert b"secret" in tools.ok(tool, *rest, options=("--unsafe",))["stdout"]


def test_paths_among_the_options_stay_inside(tools):
    (tools.home / "ref").write_text("x")
    assert tools.ok("find", "", {"options": ["-newer", "ref"]})["code"] == 0
    for value, why in (("/etc/passwd", "path must be relative"),
                       ("a/../../x", "path must stay within working directory")):
        for option in ("-newer", "-anewer", "-cnewer", "-samefile"):
            assert tools.refused("find", "", {"options": [option, value]})["message"] == why
        assert tools.refused("fd", "", {"options": ["--ignore-file", value]})["message"] == why


# ---- the sandbox around each, shown by a program that tells what it sees ----

def test_sees_a_directory_and_nothing_else(tools):
    tools.stand_in("dust")
    (tools.home / "d").mkdir()
    (tools.home / "d/x").write_text("x")
    (tools.home / "beside").write_text("x")
    shown = tools.lines("dust", "d", {"options": ["-j"]})
    assert "args:-j -- ." in shown
    assert "cwd:/work" in shown and "work:/work/x" in shown
    env = next(line for line in shown if line.startswith("env:"))
    assert "token" not in env and "HOME" not in env and "PATH" not in env
    top = next(line for line in shown if line.startswith("top:"))
    assert "/home" not in top and "/root" not in top
    assert "readonly" in shown and not (tools.home / "d/made").exists()
    assert "input:0" in shown


def test_a_network_is_not_there(tools):
    tools.stand_in("dust", "#!/bin/sh\nwc -l </proc/net/dev\n")
    assert tools.lines("dust", "") == ["3"]  # two lines of heading, and lo


def test_acts_as_the_owner_of_the_directory(tools):
    (tools.home / "mine").mkdir(mode=0o700)
    (tools.home / "mine/private").write_text("x")
    (tools.home / "mine/private").chmod(0o600)
    if ROOT:
        for p in (tools.home / "mine", tools.home / "mine/private"):
            os.chown(p, 1500, 1500)
    tools.stand_in("dust", "#!/bin/sh\ncat private\n")
    assert tools.ok("dust", "mine")["stdout"] == b"x"


# ---- caps ----

def test_time_has_a_cap_and_nothing_stays(tools):
    mark = f"77{os.getpid()}.5"
    tools.stand_in("dust", f"#!/bin/sh\ntrap '' TERM\n(trap '' TERM; setsid sleep {mark}) &\necho started\nsleep {mark}\nsleep {mark}\n")
    start = time.monotonic()
    value = tools.ok("dust", "", {"timeout": 300})
    assert value == {"stdout": b"started\n", "stderr": b"", "code": None, "truncated": True}
    assert time.monotonic() - start < 10
    assert pids_with(mark) == []


@pytest.mark.parametrize("timeout", [1e300, -5])
def test_no_value_lifts_the_cap_of_time(tools, timeout):
    tools.stand_in("rg", "#!/bin/sh\nexec sleep 30\n")
    start = time.monotonic()
    assert tools.ok("ripgrep", "", "x", {"timeout": timeout})["truncated"] is True
    assert 4.5 < time.monotonic() - start < 15


@pytest.mark.parametrize("size", [5_000, 1e12, -1, None])
def test_output_has_a_cap_for_both_streams_together(tools, size):
    tools.stand_in("dust", "#!/bin/sh\nyes | head -c 6000000\nyes | head -c 6000000 >&2\nsleep 60\n")
    value = tools.ok("dust", "", {"maxSize": size})
    cap = 5_000 if size == 5_000 else 10_000_000
    assert len(value["stdout"]) + len(value["stderr"]) == cap
    assert (value["code"], value["truncated"]) == (None, True)


def test_a_code_is_a_value(tools):
    tools.stand_in("dust", "#!/bin/sh\necho no >&2\nexit 3\n")
    assert tools.ok("dust", "") == {"stdout": b"", "stderr": b"no\n", "code": 3, "truncated": False}
    tools.stand_in("dust", "#!/bin/sh\nkill -9 $$\n")
    assert tools.ok("dust", "") == {"stdout": b"", "stderr": b"", "code": None, "truncated": False}


# ---- what is missing ----

@pytest.mark.parametrize("tool,args", [("dust", [""]), ("ouch", [["list", "a"]]), ("rustic", [["snapshots"]])])
def test_a_missing_tool_is_named(tools, tool, args):
    if shutil.which(tool):
        pytest.skip(f"{tool} is installed")
    error = tools.refused(tool, *args, options=("--rustic-repo", tools.scratch))
    assert error["code"] == "ENOENT" and error["message"].startswith(f"{tool} is not installed")


def test_wrong_arguments(tools):
    assert tools.refused("find", "", {"options": ["-delete"]})["message"] == "Disallowed option: -delete"
    assert tools.refused("find", "", {"options": ["-name"]})["message"] == "Option -name requires a value"
    assert tools.refused("find", "", {"options": ["-mtime", "x"]})["message"] == "argument must be an integer"
    assert tools.refused("dust", "", {"options": ["-m", "z"]})["message"] == "invalid value"
    assert tools.refused("find", "nope")["code"] == "ENOENT"
    assert tools.refused("ouch", ["rm", "a"])["message"].startswith("first argument must be one of compress")
    assert tools.refused("ouch", [])["message"].startswith("first argument must be one of compress")
    assert tools.refused("rustic", ["snapshots"])["message"] == "no backup repository is configured"


# ---- ouch ----

def test_ouch_gets_paths_that_stay_inside(tools):
    tools.stand_in("ouch")
    (tools.home / "d").mkdir()
    (tools.home / "d/a").write_text("x")
    (tools.home / "ln").symlink_to("d")
    (tools.home / "out").symlink_to(tools.outside)
    assert tools.words("ouch", ["compress", "d/a", "/root/ln/a", "b.tar.gz"]) == [
        "compress", "-y", "-q", "--", "d/a", "d/a", "b.tar.gz"]
    assert tools.words("ouch", ["d", "d/a"], {"cwd": "ln", "options": ["--dir", "new"]}) == [
        "d", "-y", "-q", "--dir", "../new", "--", "a"]
    assert tools.words("ouch", ["c", "../../d/a", "-x.zip"], {"options": ["-f", "zip", "--fast"]}) == [
        "c", "-y", "-q", "-f", "zip", "--fast", "--", "d/a", "-x.zip"]
    assert tools.words("ouch", ["list", "/scratch/a.zip"])[-1] == "a.zip"
    for args, options in ((["c", "out/secret", "b.zip"], {}), (["c", "d/a", "out/new.zip"], {}),
                          (["d", "d/a"], {"options": ["-d", "out"]}), (["d", "d/a"], {"options": ["-d", "out/x"]}),
                          (["d", "d/a"], {"cwd": "out"}), (["list", "out"], {})):
        error = tools.refused("ouch", args, options)
        assert "outside of sandbox" in error["message"] and error["code"] == "EACCES", args
    assert tools.refused("ouch", ["c", "d/a", "/scratch/b.zip"])["code"] == "EXDEV"
    assert tools.refused("ouch", ["d", "d/a"], {"options": ["--dir", "/scratch/x"]})["code"] == "EXDEV"
    assert sorted(p.name for p in tools.outside.iterdir()) == ["secret"]


def test_ouch_writes_only_where_it_should(tools):
    tools.stand_in("ouch", "#!/bin/sh\necho x >made && echo wrote || echo readonly\n"
                           "(echo x >/work/out/made) 2>/dev/null || echo inside\n")
    (tools.home / "a").write_text("x")
    (tools.home / "out").symlink_to(tools.outside)
    assert tools.ok("ouch", ["list", "a"])["stdout"] == b"readonly\ninside\n"
    assert tools.ok("ouch", ["decompress", "a"])["stdout"] == b"wrote\ninside\n"
    assert (tools.home / "made").read_text() == "x\n"
    assert (tools.home / "made").stat().st_uid == os.getuid()
    assert sorted(p.name for p in tools.outside.iterdir()) == ["secret"]


def test_readonly_refuses_the_tools_that_write(tools):
    tools.stand_in("ouch")
    tools.stand_in("rustic")
    (tools.home / "a").write_text("x")
    options = ("--readonly", "--rustic-repo", tools.scratch)
    for command in ("compress", "c", "decompress", "d"):
        error = tools.refused("ouch", [command, "a", "b"], options=options)
        assert error["message"] == "EACCES: permission denied -- read only filesystem, open 'b'"
    assert tools.refused("rustic", ["restore", "ab12", "b"], options=options)["code"] == "EACCES"
    assert "readonly" in tools.lines("ouch", ["l", "a"], options=options)
    assert tools.lines("find", "a/..", options=options) == [".", "./a"]
    assert not list(tools.scratch.iterdir())


# ---- rustic ----

# Keeps its snapshots in a file: "init" makes the repository, "snapshots --json -- ID" looks one up.
RUSTIC = """#!/bin/sh
for word in "$@"; do echo "word:$word" >&2; done
case "$*" in
*" init") echo 1 >/repo/config; exit 0 ;;
*"snapshots --json -- "*)
    for id; do :; done
    case $id in
    ab12) echo '[[{"hostname":"global"},[{"id":"ab12","hostname":"global"}]]]' ;;
    cd34) echo '[[{"hostname":"global"},[{"id":"cd34","hostname":"other"}]]]' ;;
    *) echo '[]' ;;
    esac
    exit 0 ;;
esac
cat /repo/config >/dev/null && pwd
"""


@pytest.fixture
def rustic(tools):
    tools.stand_in("rustic", RUSTIC)
    repo = tools.top / "repo"
    repo.mkdir()
    tools.repo = repo
    fixed = ["--password", "", "--no-cache", "-r", "/repo"]

    def words(*args, **kw):
        value = tools.ok("rustic", *args, options=("--rustic-repo", repo), **kw)
        got = [line[5:] for line in value["stderr"].decode().splitlines() if line.startswith("word:")]
        assert got[:len(fixed)] == fixed
        return got[len(fixed):]
    tools.rustic = words
    tools.rustic_refused = lambda args, *rest: tools.refused(
        "rustic", args, *rest, options=("--rustic-repo", repo))["message"]
    return tools


def test_rustic_commands(rustic):
    (rustic.home / "d/e").mkdir(parents=True)
    assert rustic.rustic(["backup", "--json", "--tag", "t", "d"]) == [
        "backup", "--no-scan", "--host", "global", "--json", "--tag", "t", "--", "d"]
    assert (rustic.repo / "config").exists()
    assert rustic.rustic(["backup", "d/e"], {"cwd": "d"})[-1] == "e"
    assert rustic.rustic(["snapshots", "--json"]) == ["snapshots", "--filter-host", "global", "--json"]
    assert rustic.rustic(["restore", "--delete", "ab12:d", "new"]) == [
        "restore", "--delete", "--", "ab12:d", "new"]
    assert rustic.rustic(["forget", "ab12", "ab12"]) == ["forget", "--", "ab12", "ab12"]
    assert rustic.rustic(["forget", "--keep-daily", "7"]) == [
        "forget", "--filter-host", "global", "--keep-daily", "7"]


def test_rustic_refusals(rustic):
    (rustic.home / "out").symlink_to(rustic.outside)
    no = rustic.rustic_refused
    assert no(["init"]) == "init not allowed"
    assert no(["copy"]) == "subcommand not allowed: copy"
    assert no([]) == "subcommand not allowed: "
    assert no(["backup"]) == "missing backup source"
    assert no(["restore", "ab12"]) == "missing <SNAPSHOT[:PATH]>"
    assert no(["restore", "latest", "d"]) == "latest is not allowed"
    assert no(["restore", "latest:d", "d"]) == "latest is not allowed"
    assert no(["restore", "--x", "d"]) == "a snapshot is named by hex digits"
    assert no(["restore", "cd34", "d"]) == "host for snapshot with id cd34 must be 'global' but it is other"
    assert no(["restore", "ee", "d"]) == "host for snapshot with id ee must be 'global' but it is not known"
    assert no(["forget", "cd34"]) == "host for snapshot with id cd34 must be 'global' but it is other"
    assert no(["forget", "ab12", "cd34"]) == "host for snapshot with id cd34 must be 'global' but it is other"
    assert no(["snapshots", "--filter-host", "x"]) == "Disallowed option: --filter-host"
    assert no(["backup", "--host", "x", "d"]) == "Disallowed option: --host"
    assert "outside of sandbox" in no(["backup", "out"])
    assert "outside of sandbox" in no(["restore", "ab12", "out/x"])


def test_a_tool_is_looked_for_in_absolute_places_only(tools):
    tools.stand_in("dust")
    done = subprocess.run([BIN, "fs", "--root", tools.home, "--json", "dust", ""], cwd=tools.programs,
                          env={"PATH": ".:"}, stdout=subprocess.PIPE, check=False)
    assert json.loads(done.stdout)["error"]["message"].startswith("dust is not installed")


def test_no_tool_runs_where_user_namespaces_are_refused(tools, refuse):
    tools.stand_in("dust", "#!/bin/sh\necho ran\n")
    assert tools.lines("dust", "") == ["ran"]
    done = subprocess.run([refuse, "newuser=EPERM", "--", BIN, "fs", "--root", tools.home, "--json", "dust", ""],
                          env={"PATH": f"{tools.programs}:{ENV['PATH']}"}, stdout=subprocess.PIPE, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == 1 and not answer["ok"] and "ran" not in answer["error"]["message"], answer


def test_a_link_to_a_program_is_followed(tools):
    real = tools.top / "elsewhere"
    real.mkdir()
    tools.stand_in("dust", "#!/bin/sh\necho linked\n")
    (tools.programs / "dust").rename(real / "dust-1.0")
    (tools.programs / "dust").symlink_to(pathlib.Path("..") / "elsewhere" / "dust-1.0")
    assert tools.lines("dust", "") == ["linked"]
