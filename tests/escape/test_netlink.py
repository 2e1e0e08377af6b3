"""Netlink configures the network and reports the host's devices and events."""
import pytest

from support import inside, outside

OTHERS = "say([tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, p)) " \
         "for p in (2, 4, 6, 9, 10, 11, 12, 15, 16, 20)])"
# Route netlink (protocol 0) may exist: the C library asks it for addresses. What it can do then
# is the question: RTM_NEWLINK with IFF_UP on interface 1.
UP = """
def up():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    body = struct.pack('=BxHiII', 0, 0, 1, 1, 1)
    s.send(struct.pack('=IHHII', 16 + len(body), 16, 5, 1, 0) + body)
    code = struct.unpack('=i', s.recv(4096)[16:20])[0]
    if code: raise OSError(-code, 'refused')
say(tried(up))
"""
LINKS = """
def links():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.send(struct.pack('=IHHII', 20, 18, 0x301, 1, 0) + bytes(4))
    found, data = [], s.recv(65536)
    while data:
        size, kind = struct.unpack('=IH', data[:6])
        if kind == 16: found.append(struct.unpack('=i', data[20:24])[0])
        data = data[(size + 3) & ~3:]
    return found
try: say(links())
except OSError as e: say(errno.errorcode[e.errno])
"""
REFUSED = {"EPERM", "EAFNOSUPPORT", "EACCES", "EPROTONOSUPPORT"}


@pytest.mark.parametrize("net", ["none", "loopback", "host"])
def test_other_protocols(net):
    assert "ok" in outside(OTHERS).answer
    assert set(inside(OTHERS, "--net", net).answer) <= REFUSED


@pytest.mark.parametrize("net", ["none", "loopback", "host"])
def test_nothing_can_be_configured(net):
    assert outside(UP, wrap=["unshare", "-Urn"]).answer == "ok"
    assert inside(UP, "--net", net).answer in REFUSED


def test_the_hosts_interfaces_are_not_seen():
    assert outside(LINKS).answer
    assert inside(LINKS).answer in ([1], "EPERM", "EAFNOSUPPORT", "EACCES")
