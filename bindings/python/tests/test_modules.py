"""call(): values and the ways to fail."""

import json
import subprocess
import sys

import cordon
import pytest


@pytest.fixture
def extensions(tmp_path):
    tmp_path.chmod(0o755)

    def module(name, script, **more):
        where = tmp_path / name
        where.mkdir()
        (where / "module.json").write_text(json.dumps({"id": name, "command": ["sh", "-c", script], **more}))
        return tmp_path

    module.root = tmp_path
    return module


def test_a_value(extensions, nothing_left):
    root = extensions("test.echo", "cat")
    assert cordon.call("test.echo", {"n": [1, None, "ü"]}, extensions=root) == {"n": [1, None, "ü"]}
    like_the_document = {"a": 1, "enforced": {"network": 1}, "profile": "mine"}
    assert cordon.call("test.echo", like_the_document, extensions=root) == like_the_document
    result = cordon.call_result("test.echo", 7, extensions=root)
    assert (result.value, result.module_id, result.profile) == (7, "test.echo", "module")


@pytest.mark.parametrize("script, error, status", [
    ("echo 1st >&2; echo why >&2; exit 3", cordon.NonZeroExitError, "NONZERO_EXIT"),
    ("kill -KILL $$", cordon.NonZeroExitError, "KILLED_KILL"),
    ("echo not json", cordon.OutputParseError, "OUTPUT_PARSE_FAILED"),
    ("sleep 60", cordon.TimeoutError, "TIMEOUT"),
])
def test_the_ways_to_fail(extensions, nothing_left, script, error, status):
    with pytest.raises(error) as caught:
        cordon.call("test.bad", None, extensions=extensions("test.bad", script), timeout=1)
    assert caught.value.result.status == status
    assert str(caught.value).startswith("module `test.bad` ") and ("It said: why" in str(caught.value)) == ("why" in script)


@pytest.mark.skipif(not hasattr(sys, "get_int_max_str_digits"), reason="this Python reads integers of any length")
def test_an_integer_that_python_does_not_read_is_no_answer(extensions, nothing_left):
    digits = sys.get_int_max_str_digits() + 1
    root = extensions("test.long", f"printf '[1, -'; head -c {digits} /dev/zero | tr '\\0' 9; printf ']'")
    with pytest.raises(cordon.OutputParseError) as caught:
        cordon.call("test.long", None, extensions=root)
    assert caught.value.result.value is None and caught.value.result.rc == 65
    assert caught.value.result.stdout.startswith("[1, -99")


def test_a_time_limit_is_above_0(extensions):
    root = extensions("test.echo", "cat")
    for timeout in (0, -1, float("nan"), float("inf")):
        for attempt in (lambda t: cordon.call("test.echo", 1, extensions=root, timeout=t),
                        lambda t: cordon.run(["true"], timeout=t),
                        lambda t: cordon.run(["true"], cordon.SandboxPolicy(), timeout=t)):
            with pytest.raises(ValueError, match="no time limit"):
                attempt(timeout)


def test_what_cannot_be_started(extensions):
    (extensions("test.none", "") / "test.none/module.json").write_text(
        '{"id": "test.none", "command": ["/no/such/program"]}')
    with pytest.raises(cordon.SpawnError):
        cordon.call("test.none", 1, extensions=extensions.root)


def test_no_such_module(extensions):
    root = extensions("test.echo", "cat")
    with pytest.raises(cordon.ModuleError):
        cordon.call("test.other", 1, extensions=root)
    with pytest.raises(cordon.CordonError):
        cordon.call("../test.echo", 1, extensions=root)


def test_a_manifest_does_not_choose_its_permissions(extensions):
    root = extensions("test.net", "cat", effects=[{"effect": "Network"}])
    with pytest.raises(cordon.PolicyError):
        cordon.call("test.net", 1, extensions=root)


def test_an_id_is_no_option(extensions):
    with pytest.raises(cordon.PolicyError):
        cordon.call("--list", 1, extensions=extensions("test.echo", "cat"))


def test_a_library(extensions):
    where = extensions("test.lib", "") / "test.lib"
    (where / "m.c").write_text('#include <string.h>\nchar *cordon_module_call(const char *in) { return strdup(in); }\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(where / "m.so"), str(where / "m.c")], check=True)
    (where / "module.json").write_text('{"id": "test.lib", "library": "m.so"}')
    assert cordon.call("test.lib", [1, 2], extensions=extensions.root) == [1, 2]
