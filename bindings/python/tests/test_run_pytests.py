"""run_pytests and run_pytests_v2."""

import os
import shutil
import textwrap

import cordon
import pytest


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TMPDIR", raising=False)  # as most callers have it: temporary files are in /tmp

    def write(body):
        (tmp_path / "test_it.py").write_text(textwrap.dedent(body))
        return ["test_it.py"]

    return write


def test_defaults():
    policy = cordon.SandboxPolicy()
    assert (policy.wall_time_s, policy.cpu_time_s, policy.mem_bytes, policy.pids_max, policy.nofile,
            policy.output_bytes, policy.enforce_network) == (30, 20, 512 << 20, 32, 512, 1 << 20, False)


def test_ok_and_failed(suite):
    result = cordon.run_pytests_v2(suite("def test_a(): pass"), cordon.SandboxPolicy())
    assert (result["version"], result["status"], result["rc"]) == (2, "OK", 0), result
    assert "1 passed" in result["stdout"] and set(result) == set(cordon.SandboxResultV2.__annotations__)
    failed = cordon.run_pytests_v2(suite("def test_a(): assert 0"))
    assert (failed["status"], failed["rc"]) == ("NONZERO_EXIT", 1)


def test_the_working_directory_is_open(suite, tmp_path, site, monkeypatch):
    """As it is said, also where pytest loads the package's own plugin, whose hook would name the write."""
    monkeypatch.setenv("PYTHONPATH", str(shutil.copytree(site, tmp_path / ".site")))  # the /tmp inside is another one
    result = cordon.run_pytests_v2(suite("""
        from pathlib import Path
        def test_a(cordon_config): Path("out.txt").write_text("x")
    """))
    assert result["status"] == "OK" and (tmp_path / "out.txt").exists(), result
    assert sorted(p.name for p in tmp_path.iterdir() if p.name[0] not in "._") == ["out.txt", "test_it.py"]


def test_it_does_not_nest_where_every_session_is_guarded(suite, tmp_path, site, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(shutil.copytree(site, tmp_path / ".site")))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --cordon\n")
    result = cordon.run_pytests_v2(suite("def test_a(): pass"))
    assert result["status"] == "OK" and "1 passed" in result["stdout"], result


def test_what_could_not_be_started_is_named(suite, monkeypatch):
    monkeypatch.setattr("sys.executable", "/tmp/venv/bin/python")
    result = cordon.run_pytests_v2(suite("def test_a(): pass"))
    assert result["status"] == "SPAWN_FAILED" and "/tmp/venv/bin/python" in result["reason"], result["reason"]
    assert "/tmp/venv/bin/python" in cordon.run_pytests(["test_it.py"])[1]


def test_two_runs_are_equal(suite):
    paths = suite("def test_a(): pass")
    policy = cordon.SandboxPolicy()
    one, two = (cordon.run_pytests_v2(paths, policy) for _ in range(2))
    assert [one[k] for k in ("status", "rc", "cmd", "enforced")] == [two[k] for k in ("status", "rc", "cmd", "enforced")]


@pytest.mark.parametrize("body, policy, status, rc", [
    ("import time\ndef test_a(): time.sleep(60)", {"wall_time_s": 2}, "TIMEOUT", 124),
    ("def test_a():\n    while True: pass", {"cpu_time_s": 2}, "CPU_LIMIT", 152),
    ("def test_a(): x = [b'x' * (1 << 20) for _ in range(4000)]", {"mem_bytes": 128 << 20}, "MEM_LIMIT", 137),
    ("import os, signal\ndef test_a(): os.kill(os.getpid(), signal.SIGTERM)", {}, "KILLED_TERM", 143),
    ("import os, signal\ndef test_a(): os.kill(os.getpid(), signal.SIGKILL)", {}, "KILLED_KILL", 137),
    ("import socket\ndef test_a(): socket.socket()", {"enforce_network": True}, "FORBIDDEN_SYSCALL", 159),
])
def test_the_table(suite, body, policy, status, rc):
    result = cordon.run_pytests_v2(suite(body), cordon.SandboxPolicy(**policy))
    assert (result["status"], result["rc"]) == (status, rc), result


def test_output_flood(suite):
    result = cordon.run_pytests_v2(suite("def test_a(capfd):\n    with capfd.disabled(): print('x' * 3000000)"))
    assert result["status"] == "OK" and "[TRUNCATED]" in result["stdout"]
    assert len(result["stdout"]) < (1 << 20) + 200


def test_no_paths():
    result = cordon.run_pytests_v2([])
    assert (result["status"], result["rc"], result["cmd"]) == ("INTERNAL_ERROR", 1, []) and result["reason"]
    with pytest.raises(TypeError):
        cordon.run_pytests_v2("test_it.py")


def test_the_older_call(suite):
    rc, text = cordon.run_pytests(suite("def test_a(): print('hello')\ndef test_b(): assert 0"), 30)
    assert rc == 1 and text.startswith("cordon: status=NONZERO_EXIT rc=1 duration_ms=")
    assert "traceId=" in text.splitlines()[0] and "1 failed, 1 passed" in text
    rc, text = cordon.run_pytests(suite("import time\ndef test_a(): time.sleep(60)"), 1)
    assert rc == 124 and "wall time" in text


def test_environment(suite, monkeypatch):
    monkeypatch.setenv("COVERAGE_PROCESS_START", "/x")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    body = """
        import os
        def test_a():
            assert os.environ["PYTHONHASHSEED"] == "0" and os.environ["PYTHONDONTWRITEBYTECODE"] == "1"
            assert os.environ["COVERAGE_PROCESS_START"] == "/x"
        """
    assert cordon.run_pytests_v2(suite(body))["status"] == "OK"


def test_files_outside_stay(suite, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "f"
    outside.write_text("old")
    body = f"def test_a():\n    open('here', 'w').close()\n    open({str(outside)!r}, 'w')"
    assert cordon.run_pytests_v2(suite(body))["rc"] != 0
    assert outside.read_text() == "old" and os.path.exists("here")
