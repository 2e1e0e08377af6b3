"""`cordon fs` as a user sees it: values, errors and exit states, with and without --json."""
import base64
import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from support import BIN


class Fs:
    def __init__(self, top):
        self.home = top / "home"
        self.outside = top / "outside"
        self.home.mkdir()
        self.outside.mkdir()
        (self.outside / "secret").write_text("canary")
        self.top = top

    def run(self, *args, given=b"", options=()):
        return subprocess.run([BIN, "fs", "--root", str(self.home), *options, *args],
                              input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60, check=False)

    def ok(self, *args, **kw):
        done = self.run(*args, options=("--json", *kw.pop("options", ())), **kw)
        answer = json.loads(done.stdout)
        assert answer["ok"] is True and done.returncode == 0, answer
        return answer["value"]

    def error(self, *args, **kw):
        done = self.run(*args, options=("--json", *kw.pop("options", ())), **kw)
        answer = json.loads(done.stdout)
        assert answer["ok"] is False and done.returncode == 1, answer
        assert str(self.top) not in done.stdout.decode() + done.stderr.decode()
        return answer["error"]


@pytest.fixture
def fs(tmp_path):
    return Fs(tmp_path)


def test_content_goes_through_stdin_and_stdout(fs):
    data = bytes(range(256)) * 300
    assert fs.run("writeFile", "a", "-", given=data).returncode == 0
    assert fs.run("readFile", "a").stdout == data
    assert base64.b64decode(fs.ok("readFile", "a")) == data
    fs.ok("writeFile", "t", "text \u00e4")
    assert fs.ok("readFile", "t", "utf8") == "text \u00e4"
    fs.ok("appendFile", "t", "!")
    assert fs.run("readFile", "t").stdout.decode() == "text \u00e4!"
    assert fs.ok("readFile", "t", "utf-8") == "text \u00e4!"
    for args in (["readFile", "t", "latin1"], ["appendFile", "t", "e9", "hex"]):  # never read as something else
        assert fs.error(*args)["code"] == "ERR_INVALID_ARG_VALUE"
    assert fs.run("readFile", "t").stdout.decode() == "text \u00e4!"


def test_errors_have_the_shape_of_node(fs):
    assert fs.error("readFile", "q") == {
        "code": "ENOENT", "errno": -2, "syscall": "open", "path": "q",
        "message": "ENOENT: no such file or directory, open 'q'"}
    plain = fs.run("readFile", "q")
    assert plain.returncode == 1 and plain.stdout == b""
    assert plain.stderr == b"cordon: fs readFile: ENOENT: no such file or directory, open 'q'\n"
    (fs.home / "a").write_text("")
    two = fs.error("rename", "q", "r")
    assert two["dest"] == "r" and two["message"].endswith("rename 'q' -> 'r'")
    assert fs.error("chmod", "a", "9x")["code"] == "ERR_INVALID_ARG_VALUE"
    assert fs.error("utimes", "a", "now", "1")["code"] == "ERR_INVALID_ARG_TYPE"


def test_usage_errors_exit_2(fs):
    for args in (["nope"], ["stat"], ["stat", "a", "b"], ["rm", "a", "{"], ["cp", "a"],
                 ["watch", ".", '{"pollInterval": 250}']):
        done = fs.run(*args)
        assert done.returncode == 2 and done.stdout == b"" and done.stderr.startswith(b"cordon: fs")
    for args in (["--root"], ["stat", "a"], ["--root", "/", "--bad", "stat", "a"],
                 ["--root", "/", "--sync", "x", "stat", "a"], ["--root", "/"]):
        assert subprocess.run([BIN, "fs", *args], stderr=subprocess.PIPE,
                              check=False).returncode == 2
    assert subprocess.run([BIN, "fs", "--help"], stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("args, said", [
    (["cp", "a", "b", '{"force": "false"}'], b"option 'force' must be a boolean"),
    (["cp", "a", "b", '{"forced": false}'], b"there is no option 'forced'; allowed: recursive, dereference, force"),
    (["cp", "a", "b", '{"timeout": 5}'], b"there is no option 'timeout'"),
    (["move", "a", "b", '{"override": true}'], b"there is no option 'override'; allowed: overwrite\n"),
    (["rm", "a", '{"recursive": 1}'], b"option 'recursive' must be a boolean"),
    (["rmdir", "a", '{"force": true}'], b"there is no option 'force'"),
    (["mkdir", "d", '{"recursiv": true}'], b"there is no option 'recursiv'"),
    (["readdir", "", '{"ev\\u001b[31mil": 1}'], b"there is no option 'ev\\x1b[31mil'"),
    (["writeFileDelta", "b", "new", '{"minLength": "7"}'], b"option 'minLength' must be a number"),
    (["watch", "a", '{"overflow": "throws"}'], b"option 'overflow' must be throw or ignore"),
    (["find", "", '{"options": "-name"}'], b"option 'options' must be a list")])
def test_an_option_that_would_not_hold_is_refused(fs, args, said):
    (fs.home / "a").write_text("a")
    (fs.home / "b").write_text("b")
    done = fs.run(*args)
    assert done.returncode == 2 and done.stdout == b"" and said in done.stderr, done
    assert sorted(p.name for p in fs.home.iterdir()) == ["a", "b"] and (fs.home / "b").read_text() == "b"


def test_options_that_are_null_are_not_given(fs):
    (fs.home / "a").write_text("a")
    fs.ok("cp", "a", "b", '{"recursive": null, "reflink": true, "verbatimSymlinks": false}')
    assert (fs.home / "b").read_text() == "a"


def test_outside_is_refused_and_logged(fs, tmp_path):
    (fs.home / "esc").symlink_to(fs.outside / "secret")
    log = tmp_path / "log"
    error = fs.error("readFile", "/root/esc", options=("--log", str(log)))
    assert error["code"] == "EACCES" and "outside of sandbox" in error["message"]
    (record,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert record == {"method": "readFile", "mode": "safe", "path": "/root/esc", "code": "EACCES",
                      "message": error["message"]}
    done = fs.run("readFile", "esc", options=("--stats",))
    assert json.loads(done.stderr.splitlines()[-1])["outside"] == 1
    assert fs.run("readFile", "esc", options=("--unsafe",)).stdout == b"canary"
    assert fs.error("unlink", "esc")["code"] == "EACCES"
    fs.ok("unlink", "esc", options=("--leaf-links", "act"))
    assert (fs.outside / "secret").exists()


def test_bases_and_gates(fs, tmp_path):
    scratch, rootfs = tmp_path / "s", tmp_path / "r"
    scratch.mkdir()
    rootfs.mkdir()
    bases = ("--scratch", str(scratch), f"--rootfs={rootfs}", "--home-alias", "/home/me")
    fs.ok("writeFile", "/scratch/a", "s", options=bases)
    fs.ok("writeFile", "/a", "r", options=bases)
    fs.ok("writeFile", "/home/me/a", "h", options=bases)
    assert [(d / "a").read_text() for d in (scratch, rootfs, fs.home)] == ["s", "r", "h"]
    assert fs.error("readFile", "/scratch/a")["message"] == (
        "scratch is not mounted; cannot access absolute path '/scratch/a'")
    assert fs.error("link", "a", "b")["code"] == "EPERM"
    fs.ok("link", "a", "b", options=("--allow-hardlink",))
    assert fs.error("symlink", "a", "c")["code"] == "EPERM"
    fs.ok("symlink", "a", "c", options=("--allow-symlink",))
    assert fs.error("writeFile", "a", "x", options=("--readonly",))["message"] == (
        "EACCES: permission denied -- read only filesystem, open 'a'")
    assert fs.error("readFile", "c", options=("--strict",))["code"] == "ELOOP"
    fs.ok("writeFile", "a", "synced", options=("--sync", "full", "--no-xdev"))


def test_options_and_lists_are_json(fs):
    fs.ok("mkdir", "d/e", '{"recursive": true, "mode": "700"}')
    assert (fs.home / "d/e").stat().st_mode & 0o777 == 0o700
    fs.ok("mkdir", "m", "750")
    fs.ok("writeFile", "a", "A")
    fs.ok("writeFile", "b", "B")
    fs.ok("cp", '["a", "b"]', "d")
    assert fs.ok("readdir", "d") == ["a", "b", "e"]
    fs.ok("cp", "d", "copy", '{"recursive": true}')
    assert fs.error("cp", "a", "copy/a", '{"force": false, "errorOnExist": true}')["code"] == (
        "ERR_FS_CP_EEXIST")
    assert fs.ok("readdir", "copy", '{"recursive": true, "withFileTypes": true}')[0] == {
        "name": "a", "parentPath": "copy", "path": "copy", "type": 1}
    fs.ok("move", "copy", "x/y/z")
    assert fs.error("move", "a", "b")["message"] == "dest already exists."
    fs.ok("move", "a", "b", '{"overwrite": true}')
    assert fs.error("rm", "d")["code"] == "ERR_FS_EISDIR"
    fs.ok("rm", '["d", "x", "b", "m", "gone"]', '{"recursive": true, "force": true}')
    assert fs.ok("readdir", "/") == []


def test_values(fs):
    (fs.home / "a").write_text("12345")
    (fs.home / "l").symlink_to("a")
    (fs.home / "d").mkdir()
    stat = fs.ok("stat", "l")
    assert stat["size"] == 5 and stat["type"] == "f" and stat["mtimeMs"] > 1e12
    assert fs.ok("lstat", "l")["type"] == "l"
    assert fs.ok("exists", "l") is True and fs.ok("exists", "q") is False
    assert fs.run("exists", "q").stdout == b"false\n"
    assert fs.ok("readlink", "l") == "a" and fs.ok("realpath", "/root/l") == "/root/a"
    files = fs.ok("getListing", "")["files"]
    assert files["l"]["isSymLink"] and files["l"]["linkTarget"] == "a" and files["d"]["isDir"]
    assert files["a"]["size"] == 5 and fs.ok("getListing", "")["truncated"] is False
    assert fs.ok("constants")["S_IFLNK"] == 40960
    fs.ok("truncate", "a", "2")
    assert (fs.home / "a").read_text() == "12"
    fs.ok("utimes", "a", "1.5", "2.5")
    assert (fs.home / "a").stat().st_mtime == 2.5
    fs.ok("lockFile", "a", "10")
    fs.ok("syncFsWatch", "a")


def test_a_number_is_taken_as_it_is_or_refused(fs):
    kept = fs.home / "kept"
    kept.write_text("content")
    largest = 2**63 - 1
    done = fs.run("truncate", "kept", str(largest))  # the file system decides
    assert kept.stat().st_size == (largest if done.returncode == 0 else 7)
    os.truncate(kept, 7)
    for length in (2**63, 2**64, 10**40):
        assert fs.error("truncate", "kept", str(length))["code"] == "ERR_OUT_OF_RANGE"
    for length in ("1e3", "2.5", "nan", "inf", "0x3", " 3", "3 ", "+3", "-", ""):
        assert fs.error("truncate", "kept", length)["code"] == "ERR_INVALID_ARG_TYPE"
    assert kept.read_text() == "content"
    fs.ok("truncate", "kept", "-3")
    assert kept.read_text() == ""
    assert fs.error("lockFile", "kept", "nan")["code"] == "ERR_INVALID_ARG_TYPE"
    for ms in ("1e300", "inf", "-1e300"):
        fs.ok("lockFile", "kept", ms)
    for mode in ("-1", "4294967296", "1e3"):
        assert fs.error("mkdir", "d", '{"mode": %s}' % mode)["code"] == "ERR_INVALID_ARG_VALUE"
    for length in ("-1", "1e300", "-1e300"):
        fs.ok("writeFileDelta", "kept", "x", '{"minLength": %s}' % length)


def test_patches(fs):
    (fs.home / "h").write_text("hello world")
    request = {"patch": [[[[0, "hello "], [1, "brave new "], [0, "world"]], 0, 0, 11, 21]],
               "sha256": "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"}
    fs.ok("writeFile", "h", json.dumps(request))
    assert (fs.home / "h").read_text() == "hello brave new world"
    assert fs.error("writeFile", "h", json.dumps(request))["code"] == "ETAG_MISMATCH"
    base, content = "x" * 2000, "x" * 1000 + "y" + "x" * 999
    (fs.home / "h").write_text(base)
    fs.ok("writeFileDelta", "h", content, json.dumps({"baseContents": base}))
    assert (fs.home / "h").read_text() == content


def test_names_from_strangers_cannot_move_the_cursor(fs):
    (fs.home / "ev\x1b[31mil\nname").write_text("")
    assert fs.run("readdir", "").stdout == b"ev\\x1b[31mil\\nname\n"
    assert b"\x1b" not in fs.run("readFile", "no\x1b[2Jne").stderr


def test_watch_prints_a_line_for_each_event(fs):
    (fs.home / "a").write_text("")
    watch = subprocess.Popen(
        [BIN, "fs", "--root", str(fs.home), "watch", "a",
         '{"stabilityThreshold": 0, "closeOnUnlink": true}'], stdout=subprocess.PIPE)
    # Written again and again: the watch is armed at some moment that nothing announces.
    line = None
    import threading
    stop = threading.Event()

    def write():
        while not stop.wait(0.05):
            (fs.home / "a").write_text("x")

    writer = threading.Thread(target=write)
    writer.start()
    line = watch.stdout.readline()
    stop.set()
    writer.join()
    assert json.loads(line) == {"event": "change", "filename": ""}
    (fs.home / "a").unlink()
    rest = watch.communicate(timeout=30)[0].splitlines()
    assert json.loads(rest[-1])["event"] == "unlink" and watch.returncode == 0


def test_a_watch_ends_with_its_reader(fs):
    reader, writer = os.pipe()
    watch = subprocess.Popen([BIN, "fs", "--root", str(fs.home), "watch", "", '{"stabilityThreshold": 0}'],
                             stdout=writer, stderr=subprocess.PIPE,
                             restore_signals=False)  # it ignores SIGPIPE, as this program does
    os.close(writer)
    for name in range(2000):  # until it is armed
        (fs.home / str(name)).write_text("")
        if select.select([reader], [], [], 0.05)[0]:
            break
    os.close(reader)
    (fs.home / "more").write_text("")
    assert watch.wait(timeout=30) == 1
    assert watch.stderr.read() == b"cordon: write to 'standard output': broken pipe\n"


def test_the_remedies_of_likely_mistakes(fs):
    assert fs.run("readfile", "a").stderr.endswith(b"did you mean readFile?\n")
    assert b"--root" not in fs.run("readFile", "a").stderr
    fs.home.rmdir()
    done = fs.run("readFile", "a")
    assert done.returncode == 1 and b"the directory that --root names does not exist" in done.stderr
    fs.home.write_text("")
    assert fs.run("readFile", "a").stderr.endswith(b"  what --root names is not a directory\n")
    fs.home.unlink()
    fs.home.symlink_to(fs.home)
    assert fs.run("readFile", "a").stderr.endswith(b"  the directory that --root names cannot be reached\n")
    assert str(fs.top).encode() not in done.stderr


MANY = 10000


def stopped_while_it_works(fs, place, *args):
    """What it writes to a terminal, if it stands still for a second in between; None: it was too quick for that."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(BIN, [BIN, "fs", "--root", str(fs.home), *args])
    count, shown = 0, b""
    while not 0 < count < MANY and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        count = len(os.listdir(place)) if place.is_dir() else 0
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1.1)
    os.kill(pid, signal.SIGCONT)
    with contextlib.suppress(OSError):  # EIO: it has ended
        while chunk := os.read(terminal, 65536):
            shown += chunk
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0, shown
    return shown or None


@pytest.mark.parametrize("method", ["cp", "rm"])
def test_a_line_of_progress_on_a_terminal_only(fs, method):
    def words(attempt):
        for name in range(MANY):
            os.makedirs(fs.home / f"many/{name}", exist_ok=True)
        return ["many", f"copy{attempt}"] if method == "cp" else ["many"]

    shown = None
    for attempt in range(5):
        names = words(attempt)
        shown = stopped_while_it_works(fs, fs.home / names[-1], method, *names, '{"recursive": true}')
        if shown:
            break
    assert re.search(rb"\r\d+ entries, \d+\.\d MiB, \d+ entries/s ", shown) and shown.endswith(b"\r\x1b[K"), shown
    done = fs.run(method, *words("-again"), '{"recursive": true}')
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
