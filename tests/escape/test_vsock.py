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
    for net in ("none", "host"):
        for kind in ("SOCK_STREAM", "SOCK_RAW", "SOCK_DGRAM", "SOCK_SEQPACKET"):
            why = inside(f"say(tried(lambda: socket.socket({family[1]}, socket.{kind})))",
                         "--net", net).answer
            assert why in ("EPERM", "EAFNOSUPPORT", "EACCES"), (net, kind)
