"""Policy documents and their commands: P1, P30, I1-I3, I16, I19, I20."""
import hashlib
import json

import pytest

from support import cordon, run


def policy(*args, stdin=None):
    r = cordon("policy", *args, stdin=stdin)
    assert r.rc == 0, r.told()
    return r.out


def doc(*args, stdin=None):
    return json.loads(policy(*args, stdin=stdin))


NOETHER = {"ro_binds": [{"host": "/usr", "sandbox": "/usr"}], "network": False,
           "env_allowlist": ["PATH"]}


def as_bytes(d):
    return json.dumps(d).encode()


def test_p01_defaults_of_limits():
    d = doc("show", "--profile", "limits", "--json")
    limits = d["limits"]
    assert (limits["wall_ms"], limits["cpu_ms"], limits["mem_bytes"]) == (30000, 20000, 512 << 20)
    assert (limits["pids"], limits["nofile"], limits["output_bytes"]) == (32, 512, 1 << 20)
    assert d["net"] == "host"


@pytest.mark.parametrize("profile", ["stage", "module", "limits", "test", "agent"])
def test_profiles_are_shown_and_valid(profile):
    shown = policy("show", "--profile", profile, "--json")
    assert json.loads(shown)["version"] == 1
    r = cordon("policy", "check", "--json", stdin=shown)
    assert r.rc == 0, r.told()


def test_p30_missing_keys_take_the_defaults(place):
    (place / "p").write_text('{"version": 1, "limits": {"pids": 8}}')
    d = doc("show", "--policy", place / "p", "--json")
    assert d["limits"]["pids"] == 8 and d["limits"]["wall_ms"] == 30000


def test_i01_noether_form():
    d = doc("normalize", "--json", stdin=as_bytes(NOETHER))
    assert d == NOETHER or d["ro_binds"] == NOETHER["ro_binds"]


def test_i01_pair_form_is_refused():
    bad = dict(NOETHER, ro_binds=[["/usr", "/usr"]])
    r = cordon("policy", "check", stdin=as_bytes(bad))
    assert r.rc == 2 and b"/ro_binds/0" in r.err, r.told()


@pytest.mark.parametrize("key", ["ro_binds", "network", "env_allowlist"])
def test_i01_required_fields(key):
    """Without one of the three it is no noether document: its keys are then strange ones."""
    bad = {k: v for k, v in NOETHER.items() if k != key} | {"something_else": 1}
    r = cordon("policy", "check", stdin=as_bytes(bad))
    assert r.rc == 2, r.told()


def test_i01_unknown_keys_are_tolerated_with_a_warning():
    r = cordon("policy", "check", stdin=as_bytes(dict(NOETHER, future=1)))
    assert r.rc == 0 and b"future" in r.err + r.out, r.told()


def test_i02_rw_binds_and_work_host_are_not_written_when_absent():
    for given in (NOETHER, dict(NOETHER, rw_binds=[]), dict(NOETHER, work_host=None)):
        out = doc("normalize", stdin=as_bytes(given))
        assert "rw_binds" not in out and "work_host" not in out


def test_i03_round_trip_is_stable():
    full = dict(NOETHER, rw_binds=[{"host": "/tmp", "sandbox": "/t"}], work_host="/srv",
                network=True, env_allowlist=["PATH", "HOME"])
    once = policy("normalize", stdin=as_bytes(full))
    assert policy("normalize", stdin=once) == once
    assert json.loads(once) == full


def test_i03_version_1_round_trip_is_stable():
    for profile in ("stage", "module", "agent"):
        shown = policy("show", "--profile", profile, "--json")
        once = policy("normalize", stdin=shown)
        assert policy("normalize", stdin=once) == once


def test_sandbox_policy_form_is_read():
    old = {"wall_time_s": 5, "cpu_time_s": 4, "mem_bytes": 1 << 28, "pids_max": 16, "nofile": 64,
           "output_bytes": 4096, "enforce_network": False, "allow_partial": True}
    once = policy("normalize", stdin=as_bytes(old))
    assert policy("normalize", stdin=once) == once


EFFECTS = [{"effect": "Network"}, {"effect": "FsRead", "path": "/usr"},
           {"effect": "FsWrite", "path": "/tmp"}, {"effect": "FsRead", "path": "/etc"}]
OTHERS = ["Pure", "Fallible", "Llm", "NonDeterministic", "Process", "Cost", "Unknown"]


def noether_of(effects):
    return doc("from-effects", "--form", "noether", stdin=as_bytes(effects))


def test_i19_effects():
    d = noether_of(EFFECTS)
    assert d["network"] is True
    ro = {(b["host"], b["sandbox"]) for b in d["ro_binds"]}
    assert {("/usr", "/usr"), ("/etc", "/etc")} <= ro
    assert d["rw_binds"] == [{"host": "/tmp", "sandbox": "/tmp"}]


def test_i19_version_1():
    d = doc("from-effects", stdin=as_bytes(EFFECTS))
    assert d["version"] == 1 and d["net"] == "host"


def test_i19_no_effects():
    assert noether_of([])["network"] is False


@pytest.mark.parametrize("effect", OTHERS)
def test_i20_other_effects_change_nothing(effect):
    d = noether_of([{"effect": effect}])
    assert d == noether_of([]) and "rw_binds" not in d


def test_options_refine_the_document(place):
    (place / "p").write_text('{"version": 1, "limits": {"wall_ms": 60000}, "net": "host"}')
    r = run("--policy", place / "p", "--net", "none", "--", "true")
    assert r.doc["enforced"]["network"]["applied"] is True
    assert r.doc["enforced"]["wall_time"]["requested"] == 60000


def test_policy_from_stdin_and_descriptor(place):
    text = b'{"version": 1, "proc": {"cwd": "/tmp"}}'
    assert run("--policy", "-", "--", "pwd", stdin=text).doc["stdout"] == "/tmp\n"
    (place / "p").write_bytes(text)
    with open(place / "p", "rb") as f:
        r = run("--policy", f"fd:{f.fileno()}", "--", "pwd", pass_fds=[f.fileno()])
    assert r.doc["stdout"] == "/tmp\n"


def test_extends_replaces_lists_and_merges_objects(place):
    (place / "p").write_text(
        '{"version": 1, "extends": "module", "env": {"allow": ["PATH"]}, "limits": {"pids": 8}}')
    d = doc("show", "--policy", place / "p", "--json")
    assert d["env"]["allow"] == ["PATH"] and d["limits"]["pids"] == 8
    assert d["limits"]["wall_ms"] == 300000


def test_odd_keys_of_a_document_leave_room_for_what_is_said_of_the_run(place):
    odd = {f"odd{n}": n for n in range(20)}
    (place / "p").write_text(json.dumps({"ro_binds": [], "network": False, "env_allowlist": ["PATH"], **odd}))
    r = cordon("run", "--policy", place / "p", "--backend", "none", "--allow-partial", "--", "true")
    assert r.rc == 0 and b"'/odd0' has no effect" in r.err and b"backend none isolates nothing" in r.err, r.told()
    assert b"there is more to be said of the policy" in r.err


def test_a_refused_document_is_named(place):
    """By its file, and the place in it; standard input has no name."""
    (place / "link").symlink_to("/usr")
    for text, pointer in (({"version": 1, "fss": {}}, "/fss"), ({"version": 1, "fs": {"rw": ["/proc/x"]}}, "/fs/rw/0"),
                          ({"version": 1, "fs": {"ro": ["/usr", "/no/such"]}}, "/fs/ro/1"),
                          ({"version": 1, "fs": {"ro": [f"{place}/link/bin"]}}, "/fs/ro/0")):
        (place / "p.json").write_text(json.dumps(text))
        r = cordon("policy", "check", place / "p.json")
        assert r.rc == 2 and f"'{place}/p.json#{pointer}'".encode() in r.err, r.told()
        r = cordon("policy", "check", stdin=as_bytes(text))
        assert r.rc == 2 and f"'{pointer}'".encode() in r.err, r.told()
        r = cordon("policy", "check", "--json", place / "p.json")
        assert json.loads(r.out)["error"]["pointer"] == pointer
    (place / "p.json").write_text('{"version": 1, "fss": {}}')
    for args in (["normalize", place / "p.json"], ["show", "--policy", place / "p.json"]):
        assert f"'{place}/p.json#/fss'".encode() in cordon("policy", *args).err
    assert b"read policy '/no/such.json': no such file" in cordon("policy", "check", "/no/such.json").err


@pytest.mark.parametrize("document", [
    {"version": 1, "limits": {"pids": 20}, "allow_partial": True},
    {"pids_max": 20, "allow_partial": True},
    {"ro_binds": [], "network": False, "env_allowlist": ["PATH"]}], ids=["version 1", "SandboxPolicy", "noether"])
def test_p32_the_hash_is_that_of_the_normal_form(place, document):
    """Whatever form it came in: of the bytes that `policy show --json` prints."""
    (place / "p.json").write_text(json.dumps(document))
    shown = cordon("policy", "show", "--policy", place / "p.json", "--json").out
    doc = run("--policy", place / "p.json", "--quiet", "--", "true", cwd=place).doc
    assert doc["cordon"]["policy_sha256"] == hashlib.sha256(shown).hexdigest()
