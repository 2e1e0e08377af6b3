"""The environment: I15, I16, I29b, P21, P22."""
import json

import pytest

from support import cordon, run

ELEVEN = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "NIX_PATH", "NIX_SSL_CERT_FILE",
          "SSL_CERT_FILE", "NOETHER_LOG_LEVEL", "RUST_LOG"]


def environment(*options, env=None):
    r = run(*options, "--", "env", env=env)
    assert r.doc["status"] == "OK", r.told()
    return dict(line.split("=", 1) for line in r.doc["stdout"].splitlines())


def test_i15_cleared():
    seen = environment(env={"SECRET": "1", "HOME": "/x", "USER": "me", "AWS_SECRET": "2"})
    assert seen["HOME"] == "/work" and seen["USER"] == "nobody"
    assert "SECRET" not in seen and "AWS_SECRET" not in seen


def test_i15_only_listed_names():
    seen = environment(env={name: "v" for name in ELEVEN if name != "PATH"} | {"TERM": "xterm"})
    assert set(seen) <= set(ELEVEN) | {"PWD", "SHLVL", "_", "TMPDIR"}
    assert seen["RUST_LOG"] == "v" and "TERM" not in seen


def test_i16_the_eleven_names():
    r = cordon("policy", "show", "--profile", "stage", "--json")
    assert r.rc == 0, r.told()
    assert json.loads(r.out)["env"]["allow"] == ELEVEN


def test_i29b_tls_variables_pass():
    assert environment(env={"SSL_CERT_FILE": "/c"})["SSL_CERT_FILE"] == "/c"
    assert environment(env={"NIX_SSL_CERT_FILE": "/c"})["NIX_SSL_CERT_FILE"] == "/c"


def test_env_by_name_prefix_and_value():
    env = {"ONE": "1", "APP_A": "a", "APP_B": "b", "APPX": "no"}
    seen = environment("--env", "ONE", "--env", "APP_*", "--setenv", "SET=x=y", env=env)
    assert (seen["ONE"], seen["APP_A"], seen["APP_B"], seen["SET"]) == ("1", "a", "b", "x=y")
    assert "APPX" not in seen


def test_a_named_variable_that_is_not_set_stays_unset():
    assert "ONE" not in environment("--env", "ONE")


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "NODE_PATH",
                                  "RUBYLIB", "GOPATH"])
def test_loader_variables_never_pass_by_a_prefix(name):
    env = {name: "/nowhere"}
    assert name not in environment("--env", name[:2] + "*", env=env) \
        if not name.startswith("LD_") else True
    assert name not in environment(env=env)
    r = run("--env", name, "--", "env", env=env)
    assert f"{name}=/nowhere" in r.doc["stdout"]
    assert any(name in w for w in r.doc["warnings"]), "named: passes, with a warning"


def test_loader_prefix():
    assert "LD_PRELOAD" not in environment("--env", "LD_*", env={"LD_PRELOAD": ""})


def test_deny_beats_allow_and_set_comes_last(place):
    (place / "p").write_text(json.dumps({"version": 1, "env": {
        "allow": ["PATH", "APCORE_*"], "deny": ["APCORE_AUTH_*"], "set": {"TZ": "UTC"},
        "default": {"SEED": "0", "APCORE_X": "d"}}}))
    seen = environment("--policy", place / "p",
                       env={"APCORE_AUTH_KEY": "k", "APCORE_X": "x", "TZ": "CET"})
    assert "APCORE_AUTH_KEY" not in seen
    assert (seen["APCORE_X"], seen["SEED"], seen["TZ"]) == ("x", "0", "UTC")


def test_module_profile():
    seen = environment("--profile", "module", env={
        "APCORE_LOG_LEVEL": "d", "APCORE_AUTH_API_KEY": "k", "APCORE_AUTH_X": "k", "LC_ALL": "C",
        "PYTHONPATH": "/p", "SECRET": "1"})
    assert seen["APCORE_LOG_LEVEL"] == "d" and seen["LC_ALL"] == "C"
    assert seen["HOME"] == seen["TMPDIR"] == "/work"
    assert not {"APCORE_AUTH_API_KEY", "APCORE_AUTH_X", "PYTHONPATH", "SECRET"} & set(seen)


def limits(place, **env):
    """The limits profile needs a directory of the caller's own to be writable."""
    r = run("--profile", "limits", "--allow-partial", "--", "env", env=env, cwd=place)
    return dict(line.split("=", 1) for line in r.doc["stdout"].splitlines())


def test_p21_deterministic_python(place):
    seen = limits(place)
    assert (seen["PYTHONHASHSEED"], seen["PYTHONDONTWRITEBYTECODE"]) == ("0", "1")
    seen = limits(place, PYTHONHASHSEED="7", PYTHONDONTWRITEBYTECODE="")
    assert (seen["PYTHONHASHSEED"], seen["PYTHONDONTWRITEBYTECODE"]) == ("7", "1")


def test_p22_coverage_and_pythonpath_propagate(place):
    seen = limits(place)
    assert "COVERAGE_PROCESS_START" not in seen and "PYTHONPATH" not in seen
    seen = limits(place, COVERAGE_PROCESS_START="/c", PYTHONPATH="/p")
    assert (seen["COVERAGE_PROCESS_START"], seen["PYTHONPATH"]) == ("/c", "/p")


def test_security_never_comes_from_the_environment():
    for name in ("CORDON_POLICY", "CORDON_PROFILE", "CORDON_CONFIG", "CORDON_ALLOW_PARTIAL",
                 "CORDON_NET", "CORDON_BACKEND"):
        r = run("--", "true", env={name: "host"})
        assert r.doc["enforced"]["network"]["applied"] is True
