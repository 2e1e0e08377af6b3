"""io_uring performs system calls that a filter never sees."""
import pytest

from support import inside, outside

CODE = "say(sc('io_uring_setup', 4, ctypes.create_string_buffer(120)))"


def test_io_uring():
    control = outside(CODE).answer
    assert inside(CODE).answer in ("EPERM", "ENOSYS")
    if not isinstance(control, int):
        pytest.skip(f"this kernel has io_uring switched off ({control}): the refusal was checked")
