"""Output without end fills the caller's memory or disk."""
import subprocess

from support import BIN, ENV, run


def test_output_flood():
    r = run("--", "sh", "-c", "yes | head -c 60000000; yes | head -c 60000000 >&2")
    assert r.doc["status"] == "OK"
    assert r.doc["stdout_bytes"] == r.doc["stderr_bytes"] == 60000000
    assert len(r.doc["stdout"]) < (1 << 20) + 200 and len(r.doc["stderr"]) < (1 << 20) + 200


def test_the_supervisor_stays_small():
    """Its peak resident size, with 60 MB passing by and two filled caps."""
    code = "import resource, subprocess, sys\n" \
           "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n" \
           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    p = subprocess.run(["/usr/bin/python3", "-c", code, BIN, "run", "--json", "--", "sh", "-c",
                        "yes | head -c 60000000"], env=ENV, stdout=subprocess.PIPE, check=True)
    assert int(p.stdout) < 40 * 1024, "KiB; sh and yes included, far from 60 MB"


def test_flood_ends_with_the_wall():
    r = run("--wall", "500ms", "--grace", "200ms", "--", "yes")
    assert r.doc["status"] == "TIMEOUT" and r.seconds < 20
