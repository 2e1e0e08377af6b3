"""Huge pages are in no resident size and in no memory cgroup: nothing inside may have any."""
import pathlib

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


# Of each only a part is given back: the kernel keeps the whole page, and no count of this process shows it.
TRANSPARENT = """
import mmap, re
sc('prctl', 41, 0, 0, 0, 0)
m = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
advised = tried(m.madvise, mmap.MADV_HUGEPAGE)
for at in range(0, 16 << 20, 2 << 20): m[at] = 1
huge = int(re.search(r'AnonHugePages: *(\\d+)', open('/proc/self/smaps_rollup').read())[1])
say([advised, huge, sc('prctl', 42, 0, 0, 0, 0), sc('prctl', 41, 0, 0, 0, 0)])
"""


def test_transparent_huge_pages():
    """Where a watcher counts: a memory cgroup knows them."""
    enabled = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not enabled.exists() or "[never]" in enabled.read_text():
        pytest.skip("this kernel gives nobody huge pages")
    control = outside(TRANSPARENT).answer
    assert control[1] > 0 and control[2:] == [0, 0], control
    seen = inside(TRANSPARENT, "--mem", "256M")
    if seen.doc["enforced"]["memory"]["mechanism"] == "watcher":
        assert seen.answer[1:] == [0, 1, "EINVAL"], seen.answer
    else:
        assert seen.answer[1] > 0, "a cgroup counts them: they are no danger"
