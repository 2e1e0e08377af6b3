"""ptrace, process_vm_readv and pidfd_getfd take over another process."""
import pytest

from support import inside, outside

CODE = """
def on(pid):
    buf = ctypes.create_string_buffer(8)
    iov = struct.pack('<2Q', ctypes.addressof(buf), 8)
    far = struct.pack('<2Q', addr, 8)
    fd = sc('pidfd_open', pid, 0)
    return {'seize': sc('ptrace', 0x4206, pid, 0, 0),
            'read': sc('process_vm_readv', pid, iov, 1, far, 1, 0),
            'getfd': sc('pidfd_getfd', fd, 0, 0) if isinstance(fd, int) else fd}
"""
CONTROL = CODE + """
addr = id(errno) & ~7
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.read(r, 1); os._exit(0)
say(on(pid)); os.kill(pid, 9); os.waitpid(pid, 0)
"""


@pytest.mark.parametrize("options", [[], ["--seccomp", "off", "--allow-partial"]],
                         ids=["filter", "no filter"])
def test_ptrace_init(options):
    control = outside(CONTROL).answer
    assert control["seize"] == 0 and control["read"] == 8, control
    for name, why in inside(CODE + "addr = 4096\nsay(on(1))", *options).answer.items():
        assert why in ("EPERM", "ENOSYS", "EACCES"), name
