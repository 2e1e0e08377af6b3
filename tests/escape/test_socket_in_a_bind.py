"""connect() works through a read-only mount: a daemon's socket in a bind is a way out."""
import os
import socket

import pytest

from support import inside, outside

CODE = "say(tried(lambda: socket.socket(socket.AF_UNIX).connect({path!r})))"


@pytest.mark.parametrize("net", ["none", "host"])
def test_socket_in_a_bind(place, net):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(place / "s"))
        s.listen(4)
        os.chmod(place / "s", 0o777)
        assert outside(CODE.format(path=str(place / "s"))).answer == "ok"
        r = inside(CODE.format(path="/d/s"), "--ro", f"{place}:/d", "--net", net,
                   "--allow-partial")
    entry = r.doc["enforced"]["ipc"]
    if r.answer == "ok":
        assert "socket" in entry["details"], "open, and not said"
    else:
        assert r.answer in ("EPERM", "EACCES", "EAFNOSUPPORT", "ECONNREFUSED"), r.answer


def test_sockets_of_daemons_are_not_in_the_view():
    r = inside("say([os.path.exists(p) for p in ('/run', '/var/run', '/tmp/.X11-unix')])")
    assert r.answer == [False] * 3
