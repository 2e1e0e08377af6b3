"""AF_VSOCK goes past a network namespace to the hypervisor."""
import pytest

from support import inside, outside

CODE = "say(tried(lambda: socket.socket(40, socket.SOCK_STREAM)))"


@pytest.mark.parametrize("net", ["none", "loopback", "host"])
def test_vsock(net):
    control = outside(CODE).answer
    assert inside(CODE, "--net", net).answer in ("EPERM", "EAFNOSUPPORT", "EACCES")
    if control != "ok":
        pytest.skip(f"this kernel has no AF_VSOCK ({control}): the refusal inside was checked")


@pytest.mark.parametrize("family", [
    ("AF_PACKET", 17), ("AF_BLUETOOTH", 31), ("AF_ALG", 38), ("AF_CAN", 29), ("AF_XDP", 44),
    ("AF_TIPC", 30), ("AF_KEY", 15), ("AF_RXRPC", 33), ("AF_QIPCRTR", 42), ("AF_AX25", 3)],
    ids=lambda f: f[0])
def test_other_families(family):
    """Families beyond unix and inet are large pieces of the kernel that nobody asked for."""
    code = "say([tried(lambda: socket.socket(%d, kind)) for kind in " \
           "(socket.SOCK_STREAM, socket.SOCK_RAW, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)])"
    for net in ("none", "host"):
        why = inside(code % family[1], "--net", net).answer
        assert len(why) == 4 and set(why) <= {"EPERM", "EAFNOSUPPORT", "EACCES"}, (net, why)
