"""`cordon call`: modules, JSON in and JSON out (M1-M29, ruling 16.1)."""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import support
from extensions import ECHO, WORLD, WRITE
from support import BIN, ENV, cordon, marker, nothing_left


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
    r = modules.call("--timeout", "200ms", "--grace", "0", "--exit", "apcore", "a.sleep")
    assert r.rc == 1 and r.err == b"cordon: call module 'a.sleep': wall time of 200 ms reached\n", r.told()


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


# --- input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given,why", [(b"", b"unexpected end"), (b"{", b"1:2"), (b"{} {}", b"after the end"),
                                       (b"\xff", b"expected a JSON value"), (b"{'a': 1}", b"1:2")])
def test_input_that_is_no_json(modules, given, why):
    modules.add("a.echo", ECHO)
    r = modules.call("a.echo", given=given)
    assert r.rc == 2 and r.out == b"" and why in r.err, r.told()
    assert modules.call("--exit", "apcore", "a.echo", given=given).rc == 2


@pytest.mark.parametrize("size", [65535, 65536, 65537, 131072, 131073])
def test_input_around_the_size_of_what_it_is_read_into(modules, size):
    modules.add("a.whole", "import sys; text = sys.stdin.read(); print(len(text) if text[1:-1].isdigit() else -1)")
    given = (b'"' + b"0123456789" * size)[:size - 1] + b'"'
    assert modules.result("a.whole", given=given).doc["value"] == size == len(given)


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


def test_the_exit_codes_of_apcore(modules, place):
    """0, 1 for whatever became of the call, 2 for what was asked wrongly, 44, 77 (M24); 130 is with the signals."""
    modules.add("a.echo", ECHO)
    modules.add("a.three", "raise SystemExit(3)")
    modules.add("a.asks", ECHO, effects=[{"effect": "FsRead", "path": str(place)}])
    code = lambda *args, **kw: modules.call("--exit", "apcore", *args, **kw).rc
    assert code("a.echo") == 0
    assert code("a.three") == code("--no-sandbox", "a.three") == 1
    cannot_be_made = ["--ro", "/usr:/etc/passwd/x", "a.echo"]
    assert modules.call(*cannot_be_made).rc == 125 and code(*cannot_be_made) == 1
    assert code("a.echo", given=b"no JSON") == code("A") == code("--wall", "fast", "a.echo") == 2
    assert code("a.nothing") == 44 and code("a.asks") == 77


@pytest.mark.parametrize("args", [["a.echo", "more"], [], ["--tty", "a.echo"], ["--format", "text", "a.echo"],
                                  ["--progress", "a.echo"], ["--no-such", "a.echo"], ["--exit", "fast", "a.echo"],
                                  ["--", "a.echo", "more"], ["--"]])
def test_usage(modules, args):
    modules.add("a.echo", ECHO)
    r = modules.call(*args)
    assert r.rc == 2 and r.out == b"" and r.err, r.told()


def test_an_option_behind_the_id_says_where_it_belongs(modules):
    modules.add("a.echo", ECHO)
    r = modules.call("a.echo", "--json")
    assert r.rc == 2 and b"'--json': options stand before the id" in r.err, r.told()
    assert modules.call("--", "a.echo").rc == 0


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
    assert call("math.sum", [1, -2, 43]) == {"sum": 42} and call("math.sum", []) == {"sum": 0}
    for wrong in (7, {"a": 1}, [1, "2"], [1.5], [1, [2]], [1e3], [None], [1 << 63], [(1 << 63) - 1, 1]):
        r = cordon("call", "--extensions", place / "modules", "math.sum", stdin=json.dumps(wrong).encode())
        assert r.rc not in (0, 44) and b"math.sum: the " in r.err, r.told()
    listed = cordon("call", "--list", "--extensions", place / "modules").text
    assert "math.sum" in listed and "text.wordcount" in listed
