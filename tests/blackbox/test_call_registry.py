"""`cordon call`: where modules are found, their ids and manifests, and the list of them."""
import json
import os
import subprocess

import pytest

from extensions import ECHO, LIBRARY, WORLD, Modules
from support import BIN, ENV, ROOT, cordon


def test_the_root_is_found_by_option_variable_and_place(place):
    for name in ("extensions", "two", "three"):
        Modules(place / name).add("a.which", f"print('\"{name}\"')")
    said = lambda *args, **kw: cordon("call", *args, "a.which", stdin=b"{}", cwd=place, **kw)
    assert said().out == b'"extensions"\n'
    assert said(env={"APCORE_EXTENSIONS_ROOT": ""}).out == b'"extensions"\n'
    assert said(env={"APCORE_EXTENSIONS_ROOT": "two"}).out == b'"two"\n'
    assert said(env={"APCORE_EXTENSIONS_ROOT": "./two/"}).out == b'"two"\n'
    assert said("--extensions", "three", env={"APCORE_EXTENSIONS_ROOT": "two"}).out == b'"three"\n'


def test_a_root_behind_a_link_is_taken_where_it_leads(place, modules):
    modules.add("a.world", WORLD)
    (place / "link").symlink_to("extensions")
    r = cordon("call", "--extensions", place / "link", "--json", "a.world", stdin=b"{}")
    assert json.loads(r.out)["value"]["env"]["APCORE_EXTENSIONS_ROOT"] == str(modules.path)


@pytest.mark.parametrize("id_", ["../x", "A", "a" * 129, "", ".", "..", "a..b", ".a", "a.", "a/b", "1a", "a-b", "a b",
                                 "\u00e9", "a\nb"])
def test_bad_ids(modules, id_):
    modules.add("a.echo", ECHO)
    r = modules.call("--", id_) if id_.startswith("-") else modules.call(id_)
    assert r.rc == 2 and r.out == b"" and b"read module id" in r.err, r.told()


def test_good_ids(modules):
    for id_ in ("a", "a" * 128, "a_1.b2_c.d"):
        modules.add(id_, ECHO)
        assert modules.call(id_).rc == 0


def test_a_missing_module_is_44_and_input_is_not_touched(modules):
    modules.add("a.echo", ECHO)
    r = modules.call("a.ecko")
    assert r.rc == 44 and b"find module 'a.ecko': there is no such module" in r.err
    assert modules.call("--exit", "apcore", "a.ecko").rc == 44
    (modules.path / "a.empty").mkdir()
    r = modules.call("a.empty")
    assert r.rc == 44 and b"no module.json" in r.err


def test_a_root_that_cannot_be_read_is_named(place, modules):
    r = cordon("call", "--extensions", place / "nowhere", "a.b", stdin=b"{}")
    assert r.rc == 44 and b"open extensions root" in r.err and b"nowhere" in r.err and b"no such file" in r.err
    (place / "file").write_text("")
    r = cordon("call", "--extensions", place / "file", "a.b", stdin=b"{}")
    assert r.rc == 44 and b"not a directory" in r.err
    if not ROOT:
        modules.path.chmod(0)
        try:
            r = modules.call("a.b")
            assert r.rc == 44 and b"open extensions root" in r.err and b"permission denied" in r.err
            assert modules.call("--list").rc == 44
        finally:
            modules.path.chmod(0o755)


def test_links_are_not_followed(place, modules):
    modules.add("a.real", ECHO)
    assert modules.call("a.real").rc == 0
    (modules.path / "a.link").symlink_to("a.real")
    r = modules.call("a.link")
    assert r.rc == 44 and b"not a file or a link" in r.err
    (place / "elsewhere.json").write_text(json.dumps({"id": "a.m", "command": ["true"]}))
    (modules.path / "a.m").mkdir()
    (modules.path / "a.m/module.json").symlink_to(place / "elsewhere.json")
    r = modules.call("a.m")
    assert r.rc == 44 and b"not a regular file" in r.err
    os.unlink(modules.path / "a.m/module.json")
    os.mkfifo(modules.path / "a.m/module.json")
    r = modules.call("a.m", timeout=20)
    assert r.rc == 44 and b"not a regular file" in r.err
    lib = modules.add("a.lib", library=LIBRARY % "return strdup(input);")
    assert modules.call("a.lib").rc == 0
    (lib / "x.so").rename(lib / "y.so")
    (lib / "x.so").symlink_to("y.so")
    r = modules.call("a.lib")
    assert r.rc == 44 and b"not a regular file" in r.err


@pytest.mark.parametrize("text,pointer,where,why", [
    ('{"id": "a.m", "command": "x"}', "/command", "1:26", "expected a list"),
    ('{"id": "a.m", "command": [1]}', "/command/0", "1:27", "expected a string"),
    ('{"id": "a.m", "command": []}', "/command", "1:26", "1 to 256 words"),
    ('{"id": "a.m", "command": [""]}', "/command/0", "1:27", "empty"),
    ('{"id": 1, "command": ["x"]}', "/id", "1:8", "expected a string"),
    ('{"id": "a.n", "command": ["x"]}', "/id", "1:8", "not the name"),
    ('{"command": ["x"]}', "", "1:1", '"id" is missing'),
    ('{"id": "a.m"}', "", "1:1", "exactly one of"),
    ('{"id": "a.m", "command": ["x"], "library": "x.so"}', "", "1:1", "exactly one of"),
    ('{"id": "a.m", "library": "../x.so"}', "/library", "1:26", "not the name of a file"),
    ('{"id": "a.m", "command": ["x"],\n "colour": 1}', "/colour", "2:2", "unknown key"),
    ('{"id": "a.m", "command": ["x"],\n "id": "a.m"}', "/id", "2:2", "duplicate key"),
    ('{"id": "a.m", "command": ["x"], "effects": {}}', "/effects", "1:44", "expected a list"),
    ('{"id": "a.m", "command": ["x"], "effects": [{"effect": "Fly"}]}', "/effects/0/effect", "1:56", "unknown effect"),
    ('{"id": "a.m", "command": ["x"], "effects": [{"effect": "FsRead"}]}', "/effects/0", "1:45", "path"),
    ('{"id": "a.m", "command": ["x"], "limits": {"wall_ms": "1"}}', "/limits/wall_ms", "1:55", "expected"),
    ('{"id": "a.m", "command": ["x"], "limits": {"colour": 1}}', "/limits/colour", "1:44", "unknown key"),
    ('{"id": "a.m", "command": ["x"], "description": ""}', "/description", "1:48", "empty"),
    ('[]', "", "1:1", "expected an object"), ('', "", "1:1", "unexpected end"), ('{"id": "a.m"', "", "1:13", "expected")])
def test_a_manifest_that_is_wrong(modules, text, pointer, where, why):
    (modules.path / "a.m").mkdir()
    (modules.path / "a.m/module.json").write_text(text)
    r = modules.call("a.m")
    err = r.err.decode()
    assert r.rc == 44 and "read manifest" in err and why in err and f"{where}: " in err, r.told()
    assert f"'a.m/module.json{'#' if pointer else ''}{pointer}'" in err, r.told()
    listed = modules.call("--list").err.decode()
    assert f"'a.m/module.json{'#' if pointer else ''}{pointer}'" in listed, "of many one wants to know which"


def test_a_manifest_that_is_huge(modules):
    (modules.path / "a.m").mkdir()
    (modules.path / "a.m/module.json").write_text('{"id": "a.m", "command": ["true"]}' + " " * 1048576)
    r = modules.call("a.m")
    assert r.rc == 44 and b"longer than 1048576 bytes" in r.err
    (modules.path / "a.m/module.json").write_text("[" * 100000)
    assert modules.call("a.m").rc == 44


@pytest.mark.parametrize("size", [2047, 2048, 2049, 1048576])
def test_a_manifest_around_the_size_of_what_it_is_read_into(modules, size):
    where = modules.add("a.echo", ECHO)
    path = where / "module.json"
    path.write_text(path.read_text().ljust(size))
    assert modules.result("a.echo", given=b"[1]").doc["value"] == [1]
    path.write_text("#".rjust(size))
    assert f"1:{size}: " in modules.call("a.echo").err.decode(), "the last byte has been read"


def test_a_manifest_whose_size_is_not_the_truth(modules):
    """As some file systems tell it: here one of procfs, whose files are 0 bytes long."""
    if os.getuid() != 0:
        pytest.skip("only root mounts")
    where = modules.add("a.echo", ECHO)
    script = 'mount --bind /proc/version "$1/module.json" && exec "$2" call --extensions "$1/.." a.echo </dev/null'
    p = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", str(where), BIN], env=ENV, capture_output=True, check=False)
    assert p.returncode == 44 and b"1:1: expected a JSON value" in p.stderr, p.stderr


def test_list(modules):
    modules.add("b.lib", library=LIBRARY % "return strdup(input);", description="a \x1b[1m library")
    modules.add("a.echo", ECHO, description="says it again")
    (modules.path / "a.broken").mkdir()
    (modules.path / "NOT-A-MODULE").mkdir()
    r = cordon("call", "--list", "--extensions", modules.path)
    assert r.rc == 0 and [line.split()[:2] for line in r.text.splitlines()] == \
        [["a.echo", "command"], ["b.lib", "library"]]
    assert "says it again" in r.text and "\x1b" not in r.text and b"a.broken" in r.err
    doc = json.loads(cordon("call", "--list", "--json", "--extensions", modules.path).out)
    assert [m["id"] for m in doc["modules"]] == ["a.broken", "a.echo", "b.lib"]
    assert "no module.json" in doc["modules"][0]["error"] and doc["modules"][2]["kind"] == "library"
    assert cordon("call", "--list", "a.echo", "--extensions", modules.path).rc == 2


@pytest.mark.parametrize("options", [["--result", "r"], ["--audit-log", "r"], ["--timeout", "1s"], ["--exit", "apcore"],
                                     ["--no-sandbox"], ["--dry-run"]])
def test_a_list_has_nothing_for_what_belongs_to_a_call(modules, options):
    r = cordon("call", "--list", *options, "--extensions", modules.path, cwd=modules.path)
    assert r.rc == 2 and options[0] in r.err.decode() and "--list calls no module" in r.err.decode(), r.err
    assert not (modules.path / "r").exists()


def test_large_neighbours_take_no_room(modules):
    for name in "abcd":
        modules.add(f"a.{name}", ECHO)
        path = modules.path / f"a.{name}/module.json"
        path.write_text(path.read_text().replace("{", '{"x": [' + "0," * 500000 + "0],", 1))
    modules.add("b.small", ECHO)
    r = cordon("call", "--list", "--extensions", modules.path)
    assert "b.small" in r.text and b"too large" not in r.err, r.err[:2000]
