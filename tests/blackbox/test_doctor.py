"""`cordon doctor`: each answer against a cause that is made for it, as root and as a user.

The first test shows what the host gives by itself: what the others take away was there before.
"""
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import jsonschema
import pytest

import support

SPACES = ["mountns", "pidns", "netns", "ipcns", "utsns", "cgroupns"]
MOUNTS = ["tmpfs", "procfs", "devpts", "overlay", "pivot_root", "mount_setattr"]
CHROOT = "/usr/sbin/chroot"
TRUSTED = ["/run/current-system/sw/bin/bwrap", "/nix/var/nix/profiles/default/bin/bwrap",
           "/usr/bin/bwrap", "/usr/local/bin/bwrap"]


@functools.lru_cache(maxsize=None)
def schema():
    for top in (support.TOP, pathlib.Path(os.environ.get("CORDON_SOURCE", support.TOP))):
        path = top / "schema/doctor.schema.json"
        if path.exists():
            return json.loads(path.read_text())
    raise AssertionError("schema/doctor.schema.json is missing")


def doctor(*args, wrap=(), code=None, env=None, binary=support.BIN, **kw):
    """`cordon doctor --json ARGS`, started by `wrap`; the document, validated."""
    argv = [*map(str, wrap), binary, "doctor", "--json", *args]
    p = subprocess.run(argv, env={**support.ENV, **(env or {})}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False, **kw)
    told = f"{argv} -> {p.returncode}\n{p.stdout!r}\n{p.stderr!r}"
    assert p.returncode in (0, 1), told
    doc = json.loads(p.stdout)
    jsonschema.validate(doc, schema())
    assert p.returncode == (0 if doc["default"]["enforceable"] else 1), told
    assert code is None or p.returncode == code, told
    doc["stderr"] = p.stderr.decode()
    return doc


@functools.lru_cache(maxsize=None)
def plain():
    return doctor()


def no(answer, reason, remedy=""):
    assert answer["available"] is False, answer
    assert reason in answer["reason"], answer
    assert remedy in (answer["remedy"] or ""), answer


# --- the host as it is -------------------------------------------------------------------------


def test_this_host_gives_what_the_tests_take_away():
    doc = plain()
    for key in ["userns", *SPACES, *MOUNTS, "landlock", "seccomp", "seccomp_notify", "openat2",
                "clone3", "close_range", "pidfd", "memfd", "keyring"]:
        assert doc[key]["available"], (key, doc[key])
    assert doc["default"]["enforceable"], doc["default"]
    assert doc["default"]["name"] == "stage"
    assert doc["landlock"]["abi"] >= 1
    for entry in doc["landlock"]["abis"]:
        assert entry["available"] == (entry["abi"] <= doc["landlock"]["abi"])
    assert doc["idmap"]["available"] or not support.ROOT or doc["idmap"]["reason"]
    assert support.ROOT or "only root" in doc["idmap"]["reason"]
    assert doc["host"]["uid"] == os.getuid()


def test_the_documents_of_two_runs_are_equal():
    first, second = doctor("--profile", "module"), doctor("--profile", "module")
    assert list(first) == list(second)
    for doc in (first, second):  # a limit of cores x wall is worded by what was seen
        for trial in ("default", "profile"):
            for entry in doc[trial]["enforced"].values():
                entry.pop("details")
    assert first == second


def test_a_ledger_is_the_one_that_a_run_has():
    for profile in ("stage", "module", "test"):
        doc = doctor("--profile", profile)
        r = support.run("--profile", profile, "--allow-partial", "--", "true")
        got = {k: v["applied"] for k, v in doc["profile"]["enforced"].items()}
        assert got == {k: v["applied"] for k, v in r.doc["enforced"].items()}
        assert doc["profile"]["name"] == profile
        full = all(v["applied"] or v["requested"] is None for v in r.doc["enforced"].values())
        assert doc["profile"]["enforceable"] == full


def test_the_test_profile_lists_four_layers():
    doc = doctor("--profile", "test")
    layers = doc["profile"]["layers"]
    assert sorted(layers) == ["os_wrapper", "runtime_guard", "static_audit", "workspace"]
    assert layers["os_wrapper"]["state"] == "on"
    has = support.cordon("--help").text
    for layer, command in (("runtime_guard", "test"), ("workspace", "test"),
                           ("static_audit", "audit")):
        there = re.search(rf"^  {command} ", has, re.M) is not None
        assert layers[layer]["state"] == ("on" if there else "off"), layers
    assert "layers" not in doctor("--profile", "agent", cwd="/usr")["profile"]


def test_nothing_is_left_behind():
    with support.nothing_left(support.marker()):
        doctor("--profile", "limits", cwd="/usr")


# --- calls that an outer filter refuses --------------------------------------------------------


@pytest.mark.parametrize("errno", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("key, calls, needed", [
    ("landlock", ["landlock_create_ruleset"], False),
    ("landlock", ["landlock_restrict_self"], False),
    ("seccomp", ["seccomp"], True),
    ("seccomp_notify", ["seccomp"], True),
    ("openat2", ["openat2"], True),
    ("clone3", ["clone3"], False),
    ("close_range", ["close_range"], False),
    ("memfd", ["memfd_create"], False),
    ("keyring", [support.NUMBERS["keyctl"]], False),
    ("mount_setattr", ["mount_setattr"], True),
    ("pivot_root", [support.NUMBERS["pivot_root"]], True),
    ("tmpfs", [support.NUMBERS["fsopen"]], True),
])
def test_a_refused_call(deny, key, calls, needed, errno):
    doc = doctor(wrap=deny(errno, *calls))
    no(doc[key], errno, "seccomp=unconfined")
    assert "seccomp filter is already in force" in doc[key]["reason"]
    lacking = [k for k, v in doc.items() if isinstance(v, dict) and v.get("needed")
               and not v["available"]]
    by_bwrap = "backend bwrap" in doc["default"]["reason"]
    assert not (lacking and doc["default"]["enforceable"]) or by_bwrap, lacking
    assert doc["host"]["seccomp_filtered"]
    if needed and not by_bwrap:
        assert not doc["default"]["enforceable"]
        assert doc["default"]["remedy"]
    else:  # whatever it says of the whole, it says what a run says
        r = subprocess.run([*deny(errno, *calls), support.BIN, "run", "--", "true"], check=False,
                           env=support.ENV, stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=60)
        assert (r.returncode == 0) == doc["default"]["enforceable"], (r, doc["default"])


def test_a_run_that_cannot_end_does_not_hold_up_the_doctor(deny):
    doc = doctor(wrap=deny("ENOSYS", "pidfd_send_signal"))
    no(doc["pidfd"], "pidfd_send_signal: ENOSYS", "seccomp=unconfined")


def test_a_caller_who_ignores_the_end_of_children_changes_no_answer():
    start = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    assert doctor(wrap=[sys.executable, "-c", start]) == plain()


def test_user_namespaces_refused_by_a_filter(deny):
    doc = doctor(wrap=deny("EPERM", "clone3", "unshare"), code=1)
    no(doc["userns"], "EPERM", "seccomp=unconfined")
    for key in SPACES + MOUNTS:
        no(doc[key], "needs a user namespace")
    assert doc["default"]["reason"].startswith("userns: ")
    assert "seccomp=unconfined" in doc["default"]["remedy"]


def test_a_filter_that_hides_clone3(deny):
    """ENOSYS is what makes programs fall back to clone, whose flags a filter can look at."""
    doc = doctor(wrap=deny("ENOSYS", "clone3"))
    no(doc["clone3"], "ENOSYS")
    for key in ["userns", *SPACES, *MOUNTS]:
        assert doc[key]["available"], (key, doc[key])


def test_an_old_style_mount_refused(deny):
    doc = doctor(wrap=deny("EPERM", support.NUMBERS["mount"]), code=1)
    for key in ("tmpfs", "procfs", "devpts", "overlay"):
        no(doc[key], "EPERM", "seccomp=unconfined")
    assert doc["mountns"]["available"]


# --- settings, containers ----------------------------------------------------------------------


def in_namespace(script, *flags):
    """A shell that is root in a user namespace of its own, and then becomes the doctor."""
    return ["unshare", "--user", "--map-root-user", *flags, "sh", "-c", script + '; exec "$@"', "sh"]


def test_a_limit_of_no_namespaces():
    doc = doctor(wrap=in_namespace("echo 0 > /proc/sys/user/max_user_namespaces"), code=1)
    no(doc["userns"], "ENOSPC; the sysctl user.max_user_namespaces is 0",
       "sysctl -w user.max_user_namespaces=")
    assert doc["host"]["sysctl"]["user.max_user_namespaces"] == 0


def test_root_of_a_namespace_with_one_user():
    doc = doctor(wrap=in_namespace("true"))
    if doc["userns"]["available"]:  # then a run there works, too
        assert doc["default"]["status"] == "OK"
    else:
        no(doc["userns"], "has only 1 users", "setpriv --reuid")


@pytest.mark.parametrize("key, space", [("netns", "net"), ("pidns", "pid"), ("ipcns", "ipc"),
                                        ("cgroupns", "cgroup"), ("mountns", "mnt")])
def test_a_limit_of_no_namespaces_of_one_kind(key, space):
    script = f"echo 0 > /proc/sys/user/max_{space}_namespaces"
    wrap = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "sh", "-c",
            script + '; exec setpriv --ambient-caps=-all --inh-caps=-all "$@"', "sh"]
    doc = doctor(wrap=wrap)
    no(doc[key], "ENOSPC", f"sysctl -w user.max_{space}_namespaces=")
    assert doc["userns"]["available"]


def test_a_covered_proc():
    cover = "mount -t tmpfs none /proc/fs; mount --bind /dev/null /proc/cpuinfo"
    script = f"mount -t proc proc /proc; {cover}"
    flags = ("--mount", "--pid", "--fork")
    if support.ROOT:
        wrap = ["unshare", *flags, "sh", "-c", script + '; exec "$@"', "sh"]
    else:
        wrap = in_namespace(script, *flags)
    doc = doctor(wrap=wrap)
    if support.ROOT:
        no(doc["procfs"], "/proc/fs /proc/cpuinfo", "systempaths=unconfined")
        assert doc["tmpfs"]["available"]
    else:  # the only mapped user is taken: see below for what this namespace gives
        assert doc["host"]["masked_proc"] == "/proc/fs /proc/cpuinfo"


@pytest.mark.skipif(not support.ROOT, reason="only root can chroot and keep its rights")
def test_a_chroot(place):
    shutil.copy2(support.BIN, place / "cordon")
    (place / "proc").mkdir()
    doc = doctor(wrap=[CHROOT, place], binary="/cordon", code=1)
    no(doc["userns"], "chroot is likely", "mount -t proc proc /proc")
    mounted = f"mount -t proc proc {place}/proc; exec {CHROOT} {place} \"$@\""
    doc = doctor(wrap=["unshare", "--mount", "sh", "-c", mounted, "sh"], binary="/cordon", code=1)
    no(doc["userns"], "in a chroot", "systemd-nspawn")
    assert doc["host"]["chroot"]
    assert doc["bwrap"]["path"] is None


@pytest.mark.skipif(not support.ROOT, reason="only root has a bounding set to lose")
def test_root_without_capabilities():
    lost = "-setuid,-setgid,-sys_admin"
    doc = doctor(wrap=["setpriv", f"--bounding-set={lost}", f"--inh-caps={lost}"], code=1)
    no(doc["userns"], "bounding set", "--cap-add SETUID")


# --- cgroups -----------------------------------------------------------------------------------


def test_a_version_that_a_run_uses_is_not_simply_missing():
    """A host with v1 controllers may have an empty v2 beside them, which counts processor time."""
    doc = plain()
    used = {e["mechanism"] for e in doc["default"]["enforced"].values()} & {"cgroup1", "cgroup2"}
    for version in used:
        assert doc[version]["available"] or "counts processor time" in doc[version]["reason"], doc[version]


V1 = any(os.path.exists(f"/sys/fs/cgroup/{c}/cgroup.procs") for c in ("memory", "pids"))
WITH_SYSTEMD, WITHOUT_SYSTEMD = (
    ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none /run; {make} exec "$@"', "sh"]
    for make in ("mkdir -p /run/systemd/system;", ""))


@pytest.mark.skipif(not support.ROOT, reason="only root can make a mount read-only, and writable again")
def test_cgroups_that_are_mounted_read_only():
    tops = [f"/sys/fs/cgroup/{c}" for c in ("memory", "pids", "cpuacct", "unified")] if V1 else ["/sys/fs/cgroup"]
    close = "".join(f"mount -o remount,bind,ro {top}; " for top in tops if os.path.exists(top))
    key = "cgroup1" if V1 else "cgroup2"
    if not plain()[key]["available"]:
        pytest.skip("root has no cgroup here: " + plain()[key]["reason"])
    before = doctor(wrap=["unshare", "--mount", "sh", "-c", close + 'exec "$@"', "sh"])
    no(before[key], "mounted read-only", "mount -o remount,bind,rw /sys/fs/cgroup")
    assert before["default"]["enforced"]["memory"]["mechanism"] == "watcher"
    mend = before[key]["remedy"] + "; "
    after = doctor(wrap=["unshare", "--mount", "sh", "-c", close + mend + 'exec "$@"', "sh"])
    assert after[key]["available"] and after["default"]["enforced"]["memory"]["mechanism"] == key


def test_no_cgroup_in_reach():
    if support.ROOT:
        hide = 'mount -t tmpfs none /sys/fs/cgroup; exec "$@"'
        doc = doctor(wrap=["unshare", "--mount", "sh", "-c", hide, "sh"])
        no(doc["cgroup1"], "mounted")
        no(doc["cgroup2"], "mounted")
        assert doc["default"]["enforced"]["memory"]["mechanism"] == "watcher"
        return
    doc = plain()
    if doc["cgroup1"]["available"] or doc["cgroup2"]["available"]:
        pytest.skip("this user has a cgroup")
    reasons = doc["cgroup1"]["reason"] + doc["cgroup2"]["reason"]
    assert "not writable by uid" in reasons or "no cgroup file system" in reasons
    remedies = (doc["cgroup1"]["remedy"] or "") + (doc["cgroup2"]["remedy"] or "")
    if os.path.exists("/run/systemd/system") and not V1:
        assert "systemd-run --user --scope -p Delegate=yes -- cordon run ..." in remedies
    else:
        assert remedies.startswith("sudo sh -c '") or "mount -t cgroup2" in remedies
    assert not V1 or "systemd-run" not in (doc["cgroup1"]["remedy"] or "")


@pytest.mark.skipif(not support.ROOT, reason="the remedy is a command of root's")
@pytest.mark.parametrize("systemd", [False, True])
def test_the_remedy_for_a_missing_cgroup_is_one(systemd):
    """What the doctor prints for a user is done, and the user then has a cgroup."""
    uid = 54321
    user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    before = doctor(wrap=[*(WITH_SYSTEMD if systemd else WITHOUT_SYSTEMD), *user])
    if V1:  # systemd delegates nothing of v1 to users: only a reboot into v2 makes its line one that helps
        assert "systemd" not in before["cgroup1"]["remedy"]
        more = before["cgroup2"]["remedy"] or ""
        assert systemd == more.startswith("add systemd.unified_cgroup_hierarchy=1 to the kernel command line")
    elif systemd:
        assert before["cgroup2"]["remedy"] == "systemd-run --user --scope -p Delegate=yes -- cordon run ..."
        return  # there is none to ask
    key = next((k for k in ("cgroup2", "cgroup1") if (before[k]["remedy"] or "").startswith("sudo ")),
               None)
    if key is None:
        pytest.skip("the remedy on this host is not a shell command: "
                    + str(before["cgroup1"]["remedy"] or before["cgroup2"]["remedy"]))
    asks = f"read go; {' '.join(user)} {support.BIN} doctor --json"
    with subprocess.Popen(["sh", "-c", asks], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=support.ENV) as shell:
        try:
            line = before[key]["remedy"].removeprefix("sudo ").replace("$$", str(shell.pid))
            p = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
            assert (p.returncode, p.stderr) == (0, b""), line
            out, _ = shell.communicate(b"go\n", timeout=60)
        finally:
            for top in pathlib.Path("/sys/fs/cgroup").glob(f"**/cordon-{uid}"):
                support.eventually(lambda t=top: not (t / "cgroup.procs").read_text(), 2)
                for path in [*top.glob("*/"), top]:
                    path.rmdir()
    after = json.loads(out)
    assert after[key]["available"], after[key]
    assert after["default"]["enforced"]["memory"]["mechanism"] == key


# --- bwrap -------------------------------------------------------------------------------------


def fake_bwrap(place, mode=0o755):
    path = place / "bwrap"
    path.write_text("#!/bin/sh\nexit 0\n")
    place.chmod(0o755)
    path.chmod(mode)
    return {"PATH": f"{place}:/usr/bin:/bin"}


def hidden(wrapped):
    """The bwrap of this host, where it has one, covered by a device."""
    there = [p for p in TRUSTED if os.path.exists(p)]
    script = "".join(f"mount --bind /dev/null {p}; " for p in there) + 'exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", *wrapped]


def test_the_trusted_places():
    assert plain()["bwrap"]["trusted_paths"] == TRUSTED


@pytest.mark.skipif(not any(map(os.path.exists, TRUSTED)), reason="no bwrap is installed here")
def test_the_real_bwrap_beats_path(place):
    doc = doctor(env=fake_bwrap(place))
    assert doc["bwrap"]["path"] in TRUSTED
    assert doc["bwrap"]["trusted"] and doc["bwrap"]["available"]
    assert "PATH" not in doc["stderr"]


REAL = next(filter(os.path.exists, TRUSTED), None)


@pytest.mark.skipif(not support.ROOT, reason="only root can take the host's bwrap away")
@pytest.mark.skipif(REAL is None, reason="no bwrap is installed here")
def test_a_bwrap_from_path_with_one_warning(place):
    env = fake_bwrap(place)
    doc = doctor(env=env, wrap=hidden([]))
    assert doc["bwrap"]["path"] == str(place / "bwrap")
    no(doc["bwrap"], "it ended without a word")  # it says nothing but that all went well
    assert doc["stderr"] == ""
    shutil.copy(REAL, place / "bwrap")
    doc = doctor(env=env, wrap=hidden([]))
    assert doc["bwrap"]["available"] and not doc["bwrap"]["trusted"]
    assert doc["stderr"].count("warning") == 1
    assert "bwrap comes from PATH" in doc["stderr"]
    doc = doctor(env=fake_bwrap(place, 0o777), wrap=hidden([]))
    no(doc["bwrap"], "writable by others", "apt-get install bubblewrap")
    assert doc["bwrap"]["path"] is None


# Becomes root of a user namespace with all users, and a mount namespace.
ALL_USERS = """
import ctypes, os, sys
made, mapped = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    assert ctypes.CDLL(None).unshare(0x10000000 | 0x20000) == 0
    os.write(made[1], b"x")
    os.read(mapped[0], 1)
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(made[0], 1)
for kind in ("uid_map", "gid_map"):
    with open(f"/proc/{pid}/{kind}", "w") as f:
        f.write("0 0 65536")
os.write(mapped[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.skipif(not support.ROOT, reason="only root can make a set-user-ID program of root's")
@pytest.mark.skipif(REAL is None, reason="no bwrap is installed here")
def test_a_set_user_id_bwrap():
    """Where users may make no namespaces it can, but not beneath cordon, whose programs gain no rights."""
    def there(namespaces, *argv):
        script = (f"mount -t tmpfs -o mode=755 none /mnt && cp {REAL} /mnt/bwrap && chmod 4755 /mnt/bwrap && "
                  f"mount --bind /mnt/bwrap {REAL} && echo {namespaces} > /proc/sys/user/max_user_namespaces && "
                  'cd / && exec setpriv --reuid=1000 --regid=1000 --clear-groups "$@"')
        return [sys.executable, "-c", ALL_USERS, "sh", "-c", script, "sh", *argv]

    def run(namespaces):
        return support.cordon("run", "--backend", "bwrap", "--", "true", wrap=there(namespaces))

    control = subprocess.run(there(0, REAL, "--unshare-all", "--ro-bind", "/", "/", "true"), check=False, timeout=60)
    assert control.returncode == 0
    doc = doctor(wrap=there(0), code=1)
    no(doc["bwrap"], "its set-user-ID bit has no effect", "sysctl -w user.max_user_namespaces=")
    r = run(0)
    assert r.rc == 125 and b"the set-user-ID bit of this one has no effect" in r.err, r.told()
    doc = doctor(wrap=there(1000))
    assert doc["bwrap"]["available"] and "its set-user-ID bit has no effect" in doc["bwrap"]["reason"]
    assert run(1000).rc == 0


# --- for people --------------------------------------------------------------------------------


def test_the_table(deny):
    r = support.cordon("doctor")
    assert r.rc == 0
    for key in [k for k in plain() if k in schema()["properties"]][1:27]:
        assert re.search(rf"^  {key} +(yes|no) ", r.text, re.M), key
    assert r.text.splitlines()[-1] == \
        "the default profile stage can be enforced in full on this host"
    assert "\033" not in r.text
    wrap = deny("EPERM", "clone3", "unshare")
    p = subprocess.run([*wrap, support.BIN, "doctor"], env=support.ENV, capture_output=True,
                       check=False)
    assert p.returncode == 1
    assert b"the default profile stage cannot be enforced in full on this host: userns" in p.stdout
    assert p.stdout.splitlines()[-2].startswith(b"  fix: ")
    assert p.stdout.splitlines()[-1].startswith(b"  until then: --allow-partial")
    text = support.cordon("doctor", "--profile", "test").text
    assert "layers of cordon test" in text and "profile test, as a run" in text


def on_terminal(env):
    return support.on_terminal("doctor", env=env)


def test_colour_on_a_terminal_only():
    assert b"\033[32myes" in on_terminal({"TERM": "xterm"})
    assert b"\033" not in on_terminal({"TERM": "xterm", "NO_COLOR": "1"})
    assert b"\033" not in on_terminal({"TERM": "dumb"})


@pytest.mark.parametrize("args", [["--jsn"], ["--profile"], ["--profile", "nope"], ["word"],
                                  ["--json=1"], ["--", "x"]])
def test_usage_errors(args):
    r = support.cordon("doctor", *args)
    assert r.rc == 2
    assert r.out == b""
    assert r.err.startswith(b"cordon: ")


def test_help():
    r = support.cordon("doctor", "--help")
    assert r.rc == 0 and "--profile" in r.text
    assert support.cordon("help", "doctor").text == r.text
    r = support.cordon("doctor", "--help", stdout=subprocess.DEVNULL)
    assert r.rc == 0


def test_a_reader_that_goes_away():
    p = subprocess.Popen([support.BIN, "doctor"], env=support.ENV, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    p.stdout.close()
    assert p.wait(60) in (125, -signal.SIGPIPE)
