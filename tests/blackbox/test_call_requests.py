"""`cordon call`: what a module may ask for, and who grants it."""
import json

from extensions import ECHO, READ, WORLD, WRITE


def test_limits_are_granted_below_the_profile_and_refused_above(modules):
    modules.add("a.less", WORLD, limits={"wall_ms": 5000, "pids": 8})
    r = modules.result("a.less")
    assert r.doc["enforced"]["wall_time"]["requested"] == 5000 and r.doc["enforced"]["pids"]["requested"] == 8
    for key, value in {"wall_ms": 300001, "mem_bytes": 1 << 40, "pids": 65, "output_bytes": None}.items():
        modules.add(f"a.more_{key}", WORLD, limits={key: value})
        r = modules.call(f"a.more_{key}")
        assert r.rc == 2 and b"grant module " in r.err and f"/limits/{key}".encode() in r.err, r.told()
        assert modules.call("--exit", "apcore", f"a.more_{key}").rc == 77


def test_effects_are_requests(modules, place):
    secret = place / "secret"
    secret.write_text("text")
    secret.chmod(0o666)
    modules.add("a.silent", READ % secret)
    modules.add("a.read", READ % secret, effects=[{"effect": "FsRead", "path": str(secret)}])
    modules.add("a.write", WRITE % secret, effects=[{"effect": "FsWrite", "path": str(secret)}])
    modules.add("a.pure", ECHO, effects=[{"effect": "Pure"}, {"effect": "Llm", "model": "x"}])
    assert modules.call("a.pure").rc == 0
    assert modules.result("a.silent").doc["value"] == 2
    for id_, pointer in (("a.read", b"/fs/ro/0"), ("a.write", b"/fs/rw/0")):
        r = modules.call(id_)
        assert r.rc == 2 and pointer in r.err and b"--within" in r.err, r.told()
        assert f"grant module {id_} its request".encode() in r.err and f"'{secret}'".encode() in r.err
        assert b"your own policy" in r.err and b"ceiling" not in r.err, "nobody gave one"
    # By the caller's own option: the same words grant it, and reading is not writing.
    assert modules.result("--ro", secret, "a.read").doc["value"] == "text"
    assert modules.call("--ro", secret, "a.write").rc == 2
    # By a ceiling: the module that asks gets it, the one that does not ask has nothing of it.
    ceiling = place / "within.json"
    ceiling.write_text(json.dumps({"version": 1, "fs": {"rw": [str(place)]}}))
    assert modules.result("--within", ceiling, "a.read").doc["value"] == "text"
    assert modules.result("--within", ceiling, "a.silent").doc["value"] == 2
    (place / "less.json").write_text('{"version": 1}')
    assert b"the ceiling grants no reading" in modules.call("--within", place / "less.json", "a.read").err
    assert modules.result("--within", ceiling, "a.write").doc["value"] == "ok"
    assert secret.read_text() == "new"
    # A set that has both: what is read and written is writable, whoever grants it. Who only reads gets no more.
    secret.write_text("text")
    both = [{"effect": effect, "path": str(secret)} for effect in ("FsWrite", "FsRead")]
    modules.add("a.both", WRITE % secret, effects=both)
    modules.add("a.reader", WRITE % secret, effects=both[1:])
    for grant in (["--within", ceiling], ["--rw", secret]):
        assert modules.result(*grant, "a.reader").doc["value"] == 30 and secret.read_text() == "text"
        assert modules.result(*grant, "a.both").doc["value"] == "ok" and secret.read_text() == "new"
        secret.write_text("text")


def test_the_network_is_granted_by_a_ceiling_alone(modules, place):
    modules.add("a.net", "import os; print(len(os.listdir('/sys/class/net')) if 0 else 1)",
                effects=[{"effect": "Network"}])
    r = modules.call("a.net")
    assert r.rc == 2 and b"'/net'" in r.err
    ceiling = place / "within.json"
    ceiling.write_text('{"version": 1, "net": "host"}')
    assert modules.result("--within", ceiling, "a.net").doc["enforced"]["network"]["requested"] is None
    assert modules.result("--net", "host", "a.net").rc == 0


def test_a_manifest_has_no_way_to_loosen_anything_else(modules):
    for key in ("env", "backend", "proc", "net", "fs", "allow_partial", "extends", "policy"):
        (modules.path / f"a.{key}").mkdir()
        (modules.path / f"a.{key}/module.json").write_text(
            json.dumps({"id": f"a.{key}", "command": ["true"], key: "x"}))
        r = modules.call(f"a.{key}")
        assert r.rc == 44 and b"unknown key" in r.err


def test_timeouts(modules):
    """The caller's word is the last one; 0 is what the profile and the module say (M6)."""
    wall = lambda *args: modules.result(*args).doc["enforced"]["wall_time"]["requested"]
    modules.add("a.none", ECHO)
    modules.add("a.long", ECHO, limits={"wall_ms": 60000})
    assert wall("a.none") == wall("--timeout", "0", "a.none") == 300000
    assert wall("--timeout", "5", "a.none") == wall("--timeout", "5s", "a.long") == 5000
    assert wall("--timeout", "900", "a.none") == 900000 and wall("--timeout", "900", "a.long") == 60000
    assert wall("--timeout", "none", "a.none") is None
    r = modules.call("--timeout", "soon", "a.none")
    assert r.rc == 2 and b"duration" in r.err


def test_a_ceiling_holds_for_the_timeout_too(modules, place):
    modules.add("a.none", ECHO)
    ceiling = place / "within.json"
    ceiling.write_text('{"version": 1}')
    assert modules.call("--within", ceiling, "--timeout", "299", "a.none").rc == 0
    assert modules.call("--within", ceiling, "--timeout", "301", "a.none").rc == 2
