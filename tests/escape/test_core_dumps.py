"""A crash writes the payload's memory, or runs the host's core handler."""
import os
import resource
import subprocess

import pytest

from support import BIN, ENV, inside, outside, run


def test_core_dumps(place):
    raise_it = "resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))\n"
    assert outside("import resource\n" + raise_it + "say(1)", preexec_fn=None).answer == 1
    r = inside("import resource\n" + raise_it + "say(resource.getrlimit(resource.RLIMIT_CORE))")
    assert r.answer == [1, 1]  # too small for a file; and only 1 stops a pipe to the host's handler
    r = run("--rw", f"{place}:/d", "--cwd", "/d", "--", "sh", "-c",
            "ulimit -c unlimited; kill -SEGV $$")
    assert r.doc["status"] in ("SIGNALED", "NONZERO_EXIT")
    assert os.listdir(place) == []


@pytest.mark.parametrize("how", ["resource.setrlimit(4, (0, 0))", "resource.setrlimit(4, (0, 1))",
                                 "sc(160 if os.uname().machine == 'x86_64' else 164, 4, bytes(16))",
                                 "resource.prlimit(0, 4, (0, 0))"])
def test_nobody_lowers_the_limit_that_stops_the_handler(how):
    """To 0, which is no core file either, but lets the kernel run the program of core_pattern as root again."""
    code = f"import resource\n{how}\nsay(resource.getrlimit(4))"
    assert outside(code).answer[0] == 0, "the control"
    assert inside(code).answer == [1, 1]


def test_who_wants_no_core_file_is_not_disturbed():
    assert run("--", "sh", "-ec", "ulimit -c 0; echo went on").text == "went on\n"


def test_core_limit_of_the_caller_does_not_matter(place):
    def unlimited():
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    p = subprocess.run([BIN, "run", "--", "sh", "-c", "ulimit -c"], env=ENV, cwd=place,
                       preexec_fn=unlimited, stdout=subprocess.PIPE, check=True)
    assert p.stdout == b"0\n"


def test_core_pattern_is_not_writable():
    r = inside("say([tried(lambda: open('/proc/sys/kernel/core_pattern', 'w')), "
               "tried(lambda: open('/proc/self/coredump_filter', 'w').write('0'))])")
    assert r.answer[0] in ("EROFS", "EACCES", "EPERM", "ENOENT")
