"""int 0x80 enters the kernel by the 32-bit table: other numbers, past a 64-bit filter."""
import subprocess

import pytest

from support import run


@pytest.mark.parametrize("what", ["getpid", "socket"])
def test_int80(probes, what):
    control = subprocess.run([probes / "int80", what], stdout=subprocess.PIPE, check=False)
    works = control.returncode == 0 and control.stdout.strip().lstrip(b"-").isdigit() and \
        int(control.stdout) > 0
    r = run("--ro", f"{probes}:/probes", "--", "/probes/int80", what)
    if r.doc["status"] == "OK":
        assert int(r.doc["stdout"]) in (-1, -38), r.told()  # EPERM, ENOSYS
    else:
        assert r.doc["status"] in ("FORBIDDEN_SYSCALL", "SIGNALED"), r.told()
        assert r.rc == 159 or not works, r.told()
    if not works:
        pytest.skip("this kernel has no 32-bit entry: the refusal inside was checked")
