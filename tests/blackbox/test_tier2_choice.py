"""The tier without user namespaces: when it is chosen, what it refuses and what it says; see tests/tier2.py."""
import os
import socket
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, TEST_BIN
from tier2 import FORKS, PARTIAL, UID, applied, cordon, mine, missing, own, refusing  # noqa: F401


# --- chosen, refused, reported -------------------------------------------------------------------

def test_refused_by_name_without_allow_partial(refusing):
    r = refusing("--", "echo", "ran")
    assert (r.rc, r.doc["status"], r.doc["stdout"]) == (125, "INTERNAL_ERROR", ""), r.told()
    for word in (b"clone3", b"operation not permitted", b"filesystem", b"seccomp filter",
                 b"--allow-partial"):
        assert word in r.err, r.told()
    assert not any(e["applied"] for e in r.doc["enforced"].values())


@pytest.mark.parametrize("spec", ["newuser=EPERM", "newuser=EACCES", "newuser=ENOSPC", "newuser=EUSERS",
                                  "newuser=ENOSYS", "newuser=EINVAL", "clone3=EPERM", "fsopen=EACCES", "mount=EPERM",
                                  "pivot_root=EPERM", "unshare=EPERM"])
def test_every_refusal_is_met_by_doing(refuse, spec):
    """Whichever step is refused: nothing of the caller's input is lost, and the step is named."""
    data = os.urandom(200000).hex().encode()
    r = cordon([refuse, spec, "--"], *PARTIAL, "--output", "1M", "--", "cat", stdin=data)
    assert r.doc["status"] == "OK" and r.doc["stdout"].encode() == data, r.told()[:2000]
    assert r.doc["reason"] == "PARTIAL_ENFORCEMENT"
    name = spec.split("=")[1]
    assert any("user namespaces" in w and name in w for w in r.doc["warnings"]), r.doc["warnings"]
    missing(r, "filesystem")


def test_a_kernel_that_was_built_without_them(refuse):
    r = cordon([refuse, "newuser=EINVAL", "--"], "--", "echo", "ran")
    assert r.rc == 125 and b"CONFIG_USER_NS" in r.err and b"--allow-partial" in r.err, r.told()


def test_another_failure_is_no_refusal(refuse):
    r = cordon([refuse, "newuser=EAGAIN", "--"], *PARTIAL, "--", "echo", "ran")
    assert r.rc == 125 and b"ulimit -u" in r.err, r.told()


def nested(script):
    """In a user namespace of its own, as the same uid, with the rights to change its sysctls."""
    uid = UID if ROOT else os.getuid()
    gid = UID if ROOT else os.getgid()
    return ["unshare", "-U", "-m", f"--map-user={uid}", f"--map-group={gid}", "--keep-caps", "sh", "-c",
            script + '; exec setpriv --ambient-caps=-all --inh-caps=-all "$@"', "sh"]


def test_the_sysctl_for_real():
    zero = nested("echo 0 >/proc/sys/user/max_user_namespaces")
    r = cordon(zero, "--", "true")
    assert r.rc == 125 and b"user.max_user_namespaces" in r.err, r.told()
    r = cordon(zero, *PARTIAL, "--", "echo", "ran")
    assert r.doc["stdout"] == "ran\n", r.told()


def test_the_switch_of_the_test_program():
    r = cordon([], *PARTIAL, "--", "echo", "ran", binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "userns"})
    assert r.doc["stdout"] == "ran\n", r.told()
    missing(r, "filesystem")


@pytest.mark.parametrize("options", [["--ro", "/usr:/other"], ["--net", "loopback"]])
def test_what_takes_a_namespace_is_refused_in_words(refusing, options):
    r = refusing(*PARTIAL, *options, "--", "echo", "ran")
    assert r.rc == 125 and r.doc["stdout"] == "" and b"without user namespaces" in r.err, r.told()


def test_what_is_listed_must_be_there_and_no_link(refusing, mine):
    (mine / "link").symlink_to("/usr")
    for path, word in ((mine / "none", b"no such file"), (mine / "link", b"symbolic link")):
        r = refusing(*PARTIAL, "--ro", path, "--", "echo", "ran")
        assert r.rc == 2 or r.rc == 125, r.told()
        assert word in r.err and r.doc["stdout"] == "", r.told()


# --- only a procfs is refused --------------------------------------------------------------------

COVERED = "mount -t tmpfs none /proc/fs 2>/dev/null || mount -t tmpfs none /proc/irq"


def test_a_covered_proc_keeps_namespaces_and_is_said():
    r = cordon(nested(COVERED), "--", PYTHON, "-c", PRELUDE +
               "say([os.getpid() < 5, tried(lambda: open('/proc/self/stat').read()), "
               "tried(lambda: open('/proc/self/oom_score_adj', 'w')), "
               "[tried(lambda: open(f'/proc/{p}/environ').read()) for p in os.listdir('/proc') "
               "if p.isdigit() and os.readlink('/proc/self') != p].count('ok')])")
    assert r.doc["status"] == "OK", r.told()
    assert r.answer == [True, "ok", "EROFS", 0]
    for entry in r.doc["enforced"].values():
        assert entry["applied"] is True, entry
    assert "numbers and command lines" in r.doc["enforced"]["processes"]["details"]
    assert any("procfs" in w for w in r.doc["warnings"])


def test_a_covered_proc_and_the_watcher_sees_its_own_tree_only():
    hog = "import mmap\nm = mmap.mmap(-1, 200 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n" \
          "for i in range(0, 200 << 20, 4096): m[i] = 1\nsay('won')"
    assert cordon(nested(COVERED), "--mem", "64M", "--", PYTHON, "-c", PRELUDE + hog).doc["status"] == "MEM_LIMIT"
    assert cordon(nested(COVERED), "--mem", "32M", "--", "sleep", "0.3").doc["status"] == "OK"


# --- what is switched off is not claimed, and the attack works -----------------------------------

def off(layers, *args):
    return cordon([], *args, binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "userns," + layers})


@pytest.mark.parametrize("layer,entries", [
    ("gate", ["processes", "wall_time", "pids"]), ("seccomp", ["syscalls", "network", "ipc", "processes"]),
    ("landlock", ["filesystem", "devices", "environment", "processes"]), ("keyring", ["ipc"]),
    ("watcher", ["memory", "cpu_time"]), ("rlimits", ["open_files"]), ("capabilities", ["privileges"])])
def test_the_ledger_follows(layer, entries):
    whole = off("cgroup", *PARTIAL, "--", "true")
    assert whole.doc["status"] == "OK"
    applied(whole, *[e for e in entries if e != "filesystem"])
    r = off("cgroup," + layer, *PARTIAL, "--", "true")
    assert r.doc["status"] == "OK", r.told()
    missing(r, *entries)


def test_attacks_work_where_the_layer_is_off(mine):
    path = str(own(mine / "f"))
    read = PRELUDE + f"say(tried(lambda: open({path!r}).read()))"
    assert off("", *PARTIAL, "--", PYTHON, "-c", read).answer == "EACCES"
    assert off("landlock", *PARTIAL, "--", PYTHON, "-c", read).answer == "ok"
    unix = PRELUDE + "say(tried(lambda: socket.socket(socket.AF_UNIX)))"
    assert off("", *PARTIAL, "--", PYTHON, "-c", unix).answer == "EAFNOSUPPORT"
    assert off("seccomp", *PARTIAL, "--", PYTHON, "-c", unix).answer == "ok"
    r = off("gate,cgroup", *PARTIAL, "--mem", "none", "--pids", "10", "--", PYTHON, "-c", PRELUDE + FORKS)
    assert r.answer == [100, "ok"]


@pytest.mark.alone
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_root_becomes_somebody_else(refuse, umask):
    if not ROOT:
        pytest.skip("not root")
    p = subprocess.run([refuse, "newuser=EPERM", "--", BIN, "run", "--backend", "native", *PARTIAL, "--", "sh", "-c",
                        "id -u; id -G; : >f && echo made; cat /etc/shadow"], preexec_fn=lambda: os.umask(umask),
                       env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    uid, groups, made = p.stdout.decode().split()
    assert int(uid) >= 0x70000000 and uid == groups and made == "made", p
    assert not os.path.exists("/tmp/cordon-0")
