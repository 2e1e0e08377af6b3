"""Guard mode: nothing outside of the writable places changes, and each attempt is named.

Each way is first shown to work without cordon, on a copy; then the file's bytes, mode and times are as
they were, the result names the path, and the exit status is not 0 although the program hid the error.
"""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import stat
import subprocess
import time

import pytest

from support import (BIN, ENV, HERE, PRELUDE, PYTHON, ROOT, TEST_BIN, Run, check_document, compiled, eventually,
                     listener_of, outside)

GUARD = ["--profile", "test", "--allow-partial", "--quiet", "--rw", "tests"]
NODE = shutil.which("node") or shutil.which("nodejs")


@pytest.fixture
def project(tmp_path_factory):
    """A project of the caller's, not in /tmp, with a config that must stay as it is."""
    path = pathlib.Path("/var/tmp") / f"place-guard-{os.getpid()}-{time.monotonic_ns()}"
    make_project(path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def make_project(path):
    (path / "tests").mkdir(parents=True)
    (path / "data/deep").mkdir(parents=True)
    (path / "empty").mkdir()
    (path / "config.toml").write_text("keep")
    (path / "config.toml").chmod(0o640)
    (path / "data/deep/x").write_text("keep")
    os.utime(path / "config.toml", (1000, 1000))


def snapshot(path):
    """Everything but tests/: names, bytes, modes, owners and times, also those that no call can set."""
    seen = {}
    for top, dirs, files in os.walk(path):
        if top == str(path):
            dirs.remove("tests")
        for name in [".", *dirs, *files]:
            full = os.path.join(top, name)
            st = os.lstat(full)
            data = pathlib.Path(full).read_bytes() if stat.S_ISREG(st.st_mode) else None
            seen[full] = (st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns, st.st_ctime_ns, st.st_nlink, data)
    return seen


def guard(project, *args, options=(), timeout=60, env=None, binary=BIN, **kw):
    argv = [binary, "run", "--json", *GUARD, *options, "--", *map(str, args)]
    p = subprocess.run(argv, cwd=project, env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, check=False, **kw)
    r = Run(argv, p.returncode, p.stdout, p.stderr, None, 0.0)
    r.doc = json.loads(p.stdout)
    check_document(r.doc)
    return r


def named(r):
    return {(v["op"], v["path"]) for v in r.doc["violations"]}


# Each does its harm and hides the error. {p} is the project.
WAYS = {
    "open": ("os.write(os.open('{p}/config.toml', os.O_WRONLY), b'x')", "open for writing", "config.toml"),
    "mode w": ("open('{p}/config.toml', 'w')", "open for writing", "config.toml"),
    "mode a": ("open('{p}/config.toml', 'a').write('x')", "open for writing", "config.toml"),
    "mode r+": ("open('{p}/config.toml', 'r+').write('x')", "open for writing", "config.toml"),
    "mode x": ("open('{p}/new.ini', 'x')", "open for writing", "new.ini"),
    "relative": ("os.chdir('{p}/data'); open('../config.toml', 'w')", "open for writing", "config.toml"),
    "dir_fd": ("os.open('config.toml', os.O_WRONLY | os.O_TRUNC, dir_fd=os.open('{p}', os.O_RDONLY))",
               "open for writing", "config.toml"),
    "rename away": ("os.rename('{p}/config.toml', '{p}/tests/c')", "rename", "config.toml"),
    "rename onto": ("open('{p}/tests/c', 'w').close(); os.rename('{p}/tests/c', '{p}/config.toml')", "rename",
                    "config.toml"),
    "unlink": ("os.unlink('{p}/config.toml')", "remove", "config.toml"),
    "truncate": ("os.truncate('{p}/config.toml', 0)", "truncate", "config.toml"),
    "mkdir": ("os.mkdir('{p}/made')", "make directory", "made"),
    "rmtree": ("import shutil; shutil.rmtree('{p}/data')", "remove", "data/deep/x"),
    "rmdir": ("os.rmdir('{p}/empty')", "remove directory", "empty"),
    "sqlite3": ("import sqlite3; sqlite3.connect('{p}/new.db').execute('create table a(b)')", "open for writing",
                "new.db"),
    "subprocess": ("import subprocess; subprocess.run(['sh', '-c', 'echo x > {p}/config.toml'], check=True)",
                   "open for writing", "config.toml"),
    "dev prefix": ("open('/dev/../{p}/config.toml', 'w')", "open for writing", "config.toml"),
    "proc prefix": ("os.chdir('{p}'); open('/proc/self/cwd/config.toml', 'w')", "open for writing", "config.toml"),
    "tests/..": ("open('{p}/tests/../config.toml', 'w')", "open for writing", "config.toml"),
    "link in tests": ("os.symlink('{p}/config.toml', '{p}/tests/l'); open('{p}/tests/l', 'w')", "open for writing",
                      "config.toml"),
    "dangling link": ("os.symlink('../fresh', '{p}/tests/l'); open('{p}/tests/l', 'w')", "open for writing", "fresh"),
    "link": ("os.link('{p}/config.toml', '{p}/again')", "link", "again"),
    "symlink": ("os.symlink('x', '{p}/sym')", "make symbolic link", "sym"),
    "mkfifo": ("os.mkfifo('{p}/fifo')", "make node", "fifo"),
    "socket": ("socket.socket(socket.AF_UNIX).bind('{p}/sock')", "bind socket", "sock"),
    "chmod": ("os.chmod('{p}/config.toml', 0o777)", "change mode", "config.toml"),
    "fchmod": ("os.fchmod(os.open('{p}/config.toml', os.O_RDONLY), 0o777)", "change mode", "config.toml"),
    "chown": ("os.chown('{p}/config.toml', os.getuid(), os.getgid())", "change owner", "config.toml"),
    "utime": ("os.utime('{p}/config.toml', (5, 5))", "change times", "config.toml"),
    "chown of an empty path": ("os.chdir('{p}/data'); "
                               "assert sc('fchownat', -100, b'', os.getuid(), os.getgid(), 0x1000) == 0",
                               "change owner", "data"),
    "utime of an empty path": ("os.chdir('{p}/data'); assert sc('utimensat', -100, b'', 0, 0x1000) == 0",
                               "change times", "data"),
    "futimens": ("os.utime(os.open('{p}/config.toml', os.O_RDONLY), (5, 5))", "change times", "config.toml"),
    "setxattr": ("os.setxattr('{p}/config.toml', 'user.x', b'1')", "change attributes", "config.toml"),
    # Names that mean the file only to the process itself, or only step by step.
    "proc by number": ("os.chdir('{p}'); open('/proc/%d/cwd/config.toml' % os.getpid(), 'w')", "open for writing",
                       "config.toml"),
    "proc of a thread": ("os.chdir('{p}/data'); os.unlink('/proc/self/task/%d/cwd/../config.toml' % os.getpid())",
                         "remove", "config.toml"),
    "proc thread-self": ("os.chdir('{p}'); open('/proc/thread-self/cwd/config.toml', 'w')", "open for writing",
                         "config.toml"),
    "proc from within": ("os.chdir('/proc'); open('self/root{p}/config.toml', 'w')", "open for writing", "config.toml"),
    "proc and back": ("open('/proc/self/../../{p}/config.toml', 'w')", "open for writing", "config.toml"),
    "dev fd": ("open('/dev/fd/%d' % os.open('{p}/config.toml', os.O_RDONLY), 'w')", "open for writing", "config.toml"),
    "dev fd of a directory": ("os.mkdir('/dev/fd/%d/made' % os.open('{p}', os.O_RDONLY))", "make directory", "made"),
    "link to proc": ("os.chdir('{p}'); os.symlink('/proc/self/cwd/config.toml', 'tests/l'); open('tests/l', 'w')",
                     "open for writing", "config.toml"),
    "dangling links": ("[os.symlink('l%d' % (i + 1), '{p}/tests/l%d' % i) for i in range(30)]; "
                       "os.symlink('../fresh', '{p}/tests/l30'); open('{p}/tests/l0', 'w')", "open for writing", "fresh"),
    "from a directory that is gone": ("os.mkdir('{p}/tests/d'); os.chdir('{p}/tests/d'); os.rmdir('{p}/tests/d'); "
                                      "open('../../config.toml', 'w')", "open for writing", "config.toml"),
    "from one that is named so": ("os.makedirs('{p}/tests/a/b'); os.symlink('a/b', '{p}/tests/d (deleted)'); "
                                  "os.mkdir('{p}/tests/d'); os.chdir('{p}/tests/d'); os.rmdir('{p}/tests/d'); "
                                  "open('../../config.toml', 'w')", "open for writing", "config.toml"),
    "from far below": ("os.chdir('{p}/tests'); [(os.mkdir('x' * 250), os.chdir('x' * 250)) for i in range(20)]; "
                       "open('../' * 21 + 'config.toml', 'w')", "open for writing", "config.toml"),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_of_python(project, way):
    code, op, path = WAYS[way]
    hidden = "try:\n    pass\n    %s\nexcept Exception as e:\n    print(repr(e))\nelse:\n    print('done')\n"
    with contextlib.ExitStack() as stack:
        copy = pathlib.Path(str(project) + "-copy")
        stack.callback(shutil.rmtree, copy, True)
        make_project(copy)
        before = snapshot(copy)
        assert outside(hidden % code.format(p=copy)).text.endswith("done\n")
        assert snapshot(copy) != before
    before = snapshot(project)
    r = guard(project, PYTHON, "-c", PRELUDE + hidden % code.format(p=project))
    assert snapshot(project) == before, r.told()
    assert (op, f"{project}/{path}") in named(r), r.told()
    assert r.doc["exit"] == {"code": 0} and r.doc["status"] == "POLICY_VIOLATION" and r.rc == 1, r.told()
    assert "done" not in r.text


# The ways that go past a hook in Python, from other languages: what is done, and what must be named.
FOREIGN = {
    "open": ("open for writing", "config.toml"),
    "rename": ("rename", "config.toml"),
    "unlink": ("remove", "config.toml"),
    "truncate": ("truncate", "config.toml"),
    "mkdir": ("make directory", "made"),
    "rmtree": ("remove", "data/deep/x"),
    "sqlite3": ("open for writing", "new.db"),
    "child": ("open for writing", "config.toml"),
    "dev prefix": ("open for writing", "config.toml"),
    "swapped link": ("open for writing", "config.toml"),
    "chmod": ("change mode", "config.toml"),
    "utimes": ("change times", "config.toml"),
}

NODE_SOURCE = r"""
const fs = require('fs');
const {Worker} = require('worker_threads');
const swap = `const fs = require('fs');
for (let i = 0; i < 3000; i++) {
    fs.symlinkSync(i % 2 ? 'safe' : '../config.toml', 'tests/new');
    fs.renameSync('tests/new', 'tests/link');
}`;
const swapped = () => new Promise((resolve, reject) => {
    let done = false, over = false;
    fs.writeFileSync('tests/safe', '');
    const worker = new Worker(swap, {eval: true});
    worker.on('error', reject);
    worker.on('exit', () => { over = true; });
    const again = () => {
        for (let i = 0; i < 20; i++)
            try { fs.closeSync(fs.openSync('tests/link', 'r+')); fs.truncateSync('tests/link'); done = true; } catch {}
        if (over) done ? resolve() : reject(new Error('never')); else setImmediate(again);
    };
    again();
});
const ways = {
    'open': () => fs.promises.writeFile('config.toml', 'x'),
    'rename': () => fs.renameSync('config.toml', 'gone'),
    'unlink': () => fs.unlinkSync('config.toml'),
    'truncate': () => fs.truncateSync('config.toml'),
    'mkdir': () => fs.mkdirSync('made'),
    'rmtree': () => fs.rmSync('data', {recursive: true}),
    'child': () => require('child_process').execSync('echo x > config.toml', {stdio: 'ignore'}),
    'dev prefix': () => fs.writeFileSync('/dev/..' + process.cwd() + '/config.toml', 'x'),
    'swapped link': swapped,
    'chmod': () => fs.chmodSync('config.toml', 0o777),
    'utimes': () => fs.utimesSync('config.toml', 5, 5),
};
(async () => {
    try { await ways[process.argv[process.argv.length - 1]](); console.log('done'); } catch (e) { console.log('refused', e.code); }
})();
"""
# truncateSync() opens the file first; node has no database of its own.
NODE_WAYS = {**FOREIGN, "truncate": ("open for writing", "config.toml")}
del NODE_WAYS["sqlite3"]


@pytest.fixture(scope="module")
def harm():
    path = pathlib.Path("/var/tmp") / f"place-harm-{os.getpid()}"
    compiled(path, HERE / "blackbox/harm.c")
    path.chmod(0o755)
    yield path
    path.unlink()


def check_foreign(project, argv, way, expected):
    """It does its harm to a copy, without cordon; with it nothing changes, and it is named."""
    copy = pathlib.Path(str(project) + "-copy")
    make_project(copy)
    try:
        before = snapshot(copy)
        p = subprocess.run([*argv, way], cwd=copy, check=True, stdout=subprocess.PIPE)
        assert p.stdout == b"done\n" and snapshot(copy) != before
    finally:
        shutil.rmtree(copy)
    before = snapshot(project)
    r = guard(project, *argv, way, options=["--mem", "none"])
    assert snapshot(project) == before, r.told()
    op, path = expected
    assert (op, f"{project}/{path}") in named(r), r.told()
    assert r.doc["exit"] == {"code": 0} and r.doc["status"] == "POLICY_VIOLATION" and r.rc == 1, r.told()
    assert "done" not in r.text or way == "swapped link"  # which it did, to the other file
    return r


@pytest.mark.parametrize("way", FOREIGN)
def test_ways_of_c(project, harm, way):
    r = check_foreign(project, [harm], way, FOREIGN[way])
    assert {v["comm"] for v in r.doc["violations"]} == {"sh" if way == "child" else harm.name[:15]}


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("way", NODE_WAYS)
def test_ways_of_node(project, way):
    (project / "tests/harm.js").write_text(NODE_SOURCE)
    script = project / "tests/harm.js"
    check_foreign(project, [NODE, script], way, NODE_WAYS[way])


def test_a_link_that_changes_all_the_time(project):
    """Whatever the listener thought that the name meant, the kernel decides by what it means."""
    code = """
import threading
open('tests/safe', 'w').close()
def swap():
    for i in range(4000):
        os.symlink('safe' if i % 2 else '../config.toml', 'tests/new')
        os.replace('tests/new', 'tests/link')
t = threading.Thread(target=swap)
t.start()
done = 0
while t.is_alive():
    try:
        os.close(os.open('tests/link', os.O_WRONLY | os.O_TRUNC)); done += 1
    except OSError:
        pass
print(done)
"""
    before = snapshot(project)
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert snapshot(project) == before, r.told()
    assert int(r.text) > 0 and r.doc["violations_total"] > 0, r.told()
    assert {v["path"] for v in r.doc["violations"]} == {f"{project}/config.toml"}


def test_errors_that_programs_ask_for_stay(project):
    (project / "locked").mkdir()
    (project / "locked/x").write_text("x")
    (project / "locked/x").chmod(0o444 if not ROOT else 0o644)
    code = """
say([tried(lambda: open('missing/x', 'w')), tried(lambda: open('missing')), tried(os.unlink, 'missing'),
     tried(os.rmdir, 'missing'), tried(os.rmdir, 'data'), tried(os.rename, 'missing', 'y'), tried(os.mkdir, 'data'), tried(os.mkdir, 'tests'),
     tried(lambda: os.makedirs('data/deep', exist_ok=True)), tried(lambda: open('config.toml', 'x')),
     tried(lambda: open('data', 'w')), tried(os.unlink, 'data'), tried(os.rmdir, 'config.toml'),
     tried(os.truncate, 'missing', 0), tried(os.chmod, 'missing', 0), tried(os.utime, 'missing'),
     tried(os.symlink, 'a', 'config.toml'), tried(os.link, 'missing', 'n'), tried(lambda: open('config.toml/x', 'w')),
     tried(os.rename, 'data', 'config.toml')])
"""
    want = outside(code, cwd=project).answer
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.answer == want
    assert r.doc["status"] == "OK" and r.doc["violations"] == [] and r.rc == 0, r.told()


@pytest.mark.skipif(ROOT, reason="root may do all of this outside")
def test_rights_that_the_caller_lacks_are_no_violation(project):
    code = """
say([tried(lambda: open('/etc/passwd', 'w')), tried(lambda: open('/etc/new', 'w')), tried(os.unlink, '/etc/passwd'),
     tried(os.mkdir, '/usr/new'), tried(os.chmod, '/etc/passwd', 0), tried(os.rename, '/etc/passwd', '/etc/x'),
     tried(os.utime, '/etc/passwd', (1, 1)), tried(os.chown, 'config.toml', 0, 0), tried(os.mkdir, '/run/new')])
"""
    want = outside(code, cwd=project).answer
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.answer == want
    assert r.doc["violations"] == [] and r.doc["status"] == "OK", r.told()


def test_what_is_no_file_is_no_violation(project):
    code = """
a, b = os.pipe(); os.fchmod(b, 0o600)
m = os.memfd_create('m'); os.fchmod(m, 0o600); os.ftruncate(m, 10)
say([tried(lambda: open('/dev/null', 'w').write('x')), tried(lambda: open('/dev/stdout', 'w').close()),
     tried(lambda: open('/proc/self/comm', 'w').write('me')), tried(lambda: open('/dev/shm/x', 'w').close()),
     tried(lambda: socket.socket(socket.AF_UNIX).bind('\\0name')), tried(lambda: socket.socket().bind(('127.0.0.1', 0))),
     tried(lambda: open('tests/x', 'w').write('x')), tried(os.rename, 'tests/x', 'tests/y'),
     tried(os.chmod, 'tests/y', 0o600), tried(os.utime, 'tests/y'), tried(os.unlink, 'tests/y')])
"""
    r = guard(project, PYTHON, "-c", PRELUDE + code, options=["--mem", "none"])
    assert set(r.answer) <= {"ok", "ENXIO", "EACCES"} and r.answer[0] == "ok" and r.answer[-5:] == ["ok"] * 5, r.told()
    assert r.doc["violations"] == [] and r.doc["status"] == "OK", r.told()


def test_a_call_without_a_path_is_no_violation(project):
    code = """
f, d = os.open('config.toml', os.O_RDONLY), os.open('data', os.O_RDONLY)
say([sc('openat', f, 0, os.O_WRONLY | os.O_TRUNC), sc('openat', -100, 0, os.O_WRONLY), sc('unlinkat', f, 0, 0),
     sc('mkdirat', d, 0, 0o755), sc('fchmodat', f, 0, 0o600), sc('fchownat', f, 0, os.getuid(), -1, 0),
     sc('fchownat', f, 0, os.getuid(), -1, 0x1000), sc('renameat2', d, b'deep', d, 0, 0),
     sc('linkat', f, 0, d, b'new', 0x1000), sc('symlinkat', 0, d, b'new'), sc('utimensat', -100, 0, 0, 0),
     sc('utimensat', f, 0, 0, 0x100)])
"""
    want = outside(code, cwd=project).answer
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.answer == want == ["EFAULT"] * 11 + ["EINVAL"], r.told()
    assert r.doc["violations"] == [] and r.doc["status"] == "OK", r.told()


def test_many_violations_have_a_bound(project):
    code = """
for i in range(10000):
    try: os.mkdir('d%05d' % i)
    except OSError: pass
"""
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.doc["violations_total"] == 10000 and len(r.doc["violations"]) == 1000, r.told()
    paths = [v["path"] for v in r.doc["violations"]]
    assert paths == sorted(paths) and r.rc == 1
    assert any("1000" in w for w in r.doc["warnings"])


def test_many_processes_at_once(project):
    code = """
import threading
def harm(n):
    for i in range(50):
        try: open('shared-%d' % n, 'w')
        except OSError: pass
pids = []
for n in range(20):
    pid = os.fork()
    if pid == 0:
        ts = [threading.Thread(target=harm, args=(n,)) for _ in range(3)]
        [t.start() for t in ts]; [t.join() for t in ts]
        os._exit(0)
    pids.append(pid)
for pid in pids: os.waitpid(pid, 0)
"""
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.doc["violations_total"] == 20 * 3 * 50, r.told()
    assert {v["path"]: v["count"] for v in r.doc["violations"]} == {f"{project}/shared-{n}": 150 for n in range(20)}
    assert len({v["pid"] for v in r.doc["violations"]}) == 20


def test_a_word_on_stderr_for_each_path(project):
    argv = [BIN, "run", "--profile", "test", "--allow-partial", "--rw", "tests", "--", "sh", "-c",
            "rm config.toml; chmod 1 config.toml; mkdir 'a\x1bb'; exit 7"]
    p = subprocess.run(argv, cwd=project, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    said = [line for line in p.stderr.decode().splitlines() if line.startswith("TEST_SANDBOX_VIOLATION")]
    assert p.returncode == 7
    assert len(said) == 2, p.stderr
    assert f"attempted to write to {project}/config.toml (remove, pid " in said[0] and said[0].endswith(" rm)")
    assert b"a\\x1bb" in p.stderr and b"\n  fix: " in p.stderr


@contextlib.contextmanager
def running(project, code):
    argv = [BIN, "run", "--json", *GUARD, "--", PYTHON, "-c", PRELUDE + code]
    p = subprocess.Popen(argv, cwd=project, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    try:
        assert eventually(lambda: (project / "tests/ready").exists())
        yield p
    finally:
        p.kill()
        p.communicate()


BUSY = """
open('tests/ready', 'w').close()
while True:
    try: os.mkdir('tests/d'); os.rmdir('tests/d'); os.mkdir('nope')
    except OSError: pass
"""


def test_without_the_listener_the_kernel_refuses_and_nobody_names(project):
    before = snapshot(project)
    r = guard(project, "sh", "-c", "rm config.toml; true", binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "listener"})
    assert snapshot(project) == before and "Read-only" in r.doc["stderr"]
    assert r.doc["violations"] == [] and r.doc["status"] == "OK", r.told()
    assert any("not named" in w and "no listener" in w for w in r.doc["warnings"]), r.told()


def test_beneath_bwrap_it_is_said_that_nobody_names(project):
    before = snapshot(project)
    r = guard(project, "sh", "-c", "rm config.toml; true", options=["--backend", "bwrap"])
    assert snapshot(project) == before and r.doc["backend"]["kind"] == "bwrap" and r.doc["violations"] == []
    assert any("not named" in w and "no listener beneath bwrap" in w for w in r.doc["warnings"]), r.told()


def test_without_the_mounts_and_landlock_it_happens(project):
    project.chmod(0o777) # root has become somebody else, and nothing maps it back
    r = guard(project, "sh", "-c", "rm -f config.toml", binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "mounts,landlock"})
    assert not (project / "config.toml").exists(), r.told()
    assert r.doc["violations"] == [] and not r.doc["enforced"]["filesystem"]["applied"]


def test_a_dead_listener_ends_the_run(project):
    with running(project, BUSY) as p:
        os.kill(listener_of(p.pid), signal.SIGKILL)
        out, _ = p.communicate(timeout=20)
    doc = json.loads(out)
    assert doc["status"] == "INTERNAL_ERROR" and p.returncode == 125, doc
    assert "listener" in doc["reason"]


def test_a_file_without_a_name_is_written_by_its_descriptor(project):
    act = ("import os\nfor fd in (os.memfd_create('x'), os.open('tests', os.O_TMPFILE | os.O_RDWR), *os.pipe()[1:]):\n"
           "    with open(f'/proc/self/fd/{fd}', 'w') as f:\n        f.write('x')")
    r = guard(project, PYTHON, "-c", act)
    assert r.doc["status"] == "OK" and r.doc["violations"] == [], r.told()


def test_a_writable_place_is_not_judged_by_the_directory_above_it(project):
    """As TemporaryFile() opens it: by its own name, and through no link."""
    acts = ["os.open('tests', os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_NOFOLLOW)",
            "os.utime('tests', follow_symlinks=False)",
            "os.chown('tests', -1, os.getgid(), follow_symlinks=False)",
            "os.setxattr('tests', 'user.a', b'1', follow_symlinks=False)",
            "os.open('data/deep/x', os.O_WRONLY | os.O_NOFOLLOW)"]
    code = f"answers = [tried(eval, a) for a in {acts!r}]\nsay(answers)"
    r = guard(project, PYTHON, "-c", PRELUDE + code, options=["--rw", "data/deep/x"])
    assert r.answer == ["ok"] * len(acts) and r.doc["status"] == "OK" and r.doc["violations"] == [], r.told()
    r = guard(project, PYTHON, "-c", PRELUDE + code.replace("'tests'", "'empty'"))
    assert "ok" not in r.answer
    assert {v["path"] for v in r.doc["violations"]} == {f"{project}/empty", f"{project}/data/deep/x"}, r.told()


def test_a_stopped_listener_goes_on(project):
    code = """
open('tests/ready', 'w').close()
end = time.monotonic() + 4
while time.monotonic() < end:
    os.mkdir('tests/d'); os.rmdir('tests/d')
try: os.mkdir('nope')
except OSError: pass
"""
    with running(project, code) as p:
        for _ in range(2):
            os.kill(listener_of(p.pid), signal.SIGSTOP)
            time.sleep(0.3)
        out, _ = p.communicate(timeout=30)
    doc = json.loads(out)
    assert doc["status"] == "POLICY_VIOLATION", doc


def test_the_listener_ends_with_the_supervisor(project):
    with running(project, BUSY) as p:
        listener = listener_of(p.pid)
        p.kill()
        assert eventually(lambda: not os.path.exists(f"/proc/{listener}")
                          or "Z" in pathlib.Path(f"/proc/{listener}/stat").read_text().split(")")[1][:3])


def test_a_process_that_cannot_be_looked_into(project):
    code = """
libc.prctl(4, 0, 0, 0, 0)
say([tried(lambda: open('config.toml', 'w')), tried(lambda: open('tests/x', 'w').close())])
"""
    before = snapshot(project)
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.answer == ["EROFS", "ok"] and snapshot(project) == before, r.told()
    assert r.doc["violations"] != [] or any("not named" in w for w in r.doc["warnings"]), r.told()


def test_a_name_in_memory_that_cannot_be_looked_into(project):
    """The kernel reads it for the process; nobody else may."""
    code = """
import mmap
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, 4096, mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
ctypes.memmove(at, b'config.toml\\0', 12)
say([tried(lambda: check(libc.open(ctypes.c_void_p(at), os.O_WRONLY)))])
"""
    code = "def check(r):\n    if r < 0: raise OSError(ctypes.get_errno(), '')\n" + code
    assert outside(code, cwd=project).answer == ["ok"]
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.answer == ["EROFS"], r.told()
    assert r.doc["violations"] != [] or any("not named" in w for w in r.doc["warnings"]), r.told()


@pytest.mark.skipif(ROOT, reason="root's listener is another user, whose limits only CAP_SYS_RESOURCE lowers")
def test_a_listener_that_cannot_look_says_so(project):
    """As where the machine has no descriptor left."""
    code = """
open('tests/ready', 'w').close()
while not os.path.exists('tests/go'):
    time.sleep(0.01)
try: open('config.toml', 'w')
except OSError: pass
"""
    with running(project, code) as p:
        resource.prlimit(listener_of(p.pid), resource.RLIMIT_NOFILE, (0, 0))
        (project / "tests/go").touch()
        out, _ = p.communicate(timeout=30)
    doc = json.loads(out)
    assert doc["status"] == "OK" and any("not named" in w for w in doc["warnings"]), doc


def test_a_place_whose_name_is_too_long_to_be_told(project):
    code = """
os.chdir('data')
while os.path.exists('x' * 250):
    os.chdir('x' * 250)
say([tried(lambda: open('here', 'w')), tried(os.mkdir, 'made')])
"""
    at = os.open(project / "data", os.O_RDONLY)
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=at)
        below = os.open("x" * 250, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    r = guard(project, PYTHON, "-c", PRELUDE + code)
    assert r.answer == ["EROFS", "EROFS"] and r.rc == 1, r.told()
    assert {(v["op"], v["path"]) for v in r.doc["violations"]} == {
        ("open for writing", "/.../here"), ("make directory", "/.../made")}, r.told()


def test_daemons_are_out_of_reach(project):
    """Sockets of the host's work through a read-only mount: where they are, there is nothing."""
    runtime = project / "data"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(runtime / "s"))
        daemon.listen()
        (runtime / "s").chmod(0o777)
        code = f"say([os.listdir('/run'), tried(lambda: socket.socket(socket.AF_UNIX).connect({str(runtime / 's')!r}))])"
        assert outside(code).answer[1] == "ok", "the control"
        names, connected = guard(project, PYTHON, "-c", PRELUDE + code, env={"XDG_RUNTIME_DIR": str(runtime)}).answer
    assert set(names) <= {"current-system", "booted-system", "systemd"} and connected == "ENOENT"


def test_owners_that_cannot_be_mapped_make_it_partial(project, own_mounts):
    subprocess.run(["mount", "-t", "ramfs", "none", str(project / "tests")], check=True)
    argv = [BIN, "run", "--profile", "test", "--rw", "tests", "--json", "--", "true"]
    p = subprocess.run(argv, cwd=project, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert p.returncode == 125 and b"owners" in p.stderr, p.stderr
    assert not json.loads(p.stdout)["enforced"]["privileges"]["applied"]
    r = guard(project, "true")
    entry = r.doc["enforced"]["privileges"]
    assert r.doc["reason"] == "PARTIAL_ENFORCEMENT" and r.rc == 0, r.told()
    assert not entry["applied"] and "cannot be id-mapped" in entry["details"]
