"""--cpus: P31."""
import json

from support import PRELUDE, PYTHON, cordon

# Cores that were used, over more than a second; the periods of the kernel's quota are tenths of one.
BUSY = """
import time
begin, used = time.monotonic(), time.process_time()
while time.monotonic() < begin + 1.5: pass
say((time.process_time() - used) / (time.monotonic() - begin))
"""


def document(*args):
    return json.loads(cordon("run", "--json", *args).out)


def test_p31_only_if_asked_for():
    assert "cpu_rate" not in document("--", "true")["enforced"]
    assert "cpu_rate" not in document("--cpus", "none", "--", "true")["enforced"]


def test_p31_cores_of_the_tree():
    r = cordon("run", "--cpus", "0.25", "--", PYTHON, "-c", "print('ran')")
    if r.rc == 125:  # no cgroup that the caller may write
        assert r.out == b"" and b"'cpu_rate'" in r.err, r.told()
        entry = document("--cpus", "0.25", "--allow-partial", "--", "true")["enforced"]["cpu_rate"]
        assert entry["requested"] == 0.25 and entry["applied"] is False and entry["details"], entry
        return
    assert r.out == b"ran\n", r.told()
    doc = document("--cpus", "0.25", "--", PYTHON, "-c", PRELUDE + BUSY)
    entry = doc["enforced"]["cpu_rate"]
    assert entry["requested"] == 0.25 and entry["applied"] is True and entry["mechanism"].startswith("cgroup"), entry
    assert doc["status"] == "OK" and json.loads(doc["stdout"]) < 0.4, "more than a quarter of a core"
