"""How a run ends and what the result document says: P2-P9, P15, P16, P20, P23, P25, P28, P32."""
import base64
import json
import os
import signal

import pytest

from support import CAPABILITIES, PYTHON, SHORT, TEST_BIN, check_document, cordon, inside, run


def test_p02_ok():
    r = run("--", "true")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (0, "OK", 0)
    assert r.doc["exit"] == {"code": 0}


def test_p02_result_file_beside_output_that_passes_through(place):
    r = cordon("run", "--result", place / "r.json", "--", "echo", "hello")
    assert (r.rc, r.out, r.err) == (0, b"hello\n", b"")
    doc = json.loads((place / "r.json").read_text())
    check_document(doc)
    assert (doc["status"], doc["stdout"], doc["stdout_bytes"]) == ("OK", "hello\n", 6)


def test_success_prints_nothing_of_its_own():
    r = cordon("run", "--", "sh", "-c", "printf out; printf err >&2")
    assert (r.rc, r.out, r.err) == (0, b"out", b"err")


@pytest.mark.parametrize("code", [1, 3, 42, 124, 125, 126, 127, 255])
def test_nonzero_exit_carries_the_childs_code(code):
    r = run("--", "sh", "-c", f"exit {code}")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (code, "NONZERO_EXIT", code)
    assert r.doc["exit"] == {"code": code}


def test_p06_killed_term():
    r = run("--", "sh", "-c", "kill -TERM $$")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (143, "KILLED_TERM", 143)
    assert r.doc["exit"] == {"signal": signal.SIGTERM} or r.doc["exit"] == {"signal": "SIGTERM"}


def test_p07_killed_kill_is_not_mem_limit():
    r = run("--", "sh", "-c", "kill -KILL $$")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (137, "KILLED_KILL", 137)
    assert "SIGKILL" in r.doc["reason"]


@pytest.mark.parametrize("name", ["SEGV", "ABRT", "HUP", "USR1"])
def test_p20_signaled_names_the_signal_and_number(name):
    number = getattr(signal, "SIG" + name)
    r = run("--", "sh", "-c", f"kill -{name} $$")
    assert (r.rc, r.doc["status"], r.doc["rc"]) == (128 + number, "SIGNALED", 128 + number)
    assert "SIG" + name in r.doc["reason"] and str(int(number)) in r.doc["reason"]


def test_p08_forbidden_syscall():
    r = inside("sc('mount', b'none', b'/tmp', b'tmpfs', 0, 0); say('lived')",
               "--on-forbidden", "kill", status="FORBIDDEN_SYSCALL")
    assert (r.rc, r.doc["rc"]) == (159, 159)
    assert "lived" not in r.text and "on_forbidden: kill)" in r.doc["reason"]


def test_p08_p29_enforce_network_of_the_older_form_ends_on_socket(place):
    # With a key of the noether form, which makes it extend stage: a view, not a guarded host.
    (place / "p.json").write_text('{"enforce_network": true, "pids_max": 16, "rw_binds": []}')
    r = inside("open('/tmp/f', 'w').write('x'); print('files work', flush=True)\n"
               "socket.socket(socket.AF_INET, socket.SOCK_STREAM); say('lived')",
               "--policy", place / "p.json", status="FORBIDDEN_SYSCALL")
    assert (r.rc, r.doc["rc"]) == (159, 159)
    assert "files work" in r.text and "lived" not in r.text
    assert "a forbidden socket (on_forbidden: kill_sockets)" in r.doc["reason"]
    assert r.doc["enforced"]["network"]["applied"] is True


def test_p29_network_not_asked_for_is_not_claimed():
    r = run("--net", "host", "--", "true")
    network = r.doc["enforced"]["network"]
    assert network["requested"] in (None, False, "host") and network["applied"] is False


def another_mechanism(capability):
    """One that this host does not use for it."""
    used = run("--", "true").doc["enforced"][capability]["mechanism"]
    return next(m for m in ("cgroup2", "cgroup1", "watcher") if m not in used)


def test_p09_internal_error_is_the_sandbox_alone():
    r = run("--require", f"memory:{another_mechanism('memory')}", "--", "echo", "ran")
    assert (r.rc, r.doc["status"], r.doc["rc"], r.doc["stdout"]) == (125, "INTERNAL_ERROR", 1, ""), r.told()


def test_allow_partial_warns_only_where_something_is_missing():
    words = "went on without network (policy /allow_partial)"
    whole = run("--allow-partial", "--", "true")
    assert whole.doc["reason"] == "" and whole.doc["warnings"] == [] and whole.err == b"", whole.told()
    missing = run("--allow-partial", "--", "true", binary=TEST_BIN, env={"CORDON_TEST_DISABLE": "network"})
    assert [words in w for w in missing.doc["warnings"]] == [True] and words.encode() in missing.err, missing.told()


def test_allow_partial_does_not_weaken_what_is_required():
    partial = ["--allow-partial", "--backend", "native"]
    off = {"env": {"CORDON_TEST_DISABLE": "seccomp"}, "binary": TEST_BIN}
    assert run(*partial, "--", "echo", "ran", **off).doc["stdout"] == "ran\n", "alone it runs without the filter"
    r = run(*partial, "--require", "syscalls", "--", "echo", "ran", **off)
    assert r.rc == 125 and r.doc["stdout"] == "" and "syscalls" in r.doc["reason"], r.told()
    assert run(*partial, "--require", "syscalls", "--", "echo", "ran").doc["stdout"] == "ran\n"


def test_p15_fields():
    doc = run("--trace-id", "0123456789abcdef0123456789abcdef", "--", "echo", "a b").doc
    assert doc["version"] == 2
    for key in ("status", "rc", "reason", "stdout", "stderr", "duration_ms", "cmd", "traceId",
                "enforced", "profile", "backend", "exit", "stdout_bytes", "stderr_bytes",
                "stdout_truncated", "stderr_truncated", "usage", "violations", "violations_total", "warnings",
                "cordon"):
        assert key in doc
    assert doc["cmd"] == ["echo", "a b"]
    assert doc["traceId"] == "0123456789abcdef0123456789abcdef"
    assert doc["profile"] == "stage"
    assert doc["backend"]["kind"] == "native" and doc["backend"]["effective"] is True


def test_p15_trace_id_is_fresh_hex():
    a, b = (run("--", "true").doc["traceId"] for _ in range(2))
    assert a != b and len(a) == 32 and int(a, 16) >= 0


def test_p16_ledger_of_every_result():
    for args in (["--", "true"], ["--", "/no/such/command"], ["--", "sh", "-c", "exit 3"]):
        enforced = run(*args).doc["enforced"]
        assert sorted(enforced) == sorted(CAPABILITIES)
        for entry in enforced.values():
            assert {"requested", "applied", "mechanism", "details"} <= set(entry)
            assert isinstance(entry["applied"], bool)
            assert entry["details"]


def test_p16_default_profile_is_enforced_in_full():
    for name, entry in run("--", "true").doc["enforced"].items():
        assert entry["applied"] is True, (name, entry)
        assert entry["mechanism"] != "none", name


def test_p23_two_runs_are_equal():
    def stable(doc):
        for key in ("traceId", "duration_ms", "usage"):
            doc.pop(key)
        return doc

    args = ["--wall", "20s", "--", "sh", "-c", "echo out; echo err >&2; exit 3"]
    assert stable(run(*args).doc) == stable(run(*args).doc)


def test_p25_text_format_has_a_header_then_both_streams():
    r = cordon("run", "--format", "text", "--", "sh", "-c", "echo to-out; echo to-err >&2")
    lines = r.out.decode().splitlines()
    assert r.rc == 0
    assert "trace" in lines[0].lower() and "ms" in lines[0]
    assert lines.index("to-out") < lines.index("to-err")


def test_p28_bytes_that_are_not_utf8(place):
    r = run("--stdout-file", place / "out", "--", "printf", r"a\377b\300\200c")
    assert r.doc["status"] == "OK" and r.doc["stdout_bytes"] == 6
    assert r.doc["stdout"].startswith("a\ufffd") and r.doc["stdout"].endswith("c")
    assert (place / "out").read_bytes() == base64.b64decode(r.doc["stdout_base64"]) == b"a\xffb\xc0\x80c"
    assert "stderr_base64" not in r.doc


def test_p28_control_bytes_and_nul_survive():
    r = run("--", "printf", r"\000\001\033[31m\\\"\n")
    assert r.doc["stdout"] == "\0\x01\x1b[31m\\\"\n" and "stdout_base64" not in r.doc


def test_p32_what_is_needed_to_repeat():
    doc = run("--", "true").doc
    about = doc["cordon"]
    assert about["version"] and about["kernel"]
    assert len(about["policy_sha256"]) == 64
    assert run("--", "true").doc["cordon"] == about
    assert run("--wall", "7s", "--", "true").doc["cordon"]["policy_sha256"] != \
        about["policy_sha256"]


def test_usage_is_measured():
    r = inside("t = time.process_time()\nx = bytearray(30 << 20)\n"
               "while time.process_time() - t < 0.3: pass\n"
               "say(1)")
    usage = r.doc["usage"]
    assert usage["cpu_ms"] >= 250
    assert usage["max_rss_bytes"] >= 30 << 20
    assert usage["processes"] >= 1


def test_output_files_hold_the_exact_bytes(place):
    r = run("--stdout-file", place / "o", "--stderr-file", place / "e", "--",
            "sh", "-c", "printf one; printf two >&2")
    assert r.rc == 0
    assert (place / "o").read_bytes() == b"one" and (place / "e").read_bytes() == b"two"
    assert r.doc["stdout"] == "one" and r.doc["stderr"] == "two"


@pytest.mark.parametrize("one,two", [("--stdout-file", "--stderr-file"), ("--result", "--stdout-file"),
                                     ("--result", "--stderr-file")])
def test_two_things_in_one_file_are_refused(place, one, two):
    """The later of both would replace the other, without a word."""
    (place / "f").write_text("kept")
    for again in (place / "f", f"{place}/../{place.name}/f", f"{place}/./f"):
        r = cordon("run", one, place / "f", two, again, "--", "sh", "-c", "echo out; echo err >&2")
        assert r.rc == 2 and f"'{two}': another option names the same file".encode() in r.err, r.told()
    assert (place / "f").read_text() == "kept" and os.listdir(place) == ["f"]
    r = cordon("run", one, place / "f", two, place / "g", "--", "echo", "x")
    assert r.rc == 0 and len(os.listdir(place)) == 2
    if one == "--stdout-file":  # what nobody renames takes both
        r = cordon("run", one, "/dev/stdout", two, "/dev/stdout", "--", "sh", "-c", "echo out; echo err >&2")
        assert r.rc == 0 and sorted(r.out.split()) == [b"err", b"out"]


def test_no_host_path_in_the_document(place):
    r = run("--result", place / "r.json", "--", "true")
    text = json.dumps(r.doc)
    assert str(place) not in text and "/tmp/cordon" not in text


@pytest.mark.parametrize("name", ["fd:%d", "/dev/fd/%d", "/proc/self/fd/%d"])
def test_result_to_a_descriptor(place, name):
    with open(place / "r", "w+b") as f:
        r = cordon("run", "--result", name % f.fileno(), "--", "echo", "hi",
                   pass_fds=[f.fileno()])
        f.seek(0)
        doc = json.loads(f.read())
    check_document(doc)
    assert r.out == b"hi\n" and doc["stdout"] == "hi\n"


def test_result_to_a_standard_stream_or_device(place):
    for name in ("out", "err"):  # wherever it leads: a pipe, or a file that is appended to
        r = cordon("run", "--result", f"/dev/std{name}", "--quiet", "--", "true")
        check_document(json.loads(getattr(r, name)))
        with open(place / "log", "w+b") as f:
            f.write(b"before\n")
            f.flush()
            assert cordon("run", "--result", f"/dev/std{name}", "--quiet", "--", "true", **{f"std{name}": f}).rc == 0
        before, document = (place / "log").read_bytes().split(b"\n", 1)
        assert before == b"before"
        check_document(json.loads(document))
    r = cordon("run", "--result", "/dev/null", "--stdout-file", "/dev/null", "--", "echo", "hi")
    assert r.rc == 0 and r.out == b"", r.told()


@pytest.mark.parametrize("argv,status", [
    (["true"], 0),
    (["sh", "-c", "exit 3"], 3),
    (["sh", "-c", "kill -TERM $$"], 143),
    (["sh", "-c", "kill -KILL $$"], 137),
    (["sh", "-c", "kill -SEGV $$"], 139),
])
def test_exit_normalized(argv, status):
    assert cordon("run", "--exit", "normalized", "--", *argv).rc == status


def test_exit_normalized_timeout_and_internal_error():
    assert cordon("run", "--exit", "normalized", "--wall", "200ms", *SHORT, "--",
                  "sleep", "30").rc == 124
    unmet = ["--require", f"memory:{another_mechanism('memory')}", "--", "true"]
    assert cordon("run", *unmet).rc == 125 and cordon("run", "--exit", "normalized", *unmet).rc == 1


def test_dry_run_prints_the_plan_and_runs_nothing(place):
    r = cordon("run", "--rw", f"{place}:/data", "--dry-run", "--", "touch", "/data/ran")
    assert r.rc == 0 and r.out
    assert not (place / "ran").exists()


@pytest.mark.parametrize("options", [["--json"], ["--format", "text"], ["--result", "r"], ["--stdout-file", "r"],
                                     ["--stderr-file", "r"]])
def test_a_plan_has_no_result(place, options):
    r = cordon("run", "--dry-run", *options, "--", "true", cwd=place)
    assert r.rc == 2 and options[0] in r.err.decode() and "--dry-run prints the plan" in r.err.decode(), r.err
    assert not (place / "r").exists()


def test_python_runs_with_its_standard_library():
    r = run("--", PYTHON, "-c", "import ssl, sqlite3, json, asyncio; print('fine')")
    assert r.doc["stdout"] == "fine\n", r.told()
