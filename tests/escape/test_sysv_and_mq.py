"""System V memory and POSIX queues of the host have names that every process may use."""
import ctypes
import os
import secrets

import pytest

from support import inside, marker, outside

libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def key():
    value = secrets.randbelow(1 << 30) + 1
    ident = libc.shmget(value, 4096, 0o1666)
    if ident < 0:
        pytest.skip("this kernel has no System V shared memory")
    yield value
    libc.shmctl(ident, 0, None)


def test_sysv_shared_memory(key):
    code = f"say(sc('shmget', {key}, 0, 0))"
    assert isinstance(outside(code).answer, int)
    assert inside(code).answer in ("ENOENT", "ENOSYS")
    assert inside(code, "--seccomp", "off", "--allow-partial").answer in ("ENOENT", "ENOSYS")
    assert inside("say(sum(1 for _ in open('/proc/sysvipc/shm')))").answer == 1


@pytest.mark.parametrize("call", ["msgget", "semget"])
def test_sysv_queues_and_semaphores(call):
    value = secrets.randbelow(1 << 30) + 1
    if call == "msgget":
        ident = libc.msgget(value, 0o1666)
        code = f"say(sc('msgget', {value}, 0))"
    else:
        ident = libc.semget(value, 1, 0o1666)
        code = f"say(sc('semget', {value}, 0, 0))"
    try:
        assert isinstance(outside(code).answer, int)
        assert inside(code).answer in ("ENOENT", "ENOSYS")
    finally:
        if call == "msgget":
            libc.msgctl(ident, 0, None)
        else:
            libc.semctl(ident, 0, 0)


def test_posix_queues():
    name = marker()
    code = f"say(sc('mq_open', {name!r}.encode(), 0, 0, 0))"
    rt = libc if hasattr(libc, "mq_open") else ctypes.CDLL("librt.so.1", use_errno=True)
    queue = rt.mq_open(b"/" + name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
    if queue < 0:
        pytest.skip("this kernel has no POSIX message queues")
    try:
        assert isinstance(outside(code).answer, int)
        assert inside(code).answer in ("ENOENT", "ENOSYS", "EPERM")
        assert inside(code, "--seccomp", "off", "--allow-partial").answer in ("ENOENT", "ENOSYS")
    finally:
        rt.mq_unlink(b"/" + name.encode())
