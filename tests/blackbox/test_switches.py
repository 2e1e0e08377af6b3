"""Each layer and each ledger entry, switched off one at a time (P17-P19).

The release program ignores the switch. The test program refuses to run without the layer
(INTERNAL_ERROR, nothing started); with --allow-partial it runs, the ledger says what is gone, and
the attack that the layer stops now works. An attack that fails either way would prove nothing.
"""
import contextlib
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess

import pytest

from support import (BIN, CAPABILITIES, ENV, PRELUDE, PYTHON, ROOT, TEST_BIN, Run, eventually,
                     marker, pids_with, run)

LAYERS = ["mounts", "netns", "ipcns", "landlock", "seccomp", "cgroup", "rlimits", "keyring",
          "capabilities", "watcher", "wipe"]

libc = ctypes.CDLL(None, use_errno=True)


def attack(code, *options, off="", partial=True, env=None, wrap=()):
    args = [*options, *(["--allow-partial"] if partial else []), "--", PYTHON, "-c",
            PRELUDE + code]
    variables = {**(env or {}), "CORDON_TEST_DISABLE": off}
    return run(*args, binary=TEST_BIN, env=variables) if not wrap else \
        run_wrapped(wrap, args, variables)


def run_wrapped(wrap, args, env):
    argv = [*wrap, TEST_BIN, "run", "--json", *args]
    p = subprocess.run(argv, env={**ENV, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False, timeout=60)
    r = Run(argv, p.returncode, p.stdout, p.stderr, None, 0.0)
    r.doc = json.loads(p.stdout)
    return r


# --- the attacks: code and options; each says "won" or why it did not ------------------------

CONNECT = "r = tried(lambda: socket.create_connection(('127.0.0.1', {port}), 3))\n" \
          "say('won' if r == 'ok' else r)"
SETUID = "open('f', 'w').close()\nr = tried(lambda: os.chmod('f', 0o4755))\n" \
         "say('won' if r == 'ok' else r)"
READ = "r = tried(lambda: open({path!r}).read())\nsay('won' if r == 'ok' else r)"
URANDOM = "r = tried(lambda: os.open('/dev/urandom', os.O_WRONLY))\nsay('won' if r == 'ok' else r)"
OPENS = "held = []\nr = tried(lambda: [held.append(open('/dev/null')) for _ in range(100)])\n" \
        "held.clear()\nsay('won' if r == 'ok' else r)"
HOG = "import mmap\nm = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n" \
      "for i in range(0, 200 << 20, 4096): m[i] = 1\nsay('won')"
BUSY = "t = time.process_time()\nwhile time.process_time() - t < 2: pass\nsay('won')"
SLEEP = "time.sleep({seconds})\nsay('won')"
FORKS = """
kids = []
try:
    for _ in range(50):
        pid = os.fork()
        if pid == 0: signal.pause(); os._exit(0)
        kids.append(pid)
    r = 'won'
except OSError as e: r = errno.errorcode[e.errno]
for pid in kids: os.kill(pid, 9); os.waitpid(pid, 0)
say(r)
"""
# An ordinary uid loses the effective set by exec; the bounding set shows that none was dropped.
CAPS = "s = [l for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapBnd'))]\n" \
       "say('won' if any(int(l.split()[1], 16) for l in s) else 'no capability')"
SHM = "r = sc('shmget', {key}, 0, 0)\nsay('won' if isinstance(r, int) else r)"
KEY = "r = sc('keyctl', 10, -3, b'user', {name!r}.encode(), 0)\n" \
      "say('won' if isinstance(r, int) else r)"
SECRET = "found = {name!r} in os.environ\n" \
         "try: found = found or {word!r}[::-1] in open('/proc/1/environ').read()\n" \
         "except OSError as e: pass\nsay('won' if found else 'not found')"
DEVICES = "say('won' if len(os.listdir('/dev')) > 14 else sorted(os.listdir('/dev')))"
PRINT = "sys.stdout.write('x' * 5000 + '\\n'); say('won')"
DAEMON = """
if os.fork() == 0:
    os.setsid()
    null = os.open('/dev/null', os.O_RDWR)
    for fd in (0, 1, 2): os.dup2(null, fd)
    os.execvp('sh', ['sh', '-c', 'sleep 100; : {word}'])
time.sleep(0.3)
say('won')
"""
# Gives the caller a key in a session keyring of its own, then starts cordon.
WITH_KEY = PRELUDE + "sc('keyctl', 1, 0)\n" \
    "sc('add_key', b'user', sys.argv[1].encode(), b'x', 1, -3)\n" \
    "os.execv(sys.argv[2], sys.argv[2:])"


@contextlib.contextmanager
def situation(name, place):
    """What the attack needs on the host: (code, options, environment, wrapper)."""
    if name == "connect":
        with socket.create_server(("127.0.0.1", 0)) as s:
            yield CONNECT.format(port=s.getsockname()[1]), [], {}, ()
    elif name == "read":
        (place / "secret").write_text("secret")
        # No limits that a watcher holds: without mounts there is no /proc of its own to watch.
        yield (READ.format(path=str(place / "secret")),
               ["--cwd", "/", "--mem", "none", "--cpu", "none"], {}, ())
    elif name == "shm":
        key = secrets.randbelow(1 << 30) + 1
        ident = libc.shmget(key, 4096, 0o1666)
        assert ident >= 0
        try:
            # Without a limit on memory the call exists at all.
            yield SHM.format(key=key), ["--mem", "none"], {}, ()
        finally:
            libc.shmctl(ident, 0, None)
    elif name == "key":
        word = marker()
        yield KEY.format(name=word), [], {}, (PYTHON, "-c", WITH_KEY, word)
    elif name == "sleep":
        # A limit that ends a run before it has begun says nothing: a slow machine gets a longer one.
        wall = max(1.0, 5 * attack("say(1)").seconds)
        yield SLEEP.format(seconds=2.5 * wall), ["--wall", f"{wall * 1000:.0f}ms", "--grace", "0"], {}, ()
    elif name == "secret":
        word = marker()
        yield SECRET.format(name="TOKEN", word=word[::-1]), [], {"TOKEN": word}, ()
    else:
        yield {
            "setuid": (SETUID, [], {}, ()), "urandom": (URANDOM, [], {}, ()),
            "opens": (OPENS, ["--nofile", "16"], {}, ()), "hog": (HOG, ["--mem", "64M"], {}, ()),
            "busy": (BUSY, ["--cpu", "1s"], {}, ()), "forks": (FORKS, ["--pids", "8"], {}, ()),
            "caps": (CAPS, [], {}, ()), "devices": (DEVICES, [], {}, ()),
        }[name]


# layer or entry: what to switch off (more than itself where a second layer also stops the
# attack), the entries that must flip, the attack.
CASES = {
    "mounts": ("mounts,landlock", ["filesystem"], "read"),
    "netns": ("netns", ["network"], "connect"),
    "ipcns": ("ipcns", ["ipc"], "shm"),
    "seccomp": ("seccomp", ["syscalls"], "setuid"),
    "rlimits": ("rlimits", ["open_files"], "opens"),
    "keyring": ("keyring,seccomp", ["ipc"], "key"),
    "capabilities": ("capabilities", ["privileges"], "caps"),
    "watcher": ("watcher,cgroup", ["memory"], "hog"),
    "wipe": ("wipe,landlock", ["environment"], "secret"),
    "wall_time": ("wall_time", ["wall_time"], "sleep"),
    "cpu_time": ("cpu_time", ["cpu_time"], "busy"),
    "memory": ("memory", ["memory"], "hog"),
    "pids": ("pids", ["pids"], "forks"),
    "open_files": ("open_files", ["open_files"], "opens"),
    "filesystem": ("filesystem", ["filesystem"], "read"),
    "network": ("network", ["network"], "connect"),
    "syscalls": ("syscalls", ["syscalls"], "setuid"),
    "privileges": ("privileges", ["privileges"], "caps"),
    "environment": ("environment,landlock", ["environment"], "secret"),
    "ipc": ("ipc", ["ipc"], "shm"),
    "devices": ("devices", ["devices"], "devices"),
}


def test_every_layer_and_entry_has_a_case():
    apart = {"landlock", "cgroup", "output", "processes"}
    assert set(CASES) | apart == set(LAYERS) | set(CAPABILITIES)


def said(r):
    return r.answer if r.doc["stdout"].strip() else r.doc["status"]


@pytest.mark.parametrize("name", CASES)
def test_p17_refused_without_allow_partial(name, place):
    off, flips, kind = CASES[name]
    with situation(kind, place) as (code, options, env, wrap):
        r = attack(code, *options, off=off, partial=False, env=env, wrap=wrap)
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (125, "INTERNAL_ERROR", 1), r.told()
    assert r.doc["stdout"] == "", "it ran"
    assert any(entry in r.doc["reason"] + r.err.decode() for entry in r.doc["enforced"])
    assert r.doc["enforced"][flips[0]]["applied"] is False


@pytest.mark.parametrize("name", CASES)
def test_p18_p19_partial_and_the_attack_succeeds(name, place):
    off, flips, kind = CASES[name]
    with situation(kind, place) as (code, options, env, wrap):
        whole = attack(code, *options, off="", partial=False, env=env, wrap=wrap)
        assert said(whole) != "won", "the layer does not stop the attack"
        for entry in flips:
            assert whole.doc["enforced"][entry]["applied"] is True
        r = attack(code, *options, off=off, env=env, wrap=wrap)
    for entry in flips:
        e = r.doc["enforced"][entry]
        assert e["applied"] is False and e["details"] and e["requested"] is not None, e
    assert "PARTIAL_ENFORCEMENT" in r.doc["reason"], r.doc["reason"]
    assert said(r) == "won", f"off, and still it fails: {r.told()}"


@pytest.mark.parametrize("name", [*LAYERS, *CAPABILITIES])
def test_p19_only_what_is_off_is_reported_off(name):
    """The rest of the ledger stays true: one switch is one layer."""
    without = ["--cwd", "/", "--mem", "none", "--cpu", "none"]
    r = attack("say(1)", *(without if name in ("mounts", "filesystem", "processes") else []),
               off=name)
    assert r.doc["status"] == "OK", r.told()
    gone = {c for c, e in r.doc["enforced"].items()
            if not e["applied"] and e["requested"] is not None}
    allowed = {
        "mounts": {"filesystem", "devices"}, "netns": {"network"}, "ipcns": {"ipc"},
        "landlock": set(), "seccomp": {"syscalls", "network", "memory", "cpu_time", "ipc"},
        "cgroup": set(), "rlimits": {"open_files", "pids"}, "keyring": {"ipc"},
        "capabilities": {"privileges"}, "wipe": {"environment"},
        "watcher": set() if ROOT else {"memory", "cpu_time"},
        "filesystem": {"filesystem", "devices"},
        "syscalls": {"syscalls", "network", "memory", "cpu_time", "ipc"},
        # Without a pid namespace there is no fresh /proc either, and nothing proves an end in time.
        "processes": {"processes", "wall_time", "filesystem"},
    }.get(name, {name})
    assert gone <= allowed, gone
    assert (name in gone) or name in LAYERS


@pytest.mark.parametrize("name", [*LAYERS, *CAPABILITIES])
def test_the_release_program_ignores_the_switch(name):
    r = run("--", "true", binary=BIN, env={"CORDON_TEST_DISABLE": name})
    assert r.rc == 0
    assert all(e["applied"] for e in r.doc["enforced"].values())


def test_landlock_is_a_second_layer():
    """Without it the mounts still hold, and the ledger no longer names it."""
    whole = attack(URANDOM, partial=False)
    assert whole.answer == "EACCES"
    assert "landlock" in whole.doc["enforced"]["filesystem"]["mechanism"]
    r = attack(URANDOM, off="landlock")
    assert r.answer == "won"
    entry = r.doc["enforced"]["filesystem"]
    assert entry["applied"] is True and "landlock" not in entry["mechanism"]


def test_cgroup_falls_back_to_the_next_rung():
    """Without a cgroup the watcher, the rlimit and the samples carry the limits."""
    whole = attack("say(1)", partial=False).doc["enforced"]
    below = attack("say(1)", off="cgroup", partial=False).doc["enforced"]
    for entry, rung in (("memory", "watcher"), ("pids", "rlimit"), ("cpu_time", "sampling")):
        assert below[entry]["applied"] is True and rung in below[entry]["mechanism"]
        if ROOT and os.path.isdir("/sys/fs/cgroup/memory"):
            assert "cgroup" in whole[entry]["mechanism"], entry


@pytest.mark.parametrize("code,options,status", [
    (HOG, ["--mem", "64M"], "MEM_LIMIT"), (BUSY, ["--cpu", "1s"], "CPU_LIMIT"),
    (FORKS, ["--pids", "8"], "OK")], ids=["memory", "cpu", "pids"])
def test_the_lower_rung_holds(code, options, status):
    r = attack(code, *options, off="cgroup", partial=False)
    assert r.doc["status"] == status, r.told()
    if status == "OK":
        assert r.answer == "EAGAIN"


def test_output():
    r = attack(PRINT, "--output", "1K", partial=False)
    assert r.doc["stdout_truncated"] is True and r.doc["enforced"]["output"]["applied"] is True
    r = attack(PRINT, "--output", "1K", off="output", partial=False)
    assert r.rc == 125 and r.doc["stdout"] == ""
    r = attack(PRINT, "--output", "1K", off="output")
    assert r.doc["stdout_truncated"] is False and len(r.doc["stdout"]) > 5000
    assert r.doc["enforced"]["output"]["applied"] is False


def test_processes():
    word = marker()
    r = attack(DAEMON.format(word=word), partial=False)
    assert said(r) == "won" and r.doc["enforced"]["processes"]["applied"] is True
    assert eventually(lambda: not pids_with(word))
    r = attack(DAEMON.format(word=word), off="processes", partial=False)
    assert r.rc == 125 and not pids_with(word)
    word = marker()
    r = attack(DAEMON.format(word=word), "--mem", "none", "--cpu", "none", off="processes")
    survivors = pids_with(word)
    for pid in survivors:  # and its sleep: what lives in the cgroup of an ended run keeps that from being swept
        os.killpg(pid, signal.SIGKILL)
    assert said(r) == "won", r.told()
    assert r.doc["enforced"]["processes"]["applied"] is False
    assert survivors, "off, and still nothing survives"


def test_an_unknown_switch_is_an_error():
    """A typing error must not make a test of a switch pass."""
    r = subprocess.run([TEST_BIN, "run", "--", "true"],
                       env={**ENV, "CORDON_TEST_DISABLE": "no-such-layer"},
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert r.returncode == 2 and b"no-such-layer" in r.stderr
