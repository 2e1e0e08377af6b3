"""Random policies: what the plan says (`--dry-run`) and what a probe sees inside must agree.

CORDON_SEED=N repeats a case, CORDON_CASES=N is their number; each failure names its seed and prints the policy.
"""
import glob
import json
import os
import pathlib
import random
import re
import socket

import pytest

from support import ALL, PYTHON, cordon, run

FIRST = int(os.environ.get("CORDON_SEED", "1"))
CASES = int(os.environ.get("CORDON_CASES", 1 if "CORDON_SEED" in os.environ else 300 if ALL else 40))
NAMES = ["ALPHA", "BETA", "BETA_ONE", "BETA_TWO", "GAMMA_X", "PATH", "LANG", "HOME", "LD_AUDIT", "SECRET"]
PROBE = r"""
import json, os, resource, socket, sys
asked = json.loads(sys.argv[1])
def look(path):
    seen = {}
    try:
        seen["inode"] = os.stat(path).st_ino
    except OSError:
        return None
    if os.path.isdir(path):
        try:
            seen["names"] = sorted(os.listdir(path))
        except OSError: seen["names"] = None
        path += "/made-by-the-probe"
        flags = os.O_CREAT | os.O_WRONLY | os.O_EXCL
    else:
        try:
            with open(path) as f: seen["text"] = f.read()
        except OSError: seen["text"] = None
        flags = os.O_WRONLY
    try:
        os.close(os.open(path, flags, 0o600))
        seen["writable"] = True
        if flags & os.O_CREAT: os.unlink(path)
    except OSError: seen["writable"] = False
    return seen
def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
        return True
    except OSError: return False
def room(path):
    try: fs = os.statvfs(path)
    except OSError: return None
    return fs.f_blocks * fs.f_frsize
with open("/proc/self/environ", "rb") as f:
    environment = f.read().decode().split("\0")[:-1]
print(json.dumps({"paths": {p: look(p) for p in asked["paths"]}, "environment": environment,
                  "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[0], "cwd": os.getcwd(),
                  "uid": os.getuid(), "gid": os.getgid(), "host": connects(asked["port"]),
                  "interfaces": [n for _, n in socket.if_nameindex()] if asked["net"] else [],
                  "room": {p: room(p) for p in asked["tmpfs"]}, "top": sorted(os.listdir("/"))}))
"""


# --- policies --------------------------------------------------------------------------------


def make_tree(place):
    """Directories three deep with a file in each; all of them anybody's."""
    paths = []
    for top in "abc":
        for middle in ("", "/x", "/y"):
            for low in ("", "/p") if middle else ("",):
                path = place / f"{top}{middle}{low}"
                path.mkdir(parents=True, exist_ok=True)
                path.chmod(0o777)
                (path / "file").write_text(str(path))
                (path / "file").chmod(0o666)
                paths.append(str(path))
    return paths


def random_policy(dice, directories):
    def entry():
        source = dice.choice(directories + [d + "/file" for d in directories])
        kind = dice.random()
        if kind < 0.5:
            return source
        target = dice.choice(["/m0", "/m1", "/m0/sub", "/opt/deep/er", "/data", "/tmp/in", "/work/in"])
        return {"host": source, "sandbox": target, **({"optional": True} if dice.random() < 0.3 else {})}

    fs = {"rw": [entry() for _ in range(dice.randrange(4))], "ro": [entry() for _ in range(dice.randrange(4))]}
    if dice.random() < 0.2:
        fs["work"] = {"host": dice.choice(directories)}
    if dice.random() < 0.4:
        fs["tmp_bytes"] = dice.choice([1 << 20, 3 << 20, 16 << 20])
    if dice.random() < 0.1:
        fs["ro"].append({"host": "/nonexistent/x", "optional": dice.random() < 0.7})
    words = NAMES + ["BETA_*", "NOT_SET"]
    policy = {"version": 1, "extends": dice.choice(["stage", "stage", "module", "agent"]), "fs": fs,
              "net": dice.choice(["none", "none", "loopback", "host"]),
              "env": {"allow": dice.sample(words, dice.randrange(5)), "deny": dice.sample(words, dice.randrange(2)),
                      "set": {n: f"set-{n}" for n in dice.sample(NAMES, dice.randrange(3))},
                      "default": {n: f"default-{n}" for n in dice.sample(NAMES, dice.randrange(3))}},
              "limits": {"nofile": dice.choice([64, 100, 512]), "pids": dice.choice([16, 40])},
              "proc": {"uid": dice.choice(["nobody", "nobody", "caller"])}}
    if dice.random() < 0.4:
        shown = [e if isinstance(e, str) else e.get("sandbox", e["host"]) for e in fs["rw"] + fs["ro"]]
        fs["hide"] = [dice.choice(shown * 5 + directories[:1]) + dice.choice(["", "/file", "/x", "/p", "/none"])
                      for _ in range(dice.randrange(1, 4))]
        if not fs["rw"] and dice.random() < 0.5:
            fs["hide"].append(dice.choice(["**/p", "**/file", "**/[xy]/file"]))
    if dice.random() < 0.3:
        policy["proc"]["cwd"] = dice.choice(["/tmp", "/work", "/m0", "/usr"])
    return policy


# --- what the plan says ----------------------------------------------------------------------


def beneath(top):
    """What a directory holds, however deep: "/" and a path relative to it."""
    return [path[len(top):] for path in glob.glob(f"{top}/**/*", recursive=True)]


class Plan:
    def __init__(self, text, hide=()):
        sections, current = {}, None
        for line in text.splitlines():
            if not line.startswith(" "):
                current = line.split(" ", 1)[0]
                sections[current] = [line[len(current):].strip()]
            else:
                sections[current].append(line[2:])
        self.environment = sections["environment"][1:]
        self.cwd = sections["directory"][0]
        self.uid, self.gid = map(int, re.match(r"uid (\d+) gid (\d+) inside", sections["identity"][0]).groups())
        self.spaces = sections["spaces"][0].split()
        self.steps = [self.step(line) for line in sections["files"][1:]]
        self.enforced = {line.split()[0]: line.split()[1] for line in sections["enforced"][1:]}
        self.hidden = {found for entry in hide for found in self.hides(entry)}

    def hides(self, entry):
        """The files of the host behind an entry of `hide`; the dry run only names the first."""
        if not entry.startswith("**/"):
            (kind, _, source, _, _), rest = self.at(entry)
            return [source + rest] if kind == "bind" else []
        # By the whole name, inside or on the host: the root of a bind may lie in the midst of it.
        names = [(source + rest, target + rest) for kind, target, source, _, _ in self.steps
                 if kind == "bind" and "/case" in source for rest in beneath(source)]
        return [host for host, inside in names
                if any(pathlib.PurePath(name).match(entry[3:]) for name in (host, inside))]

    @staticmethod
    def step(line):
        kind, rest = line.split(None, 1)
        made = re.match(r"(\S+)(?: (<-|->) (\S+))?(?: (\d+) bytes)?(.*)$", rest)
        target, _, source, size, flags = made.groups()
        return kind, target, source, size, flags.split()

    def at(self, path):
        """The last step that covers a path, and whatever is left of the path."""
        found = None
        for step in self.steps:
            if step[0] in ("bind", "tmpfs", "proc", "keep") and (step[1] == "/" or path == step[1] or
                                                               path.startswith(step[1] + "/")):
                if "present" in step[4] and not os.path.exists(step[2]):
                    continue
                found = step
        return found, path[len(found[1].rstrip("/")):]

    def expect(self, path):
        """None: not there. Else what the probe must see of it."""
        (kind, _, source, _, flags), rest = self.at(path)
        if kind != "bind":
            ancestor = any(step[1].startswith(path + "/") or step[1] == path for step in self.steps)
            return {} if ancestor else None
        host = source + rest
        if not os.path.lexists(host):
            return None
        if any(host == hidden or host.startswith(hidden + "/") for hidden in self.hidden):
            # Missing where nothing can be written; else something empty and unreadable stands there.
            return None if "ro" in flags or host not in self.hidden else {"writable": False, "text": None, "names": None}
        seen = {"writable": "ro" not in flags}
        if not (self.hidden and "ro" in flags):  # an overlay has numbers of its own
            seen["inode"] = os.stat(host).st_ino
        if os.path.isfile(host):
            with open(host) as f:
                seen["text"] = f.read()
        return seen


def compare(plan, answer, policy, nofile):
    wrong = []
    for path, seen in answer["paths"].items():
        want = plan.expect(path)
        if (want is None) != (seen is None):
            wrong.append(f"{path}: planned {want}, seen {seen}")
        elif want is not None:
            covered = any(step[1] == path or path.startswith(step[1] + "/") for step in plan.steps if step[1] != "/")
            for key, value in want.items():
                if key not in seen and value is None:
                    continue  # the text of a directory, the names of a file
                # An inner mount point stands before the file itself, and nothing can be made there by inode.
                if seen[key] != value and not (key == "inode" and not covered):
                    wrong.append(f"{path}: {key} planned {value}, seen {seen[key]}")
    if sorted(answer["environment"]) != sorted(plan.environment):
        wrong.append(f"environment: planned {plan.environment}, seen {answer['environment']}")
    for name, want in (("cwd", plan.cwd), ("uid", plan.uid), ("gid", plan.gid), ("nofile", nofile)):
        if answer[name] != want:
            wrong.append(f"{name}: planned {want}, seen {answer[name]}")
    if answer["host"] != (policy["net"] == "host") or ("net" in plan.spaces) == (policy["net"] == "host"):
        wrong.append(f"net {policy['net']}: spaces {plan.spaces}, the host reached: {answer['host']}")
    for path, room in answer["room"].items():
        size = next(int(step[3]) for step in plan.steps if step[1] == path and step[0] == "tmpfs")
        if plan.at(path)[0][0] == "tmpfs" and room != size:
            wrong.append(f"{path}: {size} bytes planned, {room} seen")
    top = {step[1].split("/")[1] for step in plan.steps if step[1] != "/" and "present" not in step[4]}
    if set(answer["top"]) - top - {step[1].split("/")[1] for step in plan.steps if step[1] != "/"} or \
            top - set(answer["top"]):
        wrong.append(f"/: planned {sorted(top)}, seen {answer['top']}")
    return wrong


# --- the cases -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def one(seed, place, port, kept, policy=None, change=lambda text: text):
    dice = random.Random(seed)
    directories = make_tree(place)
    job = place / "job"
    job.mkdir(exist_ok=True)
    job.chmod(0o777)
    policy = policy or random_policy(dice, directories)
    (place / "policy.json").write_text(json.dumps(policy))
    env = {name: f"caller-{name}" for name in NAMES if name not in ("PATH", "LANG", "HOME")}
    options = ["--policy", place / "policy.json", "--quiet"]
    kw = {"env": env, "cwd": job}
    printed = cordon("run", *options, "--dry-run", "--", PYTHON, **kw)
    if printed.rc != 0:
        r = cordon("run", *options, "--", PYTHON, "-c", "print('ran')", **kw)
        kept["refused"] += 1
        assert r.rc in (2, 125) and b"ran" not in r.out and printed.err.split(b"\n")[0] == r.err.split(b"\n")[0], \
            f"seed {seed}, {policy}: planned {printed.err}, then {r.told()}"
        return
    plan = Plan(change(printed.out.decode()), policy["fs"].get("hide", []))
    paths = {d for d in directories} | {d + "/file" for d in directories} | {str(place), str(place / "job")}
    for _, target, source, _, _ in plan.steps:
        if source and source.startswith(str(place)):
            paths |= {target} | {target + d[len(source):] for d in list(paths) if d.startswith(source + "/")}
    asked = {"paths": sorted(paths), "port": port, "net": policy["net"] != "none",
             "tmpfs": sorted({s[1] for s in plan.steps if s[0] == "tmpfs" and s[1] != "/" and s[3]})}
    r = run(*options, "--", PYTHON, "-IS", "-c", PROBE, json.dumps(asked), **kw)
    if r.doc["status"] == "INTERNAL_ERROR":
        # A plan makes no system call: what a source is, and whether a directory is there, shows when it is applied.
        kept["refused"] += 1
        assert r.doc["stdout"] == "" and not any(e["applied"] for e in r.doc["enforced"].values()), \
            f"seed {seed}: {r.doc}"
        assert re.match(rb"cordon: (bind onto|change into|create mount point|open mount point|open bind source)", r.err), \
            f"seed {seed}: {r.err}"
        return
    assert r.doc["status"] == "OK", f"seed {seed}, {policy}: planned, but {r.told()}"
    wrong = compare(plan, r.answer, policy, int(plan.enforced["open_files"]))
    kept["compared"] += len(paths)
    assert not wrong, f"seed {seed}: {json.dumps(policy)}\n" + "\n".join(wrong) + "\n" + printed.out.decode()


def test_plan_and_probe_agree(tmp_path_factory, listener):
    kept = {"refused": 0, "compared": 0}
    wrong = []
    for seed in range(FIRST, FIRST + CASES):
        place = tmp_path_factory.mktemp(f"case{seed}")
        for path in (place, *list(place.parents)[:2]):
            if os.stat(path).st_uid == os.getuid():
                path.chmod(0o755)
        try:
            one(seed, place, listener, kept)
        except AssertionError as error:
            wrong.append(str(error))
    print(f"{CASES} policies, {kept['refused']} refused by plan and run alike, {kept['compared']} paths compared")
    assert not wrong, f"{len(wrong)} of {CASES} disagree:\n" + "\n".join(wrong)[:6000]
    assert CASES < 20 or kept["refused"] < CASES / 2, "most policies were refused: the cases say little"


@pytest.mark.parametrize("old,new", [("/m0 <- {a} ro", "/m0 <- {a}"), ("/m1 <- {b}", "/m1 <- {a}"), ("ALPHA=", "ALPHB="),
                                     ("directory /work", "directory /tmp"), ("1048576 bytes", "2097152 bytes"),
                                     ("open_files   100", "open_files   101"), (" net\n", "\n")],
                         ids=["ro", "source", "environment", "cwd", "size", "limit", "network"])
def test_a_difference_is_seen(place, listener, old, new):
    a, b = place / "a", place / "b"
    policy = {"version": 1, "fs": {"ro": [{"host": str(a), "sandbox": "/m0"}], "rw": [{"host": str(b), "sandbox": "/m1"}],
                                   "tmp_bytes": 1 << 20},
              "net": "none", "env": {"allow": ["ALPHA"]}, "limits": {"nofile": 100}}
    kept = {"refused": 0, "compared": 0}
    one(0, place, listener, kept, policy)
    old, new = old.format(a=a, b=b), new.format(a=a, b=b)

    def change(text):
        assert old in text, text
        return text.replace(old, new)
    with pytest.raises(AssertionError, match="planned|net none"):
        one(0, place, listener, kept, policy, change)


def test_a_hidden_file_that_is_seen_is_seen(place, listener, monkeypatch):
    policy = {"version": 1, "fs": {"ro": [{"host": str(place / "a"), "sandbox": "/m0"}], "hide": ["/m0/x/file"]},
              "net": "none", "limits": {"nofile": 100}}
    kept = {"refused": 0, "compared": 0}
    one(0, place, listener, kept, policy)
    monkeypatch.setattr(Plan, "hides", lambda *_: [])
    with pytest.raises(AssertionError, match="/m0/x/file: planned {.*seen None"):
        one(0, place, listener, kept, policy)
