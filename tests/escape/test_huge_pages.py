"""Huge pages are in no resident size and in no memory cgroup: nothing inside may have any."""
import pytest

from support import inside, outside

# Nothing is reserved, so that the control works on a host whose pool is empty.
WAYS = {
    "mmap": "import mmap\nsay(tried(lambda: mmap.mmap(-1, 2 << 20, flags=0x44022, prot=0)))",
    "memfd_create": "say(tried(os.memfd_create, 'x', 4))",
    "shmget": "r = sc('shmget', 0, 2 << 20, 0o1600 | 0o4000 | 0o10000)\nsay('ok' if isinstance(r, int) else r)",
}


@pytest.mark.parametrize("how", WAYS)
def test_huge_pages(how):
    control = outside(WAYS[how]).answer
    if control == "EPERM" and how == "shmget":
        control = "ok"  # the kernel keeps it for root and one group; inside it is not even asked
    assert control == "ok"
    answer = inside(WAYS[how], "--mem", "256M").answer
    assert answer in ("ENOMEM", "ENOSYS"), answer
