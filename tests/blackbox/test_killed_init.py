"""Init is killed from outside while the payload runs."""
import json
import os
import signal
import subprocess

from support import BIN, ENV, eventually


def test_a_run_whose_init_was_killed_has_run():
    """Something outside kills init: the payload had started, and the ledger must not deny it."""
    with subprocess.Popen([BIN, "run", "--json", "--wall", "20s", "--", "sleep", "15"], env=ENV,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:
        def children(pid):
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                return f.read().split()

        def payload_runs():
            return any(open(f"/proc/{kid}/comm", encoding="ascii").read() == "sleep\n"
                       for init in children(p.pid) for kid in children(init))

        assert eventually(payload_runs)
        os.kill(int(children(p.pid)[0]), signal.SIGKILL)
        doc = json.loads(p.communicate(timeout=20)[0])
    assert doc["status"] == "KILLED_KILL" and "outside" in doc["reason"]
    for name, entry in doc["enforced"].items():
        assert "nothing ran" not in entry["details"], name
    assert doc["enforced"]["filesystem"]["applied"]
