"""A kernel or a host that lacks one call (tests/tools/deny): each time there is a correct result, and
the ledger's claims hold when they are attacked (tests/vm/ledger.py), or a refusal that names the call.

`make check` attacks what can be seen in a moment; `make check-all` every capability, and runs the
files of the black-box suite where the run is as good as without the refusal: with ENOSYS as root, with
EPERM as an ordinary user.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

import pytest

from support import ALL, BIN, CAPABILITIES, ENV, HERE, PYTHON, check_document

CALLS = {"openat2": "openat2", "clone3": "clone3", "close_range": "close_range", "pidfd_open": "pidfd_open",
         "pidfd_send_signal": "pidfd_send_signal", "mount_setattr": "mount_setattr", "open_tree": "open_tree",
         "move_mount": "move_mount", "landlock_create_ruleset": "landlock", "landlock_add_rule": "landlock_add_rule",
         "landlock_restrict_self": "landlock_restrict_self", "seccomp": "seccomp", "memfd_create": "memfd_create",
         "fchmodat2": "fchmodat2", "statx": "statx", "renameat2": "renameat2"}
EACH = [(call, error) for call in CALLS for error in ("ENOSYS", "EPERM")]
IDS = [f"{call}-{error}" for call, error in EACH]
# What takes long is done for one error as root, for the other one as an ordinary user.
LONG = [(call, error) for call, error in EACH if ALL and (error == "ENOSYS") == (os.geteuid() == 0)]
# Those that need no waiting.
QUICK = ["open_files", "filesystem", "network", "syscalls", "privileges", "environment", "ipc", "devices"]
# The files that say most about a run; the others are about documents, completions and the like.
FILES = ["blackbox/test_filesystem.py", "blackbox/test_environment.py", "blackbox/test_network.py",
         "blackbox/test_limits.py", "blackbox/test_results.py", "blackbox/test_identity.py"]
# Tests whose command makes the refused call by itself.
OWN = {"memfd_create": "not what_the_sampled_memory_limit_refuses"}


def started(prefix, *options):
    p = subprocess.run([*prefix, BIN, "run", "--json", "--backend", "native", *options, "--", "/bin/echo", "ran"], env=ENV,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    doc = json.loads(p.stdout)
    check_document(doc)
    return p, doc


@pytest.mark.parametrize("call,error", EACH, ids=IDS)
def test_a_result_or_a_refusal_that_names_it(deny, call, error):
    p, doc = started(deny(error, call))
    if doc["status"] == "OK":
        assert doc["stdout"] == "ran\n" and p.returncode == 0
        missing = [name for name, e in doc["enforced"].items() if e["requested"] is not None and not e["applied"]]
        assert not missing, missing
    else:
        assert (p.returncode, doc["status"], doc["stdout"]) == (125, "INTERNAL_ERROR", "")
        assert CALLS[call] in p.stderr.decode() and CALLS[call] in doc["reason"], p.stderr
        assert not any(e["applied"] for e in doc["enforced"].values())


def attack(prefix, call, capabilities):
    """With --allow-partial, so that the second tier is attacked where it steps in."""
    _, doc = started(prefix, "--allow-partial", "--quiet")
    if doc["status"] == "INTERNAL_ERROR":
        assert CALLS[call] in doc["reason"] and not any(e["applied"] for e in doc["enforced"].values()), doc
        return
    p = subprocess.run([PYTHON, str(HERE / "vm/ledger.py"), "--cordon", BIN, "--table",
                        "--prefix", " ".join(prefix), "--only", ",".join(capabilities)],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert p.returncode == 0, p.stdout + p.stderr


@pytest.fixture(scope="module")
def attacks(deny):
    """Three at a time: most of them wait for limits to be reached."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        yield {case: pool.submit(attack, deny(case[1], case[0]), case[0], CAPABILITIES if case in LONG else QUICK)
               for case in EACH}


@pytest.mark.parametrize("call,error", EACH, ids=IDS)
def test_what_is_claimed_holds(attacks, call, error):
    attacks[call, error].result()


@pytest.mark.parametrize("error", ["ENOSYS", "EPERM"])
@pytest.mark.parametrize("tier", [[], ["newuser=EPERM"]], ids=["namespaces", "without"])
@pytest.mark.parametrize("profile", ["stage", "test", "limits"])
def test_without_notifications(refuse, place, profile, tier, error):
    """seccomp() works, but gives no descriptor for notifications."""
    p = subprocess.run([refuse, *tier, f"listener={error}", "--", BIN, "run", "--json", "--profile", profile, "--quiet",
                        "--allow-partial", "--", PYTHON, "-c", "import os; print('ran'); os.fork()"], env=ENV,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, cwd=place)
    doc = json.loads(p.stdout)
    check_document(doc)
    if doc["status"] == "INTERNAL_ERROR":
        assert any(word in doc["reason"] for word in ("seccomp", "notif", "listener")), doc["reason"]
        assert not any(e["applied"] for e in doc["enforced"].values())
    else:
        assert doc["status"] == "OK" and "ran" in doc["stdout"], doc
        assert doc["enforced"]["pids"]["mechanism"] != "fork gate" or not doc["enforced"]["pids"]["applied"]


def black_box_suite(prefix, call):
    if started(prefix)[1]["status"] != "OK":
        return  # refused, as the first test here shows
    p = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=short",
                        "-k", OWN.get(call, ""), *[str(HERE / name) for name in FILES]], cwd=HERE,
                       env={**os.environ, "CORDON_TEST_PREFIX": " ".join(prefix), "CORDON_TEST_EXTRA": "--backend native"},
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
    assert p.returncode == 0, p.stdout.decode()[-3000:]


@pytest.fixture(scope="module")
def suites(deny):
    """As above."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        yield {(call, error): pool.submit(black_box_suite, deny(error, call), call) for call, error in LONG}


@pytest.mark.parametrize("call,error", LONG if ALL else [
    pytest.param("", "", marks=pytest.mark.skip(reason="make check-all runs the black-box files under each refusal"))])
def test_the_black_box_suite(suites, call, error):
    suites[call, error].result()
