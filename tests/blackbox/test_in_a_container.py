"""docs/in-a-container.md: hosts like those that containers make, and what its table says of them."""
import os
import re
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, page
from tier2 import UID

PAGE = "docs/in-a-container.md"
COVERED = "mount -t tmpfs none /proc/fs 2>/dev/null || mount -t tmpfs none /proc/irq"
# What docker leaves to root.
CAPABILITIES = ("chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,"
                "mknod,audit_write,setfcap")
LEFT = "-all,+" + CAPABILITIES.replace(",", ",+")
KINDS = ["nothing given", "user namespaces", "and a new `/proc`"]


def rows():
    head, _, *body = re.search(r"^(\| command .*?)\n\n", page(PAGE), re.S | re.M).group(1).split("\n")
    assert [c.strip() for c in head.strip("|").split("|")] == ["command", *KINDS]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in body]
    return [(command.strip("`"), *map(int, codes)) for command, *codes in cells]


def container(kind, refuse, as_root):
    """Words before a command, which then runs in such a container."""
    if as_root:
        words = ["setpriv", f"--bounding-set={LEFT}", "--inh-caps=-all"]
    else:
        words = ["setpriv", "--ambient-caps=-all", "--inh-caps=-all"]
    cover = f"{COVERED}; " if kind < 2 else ""
    enter = ["unshare", "-m"] if as_root else [
        "unshare", "-U", "-m", f"--map-user={UID if ROOT else os.getuid()}",
        f"--map-group={UID if ROOT else os.getgid()}", "--keep-caps"]
    become = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups"] if ROOT and not as_root else []
    filtered = [refuse, "newuser=EPERM", "--"] if kind == 0 else []
    return [*become, *enter, "sh", "-c", f'{cover}exec "$@"', "sh", *words, *filtered]


@pytest.fixture
def project(place):
    (place / "tests").mkdir()
    for path in (place, place / "tests"):
        path.chmod(0o777)
        if ROOT:
            os.chown(path, UID, UID)
    (place / "bin").mkdir()
    (place / "bin/cordon").symlink_to(BIN)
    return place


def said(words, command, project, **kw):
    env = {**ENV, "PATH": f"{project}/bin:{ENV['PATH']}"}
    return subprocess.run([*words, *command], cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, check=False, **kw)


@pytest.mark.parametrize("as_root", [False, pytest.param(True, marks=pytest.mark.skipif(not ROOT, reason="not root"))],
                         ids=["user", "root"])
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=["nothing", "namespaces", "proc"])
def test_the_table(refuse, project, kind, as_root):
    words = container(kind, refuse, as_root)
    for command, *codes in rows():
        p = said(words, command.split(), project)
        assert p.returncode == codes[kind], (command, p)
        assert "echo" not in command or (p.stdout == b"hi\n") == (codes[kind] == 0), (command, p)


@pytest.mark.skipif(not ROOT, reason="not root")
def test_root_of_a_container_is_told_of_refused_writes(refuse, project):
    """Without CAP_SYS_PTRACE, which docker does not give: the listener does without."""
    code = PRELUDE + "open('here', 'w').close()\nsay(tried(open, '/etc/hostname', 'r+'))"
    for kind in range(len(KINDS)):
        p = said(container(kind, refuse, True), ["cordon", "run", "--profile", "limits", "--", PYTHON, "-c", code], project)
        assert p.returncode == 1 and p.stdout.strip() in (b'"EACCES"', b'"EROFS"'), p
        assert b"TEST_SANDBOX_VIOLATION: attempted to write to /etc/hostname" in p.stderr, p
        (project / "here").unlink()


# Root of a user namespace with a range of users, as engines without root make it.
RANGED = """
import os, sys
libc = __import__('ctypes').CDLL(None)
made, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    assert libc.unshare(0x10020000) == 0  # CLONE_NEWUSER | CLONE_NEWNS
    os.write(made[1], b'x')
    os.read(mapped[0], 1)
    os.setgroups([]); os.setresgid(0, 0, 0); os.setresuid(0, 0, 0)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(made[0], 1)
for kind in ('uid', 'gid'):
    with open(f'/proc/{child}/{kind}_map', 'w') as f:
        f.write('0 100000 65536')
os.write(mapped[1], b'x')
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not ROOT, reason="a range of users takes root")
@pytest.mark.parametrize("command,code", [
    ("run -- id -u", 0), ("doctor", 0), ("run --profile limits -- true", 0), ("test -- true", 0)])
def test_root_of_a_range_of_users(project, command, code):
    for path in (project, project / "tests"):
        os.chown(path, 100000, 100000)
    p = said([PYTHON, "-c", RANGED], [BIN, *command.split()], project)
    assert p.returncode == code, p
    if command == "doctor":  # what it says of the parts is what it says of the whole
        assert b"userns          yes" in p.stdout, p.stdout.decode()
