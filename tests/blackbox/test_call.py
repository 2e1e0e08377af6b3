"""`cordon call`: modules, JSON in and JSON out (M1-M29, ruling 16.1)."""
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

import support
from support import BIN, ENV, PYTHON, ROOT, cordon, marker, nothing_left, pids_with


class Modules:
    """An extensions root, and calls into it."""

    def __init__(self, path):
        self.path = path
        path.mkdir()
        path.chmod(0o755)

    def add(self, id_, code=None, library=None, **manifest):
        """A module of python code, or of a C library's source."""
        where = self.path / id_
        where.mkdir()
        if library is not None:
            (where / "x.c").write_text(library)
            support.compiled(where / "x.so", where / "x.c", "-shared", "-fPIC")
            manifest = {"library": "x.so", **manifest}
        elif code is not None:
            (where / "main.py").write_text(code)
            manifest = {"command": [PYTHON, "{module}/main.py"], **manifest}
        (where / "module.json").write_text(json.dumps({"id": id_, **manifest}))
        subprocess.run(["chmod", "-R", "a+rX", str(where)], check=True)
        return where

    def call(self, *args, given=b"null", **kw):
        return cordon("call", "--extensions", self.path, *args, stdin=given, **kw)

    def result(self, *args, **kw):
        r = self.call("--json", *args, **kw)
        assert r.out, r.told()
        r.doc = json.loads(r.out)
        support.check_document(r.doc)
        assert "module_id" in r.doc and "value" in r.doc
        return r


@pytest.fixture
def modules(place):
    return Modules(place / "extensions")


ECHO = "import sys; sys.stdout.write(sys.stdin.read())"
# What a module sees of its world.
WORLD = """
import json, os
print(json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "here": os.listdir("."), "uid": os.getuid()}))
"""
LIBRARY = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char *cordon_module_call(const char *input);
char *cordon_module_call(const char *input)
{
%s
}
"""


# --- what comes back -------------------------------------------------------------------------


@pytest.mark.parametrize("text", [b"{}", b'{"a": [1, 2.50e+3, null]}', b"[]", b"null", b"17", b'"t"', b"true",
                                  b'"\\u0000\\ud83d\\ude00"', b"12345678901234567890123456789"])
def test_any_json_value_goes_in_and_out(modules, text):
    modules.add("a.echo", ECHO)
    r = modules.result("a.echo", given=text)
    assert r.rc == 0 and r.doc["status"] == "OK" and r.doc["module_id"] == "a.echo"
    assert r.doc["value"] == json.loads(text)
    plain = modules.call("a.echo", given=text)
    assert plain.rc == 0 and plain.err == b"" and json.loads(plain.out) == json.loads(text)
    assert plain.out.count(b"\n") == 1


def test_a_value_with_line_breaks_is_one_line(modules):
    modules.add("a.lines", 'print(\'{"a":\\n\\t[1,\\r\\n 2], "b  \\\\" c": 1}\\n\')')
    r = modules.call("a.lines")
    assert r.out == b'{"a":[1,2],"b  \\" c":1}\n', r.told()


@pytest.mark.parametrize("code,where", [
    ("pass", "1:1"), ("print('hello')", "1:1"), ("print('1 2')", "1:3"), ("print('{}'); print('{}')", "2:1"),
    ("print('[1,')", "2:1"), ("print('NaN')", "1:1"), ("print('01')", "1:3"), ("print('{1: 2}')", "1:2"),
    ("print('[1,]')", "1:4"), ("import sys; sys.stdout.buffer.write(b'\"\\xff\"')", "1:2"),
    ("print('[' * 600 + ']' * 600)", "1:513"), ("print('\"\\\\ud800\"')", "1:8")])
def test_what_is_not_exactly_one_json_value_is_refused(modules, code, where):
    modules.add("a.bad", code)
    r = modules.result("a.bad")
    assert r.rc == 65 and r.doc["status"] == "OUTPUT_PARSE_FAILED" and r.doc["rc"] == 65, r.told()
    assert r.doc["value"] is None and f": {where}: " in r.doc["reason"], r.doc["reason"]
    plain = modules.call("a.bad")
    assert plain.rc == 65 and plain.out == b"" and b"call module 'a.bad'" in plain.err
    assert modules.call("--exit", "apcore", "a.bad").rc == 1


def test_a_preview_is_in_the_reason_and_cannot_move_the_cursor(modules):
    modules.add("a.esc", "print('\\x1b[2Jhello')")
    r = modules.call("a.esc")
    assert b"begins '\\x1b[2Jhello" in r.err and b"\x1b" not in r.err


def test_truncated_output_is_no_value_although_it_looks_like_one(modules):
    modules.add("a.digits", "print('1' * 100)")
    r = modules.result("--output", "50", "--on-overflow", "truncate", "a.digits")
    assert r.rc == 65 and r.doc["status"] == "OUTPUT_PARSE_FAILED" and r.doc["value"] is None


def test_a_module_that_fails_says_so(modules):
    modules.add("a.three", "import sys; print('why', file=sys.stderr); sys.exit(3)")
    r = modules.result("a.three")
    assert r.rc == 3 and r.doc["status"] == "NONZERO_EXIT" and r.doc["rc"] == 3
    assert r.doc["stderr"] == "why\n" and r.doc["module_id"] == "a.three" and r.doc["value"] is None
    plain = modules.call("a.three")
    assert plain.rc == 3 and plain.out == b""
    assert plain.err == b"why\ncordon: call module 'a.three': exited with 3\n"
    assert modules.call("--exit", "apcore", "a.three").rc == 1
    assert modules.call("--exit", "normalized", "a.three").rc == 3


def test_a_value_of_a_module_that_fails_is_not_believed(modules):
    modules.add("a.liar", "print('{}'); raise SystemExit(1)")
    r = modules.call("a.liar")
    assert r.rc == 1 and r.out == b""


def test_a_module_that_dies_by_a_signal(modules):
    modules.add("a.segv", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    r = modules.result("a.segv")
    assert r.rc == 128 + signal.SIGSEGV and r.doc["status"] == "SIGNALED"
    assert "SIGSEGV" in r.doc["reason"] and r.doc["exit"] == {"signal": signal.SIGSEGV}
    assert modules.call("--exit", "apcore", "a.segv").rc == 1


def test_a_module_that_hangs_is_ended_with_all_it_started(modules):
    word = marker()
    modules.add("a.sleep", f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', '{word}'], start_new_session=True)
time.sleep(60)""")
    with nothing_left(word):
        r = modules.result("--timeout", "1s", "--grace", "0", "a.sleep")
    assert r.rc == 124 and r.doc["status"] == "TIMEOUT" and r.doc["module_id"] == "a.sleep"
    assert "1000 ms" in r.doc["reason"]
    assert modules.call("--timeout", "200ms", "--grace", "0", "--exit", "apcore", "a.sleep").rc == 1


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_is_ended_and_the_stream_named(modules, stream):
    modules.add("a.flood", f"import sys\nwhile True: sys.{stream}.write('1' * 65536)")
    r = modules.result("--output", "1M", "a.flood")
    assert r.rc == 153 and r.doc["status"] == "OUTPUT_LIMIT", r.told()
    assert {"stdout": "standard output", "stderr": "standard error"}[stream] in r.doc["reason"]


def test_each_stream_has_a_limit_of_its_own(modules):
    modules.add("a.both", "import sys; sys.stderr.write('e' * 40); print('\"' + 'o' * 40 + '\"')")
    assert modules.call("--output", "50", "a.both").rc == 0
    modules.add("a.over", "import sys; sys.stderr.write('e' * 60); print('1')")
    assert modules.result("--output", "50", "a.over").doc["status"] == "OUTPUT_LIMIT"


def test_a_module_that_does_not_read_is_no_failure(modules):
    modules.add("a.deaf", "print('{}')")
    given = b'"' + b"x" * (5 * 1024 * 1024) + b'"'
    r = modules.result("a.deaf", given=given)
    assert r.rc == 0 and r.doc["value"] == {}


def test_a_daemon_does_not_outlive_its_call(modules):
    word = marker()
    modules.add("a.daemon", f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', '{word}'])
    os._exit(0)
os.wait()
print('{{}}')""")
    with nothing_left(word):
        r = modules.call("a.daemon")
        assert r.rc == 0 and r.out == b"{}\n", r.told()


def test_what_cannot_be_started(modules):
    modules.add("a.missing", command=["no-such-program"])
    r = modules.result("a.missing")
    assert r.rc == 127 and r.doc["status"] == "SPAWN_FAILED"
    (modules.add("a.text", command=["./main"]) / "main").write_text("no program")
    r = modules.result("a.text")
    assert r.rc == 126 and r.doc["status"] == "SPAWN_FAILED"
    assert modules.call("--exit", "apcore", "a.text").rc == 1


# --- what the module sees --------------------------------------------------------------------


def test_the_environment_is_built_up_from_a_list(modules):
    modules.add("a.world", WORLD)
    env = {"LC_ALL": "C", "APCORE_LOG_LEVEL": "debug", "APCORE_AUTH_API_KEY": "secret", "APCORE_AUTH_X": "s",
           "PYTHONPATH": "/x", "NODE_PATH": "/x", "RUBYLIB": "/x", "GOPATH": "/x", "LD_LIBRARY_PATH": "/x",
           "UNKNOWN": "1", "APCORE_EXTENSIONS_ROOT": "elsewhere", "USER": "me", "TMPDIR": "/var/tmp"}
    seen = modules.result("a.world", env=env).doc["value"]
    seen["env"].pop("LC_CTYPE", None)  # python's own
    assert seen["env"] == {"PATH": ENV["PATH"], "LANG": ENV["LANG"], "LC_ALL": "C", "APCORE_LOG_LEVEL": "debug",
                           "HOME": "/work", "TMPDIR": "/work", "APCORE_EXTENSIONS_ROOT": str(modules.path)}
    assert seen["cwd"] == "/work" and seen["here"] == [] and seen["uid"] == 65534


def test_credentials_do_not_cross_whatever_the_policy_says(modules, place):
    modules.add("a.world", WORLD)
    policy = place / "p.json"
    policy.write_text(json.dumps({"version": 1, "extends": "module",
                                  "env": {"allow": ["PATH", "APCORE_*", "APCORE_AUTH_X"], "deny": []}}))
    seen = modules.result("--policy", policy, "--env", "APCORE_AUTH_X", "a.world",
                          env={"APCORE_AUTH_X": "secret", "APCORE_Y": "1"}).doc["value"]["env"]
    assert "APCORE_AUTH_X" not in seen and seen["APCORE_Y"] == "1"


def test_files_land_in_a_fresh_directory_that_is_gone(modules, place):
    modules.add("a.write", "open('f', 'w').write('x'); import os; print('\"%s\"' % os.path.abspath('f'))")
    before = sorted(os.listdir(place))
    with nothing_left():
        assert modules.result("a.write", cwd=place).doc["value"] == "/work/f"
        modules.call("--timeout", "1ms", "--grace", "0", "a.write", cwd=place)
    assert sorted(os.listdir(place)) == before


def test_an_unwritable_temporary_directory_is_no_matter(modules):
    """The fresh directory is the sandbox's own: nothing of the host's can be in its way (M29)."""
    modules.add("a.echo", ECHO)
    assert modules.call("a.echo", env={"TMPDIR": "/proc/nowhere"}).rc == 0


def test_extensions_are_read_only_and_all_there(modules):
    modules.add("a.other", ECHO)
    modules.add("a.look", f"""
import json, os
def write(path):
    try:
        open(path, 'w')
        return 'ok'
    except OSError as e:
        return e.errno
root = os.environ['APCORE_EXTENSIONS_ROOT']
print(json.dumps([sorted(os.listdir(root)), write(root + '/a.other/module.json'), os.path.exists('/home')]))""")
    names, written, home = modules.result("a.look").doc["value"]
    assert names == ["a.look", "a.other"] and written == 30 and home is False
    open(modules.path / "a.other/module.json", "a", encoding="utf-8").close()  # outside it may be


def test_the_program_may_be_a_file_of_the_module(modules):
    where = modules.add("a.script", command=["./bin/run", "{module}", "x{module}y", "z"])
    (where / "bin").mkdir()
    (where / "bin/run").write_text('#!/bin/sh\nprintf \'["%s","%s","%s"]\' "$@"\n')
    (where / "bin/run").chmod(0o755)
    (where / "bin").chmod(0o755)
    assert modules.result("a.script").doc["value"] == [str(where), f"x{where}y", "z"]


# --- where modules are -----------------------------------------------------------------------


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
    assert pointer == "" or f"'{pointer}'" in err, r.told()


def test_a_manifest_that_is_huge(modules):
    (modules.path / "a.m").mkdir()
    (modules.path / "a.m/module.json").write_text('{"id": "a.m", "command": ["true"]}' + " " * 1048576)
    r = modules.call("a.m")
    assert r.rc == 44 and b"longer than 1048576 bytes" in r.err
    (modules.path / "a.m/module.json").write_text("[" * 100000)
    assert modules.call("a.m").rc == 44


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


# --- input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given,why", [(b"", b"unexpected end"), (b"{", b"1:2"), (b"{} {}", b"after the end"),
                                       (b"\xff", b"expected a JSON value"), (b"{'a': 1}", b"1:2")])
def test_input_that_is_no_json(modules, given, why):
    modules.add("a.echo", ECHO)
    r = modules.call("a.echo", given=given)
    assert r.rc == 2 and r.out == b"" and why in r.err, r.told()
    assert modules.call("--exit", "apcore", "a.echo", given=given).rc == 2


def test_input_of_ten_mebibytes_and_one_byte_more(modules):
    modules.add("a.len", "import sys; print(len(sys.stdin.read()))")
    most = b'"' + b"x" * (10 * 1024 * 1024 - 2) + b'"'
    assert modules.result("a.len", given=most).doc["value"] == len(most)
    r = modules.call("a.len", given=most + b" ")
    assert r.rc == 2 and b"longer than 10485760 bytes" in r.err


def test_input_of_many_small_values_costs_no_memory(modules):
    modules.add("a.echo", "import sys; n = len(sys.stdin.read()); print(n)")
    given = b"[" + b"1," * 5_000_000 + b"1]"
    limited = ["sh", "-c", 'ulimit -v 400000 && exec "$@"', "sh"]
    argv = [*limited, BIN, "call", "--extensions", str(modules.path), "a.echo"]
    p = subprocess.run(argv, input=given, env=ENV, capture_output=True, timeout=60, check=False)
    assert p.returncode == 0 and int(p.stdout) == len(given), p.stderr


def test_no_input_is_null(modules):
    modules.add("a.echo", ECHO)
    assert modules.call("--stdin", "none", "a.echo", given=b"garbage").out == b"null\n"


# --- what a module may ask for ---------------------------------------------------------------


def test_limits_are_granted_below_the_profile_and_refused_above(modules):
    modules.add("a.less", WORLD, limits={"wall_ms": 5000, "pids": 8})
    r = modules.result("a.less")
    assert r.doc["enforced"]["wall_time"]["requested"] == 5000 and r.doc["enforced"]["pids"]["requested"] == 8
    for key, value in {"wall_ms": 300001, "mem_bytes": 1 << 40, "pids": 65, "output_bytes": None}.items():
        modules.add(f"a.more_{key}", WORLD, limits={key: value})
        r = modules.call(f"a.more_{key}")
        assert r.rc == 2 and b"grant module its request" in r.err and f"/limits/{key}".encode() in r.err, r.told()
        assert modules.call("--exit", "apcore", f"a.more_{key}").rc == 77


READ = "import json\ntry: print(json.dumps(open('%s').read()))\nexcept OSError as e: print(json.dumps(e.errno))"
WRITE = "import json\ntry: open('%s', 'w').write('new'); print('\"ok\"')\nexcept OSError as e: print(json.dumps(e.errno))"


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
    # By the caller's own option: the same words grant it, and reading is not writing.
    assert modules.result("--ro", secret, "a.read").doc["value"] == "text"
    assert modules.call("--ro", secret, "a.write").rc == 2
    # By a ceiling: the module that asks gets it, the one that does not ask has nothing of it.
    ceiling = place / "within.json"
    ceiling.write_text(json.dumps({"version": 1, "fs": {"rw": [str(place)]}}))
    assert modules.result("--within", ceiling, "a.read").doc["value"] == "text"
    assert modules.result("--within", ceiling, "a.silent").doc["value"] == 2
    assert modules.result("--within", ceiling, "a.write").doc["value"] == "ok"
    assert secret.read_text() == "new"


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


# --- libraries -------------------------------------------------------------------------------


def test_a_library_module(modules):
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    r = modules.result("c.echo", given=b'{"a": "b"}')
    assert r.doc["value"] == {"a": "b"}
    assert r.doc["cmd"][1:3] == ["--internal-sandbox-runner", "c.echo"]  # M2
    assert r.doc["enforced"]["filesystem"]["applied"] is True
    assert r.doc["usage"]["processes"] == 1  # one sandbox, and one process in it


def test_what_a_library_prints_is_not_its_answer(modules):
    modules.add("c.chatty", library=LIBRARY % 'printf("noise"); puts("more"); (void)input; return strdup("1");')
    r = modules.result("c.chatty")
    assert r.doc["value"] == 1 and r.doc["stdout"] == "1" and r.doc["stderr"] == "noisemore\n"


@pytest.mark.parametrize("body,rc,status", [
    ("(void)input; return NULL;", 1, "NONZERO_EXIT"), ("(void)input; exit(3);", 3, "NONZERO_EXIT"),
    ("(void)input; abort();", 134, "SIGNALED"), ('(void)input; return strdup("1 2");', 65, "OUTPUT_PARSE_FAILED"),
    ('(void)input; return strdup("");', 65, "OUTPUT_PARSE_FAILED"),
    ("(void)input; for (;;) pause();", 124, "TIMEOUT")])
def test_a_library_that_fails(modules, body, rc, status):
    modules.add("c.bad", library=LIBRARY % body)
    r = modules.result("--timeout", "700ms", "--grace", "0", "c.bad")
    assert r.rc == rc and r.doc["status"] == status and r.doc["value"] is None, r.told()


def test_a_library_that_cannot_be_loaded_is_44(modules):
    where = modules.add("c.none", library="int nothing; \n")
    r = modules.result("c.none")
    assert r.rc == 44 and "cordon_module_call" in r.doc["stderr"]
    assert modules.call("--exit", "apcore", "c.none").rc == 44
    (where / "x.so").write_text("no library")
    assert modules.call("c.none").rc == 44
    (where / "x.so").unlink()
    r = modules.call("c.none")
    assert r.rc == 44 and b"find library 'x.so'" in r.err


def test_the_runner_is_found_beside_the_program_and_never_by_the_environment(modules, place):
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    (place / "bin").mkdir()
    (place / "libexec/cordon").mkdir(parents=True)
    shutil.copy2(BIN, place / "bin/cordon")
    runner = place / "libexec/cordon/cordon-module-runner"
    env = {"PATH": f"{pathlib.Path(BIN).parent}:{ENV['PATH']}"}
    r = modules.result("c.echo", binary=place / "bin/cordon", env=env)
    assert r.rc == 127 and r.doc["status"] == "SPAWN_FAILED", r.told()
    # A runner in its place gets the flag, the id and the library, and the input (M2).
    runner.write_text('#!/bin/sh\nread -r given\nprintf \'["%s","%s","%s",%s]\' "$@" "$given"\n')
    runner.chmod(0o755)
    subprocess.run(["chmod", "-R", "a+rX", str(place / "libexec")], check=True)
    r = modules.result("c.echo", binary=place / "bin/cordon", given=b'{"in": 1}')
    assert r.doc["value"] == ["--internal-sandbox-runner", "c.echo", f"{modules.path}/c.echo/x.so", {"in": 1}]


# --- without a sandbox -----------------------------------------------------------------------


def test_without_a_sandbox_it_is_the_callers_own_world(modules, place):
    modules.add("a.world", WORLD)
    env = {"SECRET": "1", "APCORE_AUTH_X": "2"}
    r = modules.result("--no-sandbox", "a.world", env=env, cwd=place)
    seen = r.doc["value"]
    assert seen["cwd"] == str(place) and seen["env"]["SECRET"] == "1" and seen["env"]["APCORE_AUTH_X"] == "2"
    assert seen["uid"] == os.getuid()
    assert r.doc["backend"] == {"kind": "none", "effective": False}
    assert not any(e["applied"] for e in r.doc["enforced"].values())
    assert b"nothing is enforced" in r.err
    assert modules.call("--no-sandbox", "--unsafe-no-isolation", "a.world").err == b""


def test_no_variable_turns_the_sandbox_off(modules):
    modules.add("a.world", WORLD)
    for value in ("0", "false", "true", "1", ""):
        seen = modules.result("a.world", env={"APCORE_CLI_SANDBOX": value}).doc["value"]
        assert seen["uid"] == 65534 and seen["cwd"] == "/work"


def test_without_a_sandbox_failures_are_told_as_well(modules):
    modules.add("a.three", "import sys; print('why', file=sys.stderr); sys.exit(3)")
    modules.add("a.kill", "import os; os.kill(os.getpid(), 9)")
    modules.add("a.text", "print('hello')")
    modules.add("a.none", command=["no-such-program"])
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    call = lambda *args, **kw: modules.result("--no-sandbox", "--quiet", *args, **kw)
    r = call("a.three")
    assert (r.rc, r.doc["status"], r.doc["stderr"]) == (3, "NONZERO_EXIT", "why\n")
    assert call("a.kill").rc == 137
    assert call("a.text").rc == 65
    assert (call("a.none").rc, call("a.none").doc["status"]) == (127, "SPAWN_FAILED")
    assert call("c.echo", given=b"[1]").doc["value"] == [1]
    word = marker()
    modules.add("a.daemon", f"""
import subprocess, sys
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3)', '{word}'])
print(1)""")
    start = time.monotonic()
    assert call("a.daemon").doc["value"] == 1
    assert time.monotonic() - start < 2.5  # it holds the pipe, and keeps nobody
    with contextlib.suppress(ProcessLookupError):
        for pid in pids_with(word):
            os.kill(pid, signal.SIGKILL)


# --- the runner flag -------------------------------------------------------------------------


def flag(*args, given=b"{}", **kw):
    return cordon("--internal-sandbox-runner", *args, stdin=given, **kw)


def test_the_runner_flag(modules):
    modules.add("a.echo", ECHO)
    modules.add("a.three", "import sys; print('why', file=sys.stderr); sys.exit(3)")
    modules.add("c.echo", library=LIBRARY % "return strdup(input);")
    env = {"APCORE_EXTENSIONS_ROOT": str(modules.path)}
    assert b"internal-sandbox-runner" not in cordon("--help").out
    r = flag("a.echo", given=b'{"a": 1}', env=env)
    assert (r.rc, r.out, r.err) == (0, b'{"a":1}', b"")  # no newline (M28)
    assert flag("c.echo", given=b"[1,2]", env=env).out == b"[1,2]"
    r = flag("a.three", env=env)
    assert r.rc == 1 and r.out == b"" and b"why" in r.err and b"exited with 3" in r.err
    r = flag(env=env)
    assert r.rc == 1 and r.out == b"" and b"id is missing" in r.err  # M4
    r = flag("a.echo", given=b"{nonsense", env=env)
    assert r.rc == 1 and r.out == b"" and b"not a JSON value" in r.err  # M5
    for id_ in ("a.nothing", "../x"):
        r = flag(id_, env=env)
        assert r.rc == 1 and r.out == b"" and id_.encode() in r.err


def test_the_runner_flag_works_inside_a_sandbox(modules):
    modules.add("a.echo", ECHO)
    r = support.run("--ro", modules.path, "--ro", pathlib.Path(BIN).parent, "--setenv",
                    f"APCORE_EXTENSIONS_ROOT={modules.path}", "--", BIN, "--internal-sandbox-runner", "a.echo",
                    stdin=b'{"a":[]}')
    assert r.rc == 0 and r.doc["stdout"] == '{"a":[]}', r.told()


# --- signals, files, log ---------------------------------------------------------------------


@pytest.mark.parametrize("sig,rc,apcore", [(signal.SIGINT, 130, 130), (signal.SIGTERM, 143, 1)])
def test_a_signal_to_cordon_ends_the_module(modules, sig, rc, apcore):
    word = marker()
    modules.add("a.sleep", f"import sys, time; w = '{word}'; print('up', file=sys.stderr, flush=True); time.sleep(60)")
    for style, want in (("child", rc), ("apcore", apcore)):
        with subprocess.Popen([BIN, "call", "--extensions", str(modules.path), "--grace", "0", "--exit", style,
                               "a.sleep"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            p.stdin.write(b"{}")
            p.stdin.close()
            assert p.stderr.readline() == b"up\n"
            p.send_signal(sig)
            assert p.stdout.read() == b""
            assert p.wait(20) == want


def test_the_result_file_and_the_value_on_stdout(modules, place):
    modules.add("a.echo", ECHO)
    r = modules.call("--result", place / "r.json", "a.echo", given=b"[1]")
    doc = json.loads((place / "r.json").read_text())
    assert r.out == b"[1]\n" and doc["value"] == [1] and doc["module_id"] == "a.echo"
    support.check_document(doc)


def test_the_audit_log(modules, place):
    modules.add("a.echo", ECHO)
    modules.add("a.three", "raise SystemExit(3)")
    log = place / "audit.log"
    secret = b'{"password": "hunter2"}'
    modules.call("--audit-log", log, "a.echo", given=secret)
    modules.call("--audit-log", log, "a.echo", given=secret)
    modules.call("--audit-log", log, "a.three")
    modules.call("--audit-log", log, "a.nothing")
    modules.call("--audit-log", log, "--no-sandbox", "a.echo")
    text = log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(e["module_id"], e["status"], e["exit_code"]) for e in lines] == [
        ("a.echo", "OK", 0), ("a.echo", "OK", 0), ("a.three", "NONZERO_EXIT", 3), ("a.nothing", "REFUSED", 44),
        ("a.echo", "OK", 0)]
    assert "hunter2" not in text and lines[0]["input_hash"] != lines[1]["input_hash"]
    assert hashlib.sha256(bytes.fromhex(lines[0]["input_salt"]) + secret).hexdigest() == lines[0]["input_hash"]
    for e in lines:
        assert e["user"] and e["duration_ms"] >= 0 and time.strptime(e["timestamp"], "%Y-%m-%dT%H:%M:%SZ")
    assert log.stat().st_mode & 0o777 == 0o600
    # A module that may write where the log lies turns it into a link to a file of the caller's.
    own = place / "own"
    own.write_text("mine")
    modules.add("a.trick", f"import os; os.unlink('{log}'); os.symlink('{own}', '{log}'); print(1)")
    r = modules.call("--rw", place, "--audit-log", log, "a.trick")
    assert r.rc == 0 and log.is_symlink() and own.read_text() == "mine", r.told()
    r = modules.call("--audit-log", log, "a.echo")
    assert r.rc == 0 and b"warning" in r.err and own.read_text() == "mine"
    r = modules.call("--audit-log", place / "no/such/dir", "a.echo", given=b"1")
    assert r.rc == 0 and r.out == b"1\n" and b"warning: append to audit log" in r.err


@pytest.mark.parametrize("args", [["a.echo", "more"], [], ["--tty", "a.echo"], ["--format", "text", "a.echo"],
                                  ["--progress", "a.echo"], ["--no-such", "a.echo"], ["--exit", "fast", "a.echo"],
                                  ["--", "a.echo"]])
def test_usage(modules, args):
    modules.add("a.echo", ECHO)
    r = modules.call(*args)
    assert r.rc == 2 and r.out == b"" and r.err, r.told()


def test_a_dry_run_calls_nothing(modules, place):
    modules.add("a.write", WRITE % (place / "f"), effects=[])
    r = modules.call("--dry-run", "a.write")
    assert r.rc == 0 and str(modules.path) in r.text and not (place / "f").exists()


# --- the examples ----------------------------------------------------------------------------


def test_the_examples(place):
    shutil.copytree(support.TOP / "examples/modules", place / "modules")
    where = place / "modules/math.sum"
    support.compiled(where / "sum.so", where / "sum.c", "-shared", "-fPIC")
    subprocess.run(["chmod", "-R", "a+rX", str(place)], check=True)
    call = lambda id_, given: json.loads(
        cordon("call", "--extensions", place / "modules", id_, stdin=json.dumps(given).encode()).out)
    assert call("text.wordcount", {"text": "one two\nthree"}) == {"lines": 2, "words": 3, "characters": 13}
    assert call("math.sum", [1, -2, 43]) == {"sum": 42}
    listed = cordon("call", "--list", "--extensions", place / "modules").text
    assert "math.sum" in listed and "text.wordcount" in listed
