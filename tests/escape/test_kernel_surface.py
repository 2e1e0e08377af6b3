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
    code = "say([sc(16 if os.uname().machine == 'x86_64' else 29, 0, 0x5412 | h, b'x') for h in (0, 1 << 32)])"
    assert outside(code).answer == ["ENOTTY"] * 2, "the control: it gets to the device, which is none"
    assert inside(code).answer == ["EPERM"] * 2


def test_no_lease_on_a_file_of_the_hosts(place):
    """It needs no right to write, and everybody who opens the file then waits for the lease's end."""
    (place / "f").write_text("x")
    code = f"""
import fcntl
fd = os.open({str(place / "f")!r}, os.O_RDONLY)
say([tried(fcntl.fcntl, fd, fcntl.F_SETLEASE, kind) for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK)] +
    [tried(fcntl.fcntl, fd, command) for command in (fcntl.F_GETLEASE, fcntl.F_GETFL)])
"""
    assert outside(code).answer == ["ok"] * 4, "the control"
    assert inside(code, "--ro", place).answer == ["EPERM"] * 2 + ["ok"] * 2
    delegation = f"import fcntl\nsay(tried(fcntl.fcntl, os.open({str(place)!r}, os.O_RDONLY), 1024 + 16, bytes(8)))"
    assert outside(delegation).answer in ("ok", "EINVAL"), "the control: 6.19 has it, also for directories"
    assert inside(delegation, "--ro", place).answer == "EPERM"
