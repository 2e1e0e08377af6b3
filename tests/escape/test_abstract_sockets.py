"""Abstract unix sockets have no file and belong to the network namespace: D-Bus, X11, agents."""
import socket

import pytest

from support import inside, marker, outside


@pytest.fixture
def name():
    word = marker()
    with socket.socket(socket.AF_UNIX) as s, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as d:
        s.bind("\0" + word)
        s.listen(4)
        d.bind("\0" + word + "d")
        yield word


def code(name):
    return f"""
def stream(): socket.socket(socket.AF_UNIX).connect('\\0' + {name!r})
def dgram(): socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0' + {name + 'd'!r})
say([tried(stream), tried(dgram)])
"""


@pytest.mark.parametrize("net", ["none", "loopback", "host"])
def test_abstract_sockets(name, net):
    assert outside(code(name)).answer == ["ok", "ok"]
    r = inside(code(name), "--net", net, *(["--allow-partial"] if net == "host" else []))
    ipc = r.doc["enforced"]["ipc"]
    if net == "host" and "but abstract sockets" in ipc["requested"]:
        pytest.skip("Landlock here has no scopes; the ledger asks for less, in words")
    claimed = ipc["applied"]
    if claimed:
        for why in r.answer:
            assert why in ("ECONNREFUSED", "EPERM", "EACCES", "EAFNOSUPPORT"), net
    else:
        assert net == "host", "only the host's network may share them, and then it is said"
        assert "socket" in r.doc["enforced"]["ipc"]["details"]
