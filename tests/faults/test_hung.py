"""A file system that does not answer: whoever asks it waits in the kernel, where no signal comes."""
import json
import os
import subprocess

import pytest

from support import BIN, ENV, PYTHON, ROOT

# In a mount namespace of its own, because whoever looks there hangs. The server answers what a mount needs;
# a look for a name it has read already when it falls silent, as one does whose other end is gone.
WORLD = r"""
import ctypes, os, struct, subprocess, sys, threading
directory, silence, argv = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
device = os.open("/dev/fuse", os.O_RDWR)
LOOKUP, FORGET, GETATTR, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 26, 36, 42
ENOENT, ENOSYS = 2, 38
asked = threading.Event()

def answer(unique, error, body=b""):
    os.write(device, struct.pack("=IiQ", 16 + len(body), -error, unique) + body)

def handle(opcode, unique):
    if opcode == INIT:
        answer(unique, 0, struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 12, 9, 4096, 1, 0, 0, 0))
    elif opcode == GETATTR:
        answer(unique, 0, struct.pack("=QII6Q10I", 3600, 0, 0, 1, *[0] * 8, 0o40777, 2, 0, 0, 0, 4096, 0))
    elif opcode == LOOKUP:
        asked.set()
        threading.Timer(silence, answer, (unique, ENOENT)).start()
    elif opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
        answer(unique, ENOSYS)

def serve():
    while True: handle(*struct.unpack_from("=4xIQ", os.read(device, 1 << 17)))

options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
assert ctypes.CDLL(None).mount(b"hung", directory.encode(), b"fuse", 0, options) == 0
threading.Thread(target=serve, daemon=True).start()
with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as p:
    try:
        p.wait(40)
    except subprocess.TimeoutExpired:
        p.kill()
        os._exit(99) # with this process the server ends, and everybody gets an error
os._exit(0 if asked.is_set() else 98)
"""

pytestmark = pytest.mark.skipif(not ROOT or not os.path.exists("/dev/fuse"), reason="root alone may use /dev/fuse")


def guarded(place, command, wall, silence):
    """The result of a run in guard mode; {hung} in the command is the directory that does not answer."""
    hung = place / "hung"
    hung.mkdir()
    result = place / "result.json"
    p = subprocess.run(["unshare", "-m", PYTHON, "-c", WORLD, hung, str(silence), BIN, "run", "--profile", "test",
                        "--quiet", "--wall", wall, "--grace", "0", "--result", result, "--", "sh", "-c",
                        command.format(hung=hung)], env=ENV, cwd=place, timeout=60, check=False)
    assert p.returncode == 0, "98: it was never asked; 99: the run did not end"
    return json.loads(result.read_text())


@pytest.mark.parametrize("wall, status", [("2s", "TIMEOUT"), ("60s", "INTERNAL_ERROR")])
def test_a_listener_that_is_held_keeps_nobody(place, wall, status):
    """Not the clock, which ends the run before; nor the supervisor, which gives it up after ten seconds.

    What writes there waits for the listener, which waits in the file system. The command itself never goes there.
    """
    doc = guarded(place, "(echo x >{hung}/name) & exec sleep 50", wall, 3600)
    assert doc["status"] == status and doc["enforced"]["processes"]["applied"]


def test_a_command_that_dies_late_did_not_keep_the_limit(place):
    doc = guarded(place, "cat {hung}/name", "1s", 10)
    assert doc["status"] == "TIMEOUT" and doc["duration_ms"] > 8000
    assert not doc["enforced"]["wall_time"]["applied"], doc["enforced"]["wall_time"]
    assert doc["enforced"]["processes"]["applied"]
