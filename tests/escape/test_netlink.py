"""Netlink configures the network and reports the host's devices."""
import pytest

from support import inside, outside

CODE = "say([tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, p)) " \
       "for p in (0, 4, 9, 12, 15, 16)])"


@pytest.mark.parametrize("net", ["none", "host"])
def test_netlink(net):
    assert outside(CODE).answer[0] == "ok"
    assert set(inside(CODE, "--net", net).answer) <= {"EPERM", "EAFNOSUPPORT", "EACCES"}
