"""Calls that nobody inside needs: known and forbidden answers EPERM, unknown ones ENOSYS."""
from support import inside, outside, run

CODE = """
buf = ctypes.create_string_buffer(256)
say({'bpf': sc('bpf', 0, buf, 120), 'perf': sc('perf_event_open', buf, 0, -1, -1, 0),
     'userfaultfd': sc('userfaultfd', 0), 'init_module': sc('init_module', buf, 1, b''),
     'sethostname': sc('sethostname', b'x', 1), 'unknown': sc(1999, 0)})
"""


def test_kernel_surface():
    assert outside(CODE).answer["unknown"] == "ENOSYS"
    r = inside(CODE).answer
    assert r.pop("unknown") == "ENOSYS"
    for name, why in r.items():
        assert why in ("EPERM", "ENOSYS"), name


def test_the_strict_filter_still_runs_programs():
    r = run("--seccomp", "strict", "--", "sh", "-c", "echo x | cat")
    assert r.doc["stdout"] == "x\n", r.told()


def test_dangerous_ioctls_compare_32_bits():
    """The kernel looks at 32 bits of the request: high bits must not slip past the filter."""
    code = """
import fcntl
r = [sc(16 if os.uname().machine == 'x86_64' else 29, 0, 0x5412 | h, b'x') for h in (0, 1 << 32)]
say(r)
"""
    r = inside(code).answer
    assert all(isinstance(x, str) and x in ("EPERM", "ENOTTY") for x in r), r
    assert r[0] == r[1]
