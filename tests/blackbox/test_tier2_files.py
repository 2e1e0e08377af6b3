"""The tier without user namespaces: files and devices, in view and in guard mode; see tests/tier2.py."""
import os
import signal
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, eventually, marker, temp_files
from tier2 import PARTIAL, UID, USER, applied, cordon, inside, mine, missing, outside, own, refusing  # noqa: F401


# --- files ---------------------------------------------------------------------------------------

HIDDEN = """
p = {path!r}
d = os.path.dirname(p)
say([tried(lambda: open(p).read()), tried(os.listdir, d), tried(lambda: open(p, 'a').close()),
     tried(lambda: open(d + '/new', 'w').close()), tried(os.truncate, p, 0), tried(os.link, p, d + '/hard'),
     tried(os.mkdir, d + '/dir'), tried(os.rename, p, p + '2'), tried(os.unlink, p + '2')])
"""


def test_hidden_files(inside, mine):
    code = HIDDEN.format(path=str(own(mine / "f")))
    r = inside(code)
    assert all(x in ("EACCES", "EPERM", "ENOENT") for x in r.answer), r.answer
    assert r.answer[:4] == ["EACCES"] * 4
    assert (mine / "f").read_text() == "secret" and os.listdir(mine) == ["f"]
    assert outside(code) == ["ok"] * 9


def test_names_of_hidden_files_are_visible_and_the_ledger_says_so(inside, mine):
    r = inside(f"say(os.stat({str(own(mine / 'f'))!r}).st_size)")
    assert r.answer == 6
    missing(r, "filesystem")
    entry = r.doc["enforced"]["filesystem"]
    assert "stat()" in entry["details"] and "landlock" in entry["mechanism"]


CHANGES = """
import fcntl
p = {path!r}
fd = os.open(p, os.O_RDONLY)
def setflags():
    b = fcntl.ioctl(fd, 0x80086601, bytes(8)); fcntl.ioctl(fd, 0x40086602, b)
say([tried(lambda: open(p, 'a').close()), tried(lambda: os.close(os.open(p, os.O_RDONLY | os.O_TRUNC))),
     tried(os.truncate, p, 1), tried(os.chmod, p, 0o600), tried(os.fchmod, fd, 0o600),
     tried(os.chown, p, -1, -1), tried(os.fchown, fd, -1, -1), tried(os.utime, p), tried(os.utime, fd),
     tried(os.setxattr, p, 'user.a', b'x'), tried(os.setxattr, fd, 'user.b', b'x'),
     tried(os.removexattr, p, 'user.a'), tried(os.unlink, p) if {unlink} else 'EACCES', tried(setflags)])
"""


def test_read_only_files_do_not_change(inside, mine):
    path = own(mine / "f")
    before = os.stat(path)
    r = inside(CHANGES.format(path=str(path), unlink=True), "--ro", mine)
    assert set(r.answer) <= {"EACCES", "EPERM"}, r.answer
    after = os.stat(path)
    assert (before.st_mode, before.st_mtime_ns, before.st_ctime_ns, path.read_text()) == \
        (after.st_mode, after.st_mtime_ns, after.st_ctime_ns, "secret")
    control = outside(CHANGES.format(path=str(path), unlink=False))
    assert control[:9] == ["ok"] * 9 and set(control[9:12]) <= {"ok", "ENOTSUP"}, control


# The third access mode gives a descriptor for neither, of which Landlock checks nothing; the kernel empties the file on the
# way, and takes requests by it.
NEITHER = """
say([tried(lambda: os.close(os.open(p, 3 | f))) for p, f in (({path!r}, 0), ({path!r}, os.O_TRUNC), ('/dev/ptmx', os.O_NOCTTY))])
"""


@pytest.mark.parametrize("options", [[], ["--profile", "limits"]])
def test_nothing_outside_is_opened_for_neither_reading_nor_writing(inside, place, mine, options):
    path = place / "f"
    os.chmod(place, 0o755)
    own(path)
    r = inside(NEITHER.format(path=str(path)), *options, cwd=mine)
    assert r.answer == ["EPERM"] * 3 and path.read_text() == "secret", r.told()
    applied(r, "devices")
    assert outside(NEITHER.format(path=str(path))) == ["ok"] * 3 and path.read_text() == "", "the control"


# FS_IOC_SETVERSION by its three names, ext4's MIGRATE, btrfs' SUBVOL_CREATE, f2fs' SET_PIN_FILE; then what only reads.
REQUESTS = """
import fcntl
fd = os.open({path!r}, os.O_RDONLY)
say([tried(fcntl.ioctl, fd, n, bytes(64)) for n in (0x40087602, 0x40086604, 0x40047602, 0x6609, 0x5000940e, 0x4004f50d)] +
    [tried(fcntl.ioctl, fd, n, bytes(64)) for n in (0x80086601, 0x80087601, 2)])
"""


def test_requests_of_file_systems(inside, mine):
    """Each kind has some that change a file which is open for reading only; ext4's generation number is one."""
    code = REQUESTS.format(path=str(own(mine / "f")))
    control = outside(code)
    assert "EPERM" not in control[:6] and control[1] in ("ok", "ENOTTY"), control
    r = inside(code, "--ro", mine)
    assert r.answer[:6] == ["EPERM"] * 6 and r.answer[6:] == control[6:], (r.answer, control)


def test_writable_files(inside, mine):
    r = inside(f"os.chdir({str(mine)!r}); open('a', 'w').write('x'); os.mkdir('d'); os.rename('a', 'd/b')\n"
               "os.symlink('b', 'd/l'); say(sorted(os.listdir('d')))", "--rw", mine)
    assert r.answer == ["b", "l"] and (mine / "d/b").read_text() == "x"


def test_read_only_inside_writable_cannot_be_kept(refusing, mine):
    (mine / "keep").mkdir()
    options = ["--rw", mine, "--ro", mine / "keep"]
    r = refusing(*options, "--", "echo", "ran")
    assert r.rc == 125 and r.doc["stdout"] == "", r.told()
    r = refusing(*PARTIAL, *options, "--", "echo", "ran")
    missing(r, "filesystem")
    assert "read-only inside something writable" in r.doc["enforced"]["filesystem"]["details"]


def test_protected_names_cannot_be_kept(refusing, mine):
    r = refusing("--profile", "agent", *PARTIAL, "--", "pwd", cwd=mine)
    assert r.doc["stdout"].strip() == str(mine), r.told()
    missing(r, "filesystem")
    assert ".git/hooks" in r.doc["enforced"]["filesystem"]["details"]


@pytest.mark.alone
def test_the_work_directory(inside):
    before = temp_files()
    r = inside("w = os.environ['HOME']; open('f', 'w').write('x')\n"
               "say([w, os.environ['TMPDIR'], os.getcwd(), oct(os.stat(w).st_mode), os.listdir(w)])")
    home, tmp, cwd, mode, entries = r.answer
    assert home == tmp == cwd and mode == "0o40700" and entries == ["f"]
    assert "/cordon-" in home and not os.path.exists(home)
    assert eventually(lambda: not {p for p in temp_files() - before if os.path.basename(p).startswith("cordon-")})


def test_the_work_directory_is_removed_whatever_is_in_it(inside, mine):
    own(mine / "f")
    r = inside(f"os.symlink({str(mine)!r}, 'link'); os.mkdir('closed'); open('closed/f', 'w').close()\n"
               "os.mkdir('none', 0); w = os.getcwd()\n"
               "for i in range(200): os.mkdir('d'); os.chdir('d')\n"
               "say(w)", "--ro", mine)
    assert not os.path.lexists(r.answer) and (mine / "f").read_text() == "secret"


def test_a_killed_supervisor_leaves_a_directory_that_the_next_run_sweeps(refuse):
    argv = [*USER, refuse, "newuser=EPERM", "--", BIN, "run", "--backend", "native", *PARTIAL, "--", "sh", "-c", "pwd; exec sleep 50"]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        left = p.stdout.readline().decode().strip()
        assert os.path.isdir(left)
        cordon([refuse, "newuser=EPERM", "--"], *PARTIAL, "--", "true")
        assert os.path.isdir(left), "swept while in use"
        os.kill(p.pid, signal.SIGKILL)
    cordon([refuse, "newuser=EPERM", "--"], *PARTIAL, "--", "true")
    assert not os.path.exists(left)


# --- guard mode ----------------------------------------------------------------------------------

def test_guard_mode_needs_no_allowance(refusing, mine):
    there = f"/tmp/{marker()}"
    r = refusing("--profile", "limits", "--", PYTHON, "-c", PRELUDE +
                 "open('here', 'w').close()\n"
                 f"say([tried(lambda: open('/etc/hostname').read()), tried(lambda: open('{there}', 'w')), "
                 "tried(os.listdir, '/'), tried(lambda: open(os.environ['TMPDIR'] + '/t', 'w').close()), "
                 "tried(os.open, os.environ['TMPDIR'], os.O_TMPFILE | os.O_RDWR | os.O_NOFOLLOW), "
                 "tried(os.chmod, '/etc/hostname', 0o644)])", cwd=mine)
    assert r.doc["status"] == "POLICY_VIOLATION" and r.rc == 1, r.told()
    assert [(v["op"], v["path"]) for v in r.doc["violations"]] == [("open for writing", there)]
    assert r.answer == ["ok", "EACCES", "ok", "ok", "ok", "EPERM"]
    assert (mine / "here").exists()
    for name, entry in r.doc["enforced"].items():
        assert entry["applied"] or entry["requested"] is None, (name, entry)


def test_guard_mode_changes_nothing_outside(refusing, mine):
    path = own(mine / "f")
    (mine / "cwd").mkdir()
    if ROOT:
        os.chown(mine / "cwd", UID, UID)
    r = refusing("--profile", "limits", "--", PYTHON, "-c", PRELUDE +
                 CHANGES.format(path=str(path), unlink=True), cwd=mine / "cwd")
    assert set(r.answer) <= {"EACCES", "EPERM"}, r.answer
    applied(r, "filesystem")


def test_guard_mode_names_what_proc_leads_to(refusing, mine):
    """The listener sees the same /proc, in which it is another process."""
    path = own(mine / "f")
    (mine / "cwd").mkdir()
    if ROOT:
        os.chown(mine / "cwd", UID, UID)
    code = f"""
fd, high = os.open({str(path)!r}, os.O_RDONLY), 700
os.dup2(fd, high)
for name in [f'/dev/fd/{{fd}}', f'/dev/fd/{{high}}', f'/proc/self/fd/{{high}}', f'/proc/{{os.getpid()}}/fd/{{high}}',
             '/proc/self/cwd/../f', '/proc/thread-self/cwd/../f']:
    try: open(name, 'w')
    except PermissionError: pass
"""
    r = refusing("--profile", "limits", "--nofile", "1024", "--", PYTHON, "-c", PRELUDE + code, cwd=mine / "cwd")
    assert r.doc["violations_total"] == 6 and {v["path"] for v in r.doc["violations"]} == {str(path)}, r.told()
    assert path.read_text() == "secret"
