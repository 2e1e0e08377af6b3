"""A device node made inside opens the host's disk."""
import os

import pytest

from support import ROOT, inside, outside

CODE = """
say([sc('mknodat', -100, (d + '/null').encode(), 0o020666, os.makedev(1, 3)),
     sc('mknodat', -100, (d + '/disk').encode(), 0o060666, os.makedev(8, 0)),
     tried(os.open, d + '/null', os.O_WRONLY)])
"""


def test_mknod(place):
    for d, options in (("/tmp", []), ("/d", ["--rw", f"{place}:/d"]),
                       ("/tmp", ["--seccomp", "off", "--allow-partial"]),
                       ("/d", ["--rw", f"{place}:/d", "--uid", "caller"])):
        node, disk, opened = inside(f"d = {d!r}" + CODE, *options).answer
        assert {node, disk} <= {"EPERM", "EACCES"} and opened == "ENOENT", d
    if not ROOT:
        pytest.skip("only root can make a node outside: the refusal inside was checked")
    assert outside(f"d = {str(place)!r}" + CODE).answer[0] == 0


def test_a_node_in_a_bind_is_dead(place):
    """nodev on binds: a node that the host has there does not work inside."""
    if not ROOT:
        pytest.skip("only root can make a node")
    os.mknod(place / "zero", 0o020666, os.makedev(1, 5))
    os.chmod(place / "zero", 0o666)
    code = "say(tried(lambda: open(%r, 'rb').read(1)))"
    assert outside(code % str(place / "zero")).answer == "ok"
    for kind in ("--ro", "--rw"):
        assert inside(code % "/d/zero", kind, f"{place}:/d").answer in ("EACCES", "EPERM")
