"""Hosts with a full disk, without inodes, with a read-only disk, without /tmp, without /proc: a correct
run, or one clear line; never half a file, never a half-made sandbox.

Each is a mount namespace of its own: as root directly, else with the rights of a user namespace,
which are given up before cordon starts.
"""
import json
import os
import shutil
import subprocess

import pytest

from support import BIN, ENV, PYTHON, ROOT, check_document, nothing_left

WORDS = {"full": "no space", "inodes": "no space", "readonly": "read-only"}
DISKS = {
    "full": "mount -t tmpfs -o size=16k,mode=0777 tmpfs {d}; head -c 99999 /dev/zero >{d}/filler 2>/dev/null || :",
    "inodes": "mount -t tmpfs -o nr_inodes=2,mode=0777 tmpfs {d}; : >{d}/filler",
    "readonly": "mount -t tmpfs -o size=64k,mode=0777 tmpfs {d}; : >{d}/filler; mount -o remount,ro {d}",
}
# A root with everything but one directory; pivot_root, since a chroot may not make namespaces.
WITHOUT = """
mount -t tmpfs -o mode=0755 tmpfs {d}; mkdir {d}/old
for entry in /*; do
    name=${{entry#/}}
    [ "$name" != {missing} ] || continue
    if [ -L "$entry" ]; then cp -P "$entry" {d}/; elif [ -d "$entry" ]; then mkdir {d}/$name; mount --rbind "$entry" {d}/$name; fi
done
mkdir -p {d}/place; mount --bind {place} {d}/place
cd {d}; /usr/sbin/pivot_root . old; /usr/bin/python3 -Ic 'import ctypes; ctypes.CDLL(None).umount2(b"/old", 2)'
rmdir /old; cd /
"""


def world(script):
    """Words before a command: it runs in a mount namespace that `script` has changed."""
    if ROOT:
        return ["unshare", "-m", "sh", "-c", f'set -e; {script}\nexec "$@"', "sh"]
    return ["unshare", "-U", "-m", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "--keep-caps",
            "sh", "-c", f'set -e; {script}\nexec setpriv --ambient-caps=-all --inh-caps=-all "$@"', "sh"]


def call(prefix, *args, env=None, given=b""):
    return subprocess.run([*prefix, BIN, *map(str, args)], env={**ENV, **(env or {})}, input=given, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def then_list(d, *args):
    """A shell command that keeps cordon's own status and shows what it left in the directory."""
    return ["sh", "-c", f'"$@"; status=$?; echo; echo LEFT; ls -A {d}; exit $status', "sh", BIN, *map(str, args)]


@pytest.fixture(params=sorted(DISKS))
def disk(request, place):
    d = place / "disk"
    d.mkdir()
    d.chmod(0o777)
    return request.param, d, world(DISKS[request.param].format(d=d))


@pytest.mark.parametrize("option", ["--result", "--stdout-file", "--stderr-file"])
def test_files_of_the_caller(disk, option):
    kind, d, prefix = disk
    argv = then_list(d, "run", option, d / "f", "--", "sh", "-c", "head -c 20000 /dev/zero; head -c 20000 /dev/zero >&2")
    p = subprocess.run([*prefix, *argv], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    # 2: refused before anything ran; 141: the command died of the closed pipe before it was done.
    assert p.returncode in (125, 2, 141), p
    told = p.stderr.replace(b"\0", b"").decode().strip()
    assert told.startswith("cordon: ") and WORDS[kind] in told.lower(), told
    assert "f'" in told or "output" in told, told
    left = p.stdout.rsplit(b"LEFT\n", 1)[1].split()
    # What the command said until then is kept, under the name that was asked for; half a result is not.
    assert left == [b"filler"] or option != "--result" and left == [b"f", b"filler"], left


def test_a_work_directory(disk):
    """The payload is told; the run itself is in order."""
    kind, d, prefix = disk
    p = call(prefix, "run", "--json", "--work", d, "--", PYTHON, "-c",
             "import errno\ntry:\n    open('/work/new', 'w').write('x' * 99999); print('written')\n"
             "except OSError as e: print(errno.errorcode[e.errno])")
    doc = json.loads(p.stdout)
    check_document(doc)
    assert doc["status"] == "OK", doc
    assert doc["stdout"].strip() == {"readonly": "EROFS"}.get(kind, "ENOSPC"), doc["stdout"]


@pytest.mark.parametrize("profile", ["stage", "limits", "test", "agent"])
def test_no_room_for_temporary_files(disk, profile, place):
    kind, d, prefix = disk
    project = place / "project"
    (project / "tests").mkdir(parents=True)
    project.chmod(0o777)
    with nothing_left():
        p = subprocess.run([*prefix, BIN, "run", "--json", "--quiet", "--profile", profile, "--allow-partial", "--", "echo", "ran"],
                           env={**ENV, "TMPDIR": str(d), "HOME": str(d)}, stdin=subprocess.DEVNULL, cwd=project,
                           capture_output=True, timeout=60, check=False)
    doc = json.loads(p.stdout)
    check_document(doc)
    if p.returncode != 0:
        assert p.returncode == 125 and WORDS[kind] in p.stderr.decode().lower(), p.stderr
    else:
        assert doc["stdout"] == "ran\n"


def test_a_rooted_write(disk):
    """The old content stays whole, and no temporary file."""
    kind, d, prefix = disk
    argv = then_list(d, "fs", "--root", d, "--json", "writeFile", "filler", "-")
    p = subprocess.run([*prefix, *argv], env=ENV, input=b"y" * 50000, capture_output=True, timeout=60, check=False)
    answer, left = p.stdout.split(b"\nLEFT\n")
    error = json.loads(answer)["error"]
    assert p.returncode == 1 and error["code"] == {"readonly": "EROFS"}.get(kind, "ENOSPC"), error
    assert left == b"filler\n" and str(d) not in error["message"]


@pytest.mark.parametrize("missing", ["tmp", "proc", "sys", "dev/shm", "run"])
@pytest.mark.parametrize("profile", ["stage", "limits", "agent", "module"])
def test_a_directory_of_the_host_is_missing(place, missing, profile):
    new = place / "new"
    new.mkdir()
    (place / "job").mkdir()
    (place / "job").chmod(0o777)
    if missing == "dev/shm":
        script = "umount /dev/shm || mount -t tmpfs -o ro tmpfs /dev/shm; :"
    else:
        script = WITHOUT.format(d=new, missing=missing, place=place)
    # The program and the place may lie beneath what is missing: both are in /place.
    shutil.copy2(BIN, place / "cordon")
    base = "/place" if missing != "dev/shm" else str(place)
    prefix = world(script + f"\ncd {base}/job")
    # limits shows the host's own tree, and a /tmp only where the host has one.
    use = "" if profile == "limits" else "; echo x >/tmp/f && cat /tmp/f"
    p = subprocess.run([*prefix, f"{base}/cordon", "run", "--json", "--quiet", "--profile", profile, "--", "sh", "-c",
                        "echo ran" + use], env=ENV, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=60, check=False)
    assert p.stdout, p.stderr
    doc = json.loads(p.stdout)
    check_document(doc)
    if doc["status"] == "OK":
        assert doc["stdout"] == ("ran\nx\n" if use else "ran\n"), doc
        assert all(e["applied"] for e in doc["enforced"].values() if e["requested"] is not None)
    else:
        assert p.returncode == 125 and doc["stdout"] == "" and p.stderr.startswith(b"cordon: "), (p.stderr, doc)
        assert f"/{missing}" in p.stderr.decode(), p.stderr
