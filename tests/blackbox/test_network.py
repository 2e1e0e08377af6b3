"""The network: I17, I18, P29."""
import os
import socket

import pytest

from support import inside, outside


@pytest.fixture
def listener():
    """A server on the host's loopback."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        yield s.getsockname()[1]


def connect(port):
    return f"say(tried(lambda: socket.create_connection(('127.0.0.1', {port}), 3)))"


def test_i17_none_and_host(listener):
    assert outside(connect(listener)).answer == "ok"
    assert inside(connect(listener)).answer in ("ENETUNREACH", "ECONNREFUSED", "EPERM", "EACCES",
                                                "EAFNOSUPPORT")
    assert inside(connect(listener), "--net", "host").answer == "ok"


def test_i17_none_has_no_route_and_no_names():
    code = """
try:
    socket.getaddrinfo('example.com', 80); dns = 'ok'
except OSError as e: dns = 'fails'
s = tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9)))
up = [l.split(':')[0].strip() for l in open('/proc/net/dev') if ':' in l]
say([dns, s, up])
"""
    dns, send, devices = inside(code).answer
    assert dns == "fails" and send != "ok" and set(devices) <= {"lo"}


def test_loopback_is_the_sandbox_own(listener):
    code = f"""
def own():
    s = socket.create_server(('127.0.0.1', 0))
    c = socket.create_connection(s.getsockname(), 3)
    c.sendall(b'x')
    assert s.accept()[0].recv(1) == b'x'
def away():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))
say([tried(own), tried(lambda: socket.create_connection(('127.0.0.1', {listener}), 3)),
     tried(away)])
"""
    own, host, away = inside(code, "--net", "loopback").answer
    assert own == "ok" and host == "ECONNREFUSED" and away == "ENETUNREACH"


FOUR = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs"]


def test_i18_files_for_the_network_only_with_a_network():
    code = f"say([os.path.exists(p) for p in {FOUR!r}])"
    assert inside(code).answer == [False] * 4
    assert inside(code, "--net", "host").answer == [os.path.exists(p) for p in FOUR]


def test_i18_localhost_resolves_with_a_network():
    if not os.path.exists("/etc/hosts"):
        pytest.skip("this machine has no /etc/hosts")
    code = "say(sorted({a[4][0] for a in socket.getaddrinfo('localhost', 80)}))"
    assert inside(code, "--net", "host").answer == outside(code).answer


def test_unix_sockets_of_ones_own_work():
    """socketpair and a path socket in /work: what make, node and python's asyncio use."""
    inside("""
a, b = socket.socketpair(); a.sendall(b'x'); assert b.recv(1) == b'x'
import asyncio; asyncio.run(asyncio.sleep(0))
say(1)
""")
