"""The caller's environment (tokens, keys) is found nowhere in what the payload can read."""
import os

import pytest

from support import inside, marker, outside

SEARCH = """
word = {word!r}[::-1].encode()
hits, read = [], 0
for top, dirs, files in os.walk('/proc'):
    depth = top.count('/')
    if depth > 5: dirs[:] = []
    for name in files:
        path = top + '/' + name
        if name in ('kmsg', 'trace_pipe', 'kpagecount', 'kpageflags', 'kpagecgroup', 'pagemap',
                    'kcore', 'clear_refs', 'sysrq-trigger', 'mem'): continue
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError: continue
        try:
            data = os.read(fd, 1 << 20); read += 1
        except OSError: continue
        finally: os.close(fd)
        if word in data: hits.append(path)
def memory(pid):
    n = 0
    try:
        for line in open(f'/proc/{{pid}}/maps'):
            a, b = (int(x, 16) for x in line.split()[0].split('-'))
            if '[v' in line or b - a > 64 << 20: continue
            with open(f'/proc/{{pid}}/mem', 'rb', 0) as m:
                try:
                    m.seek(a); n += m.read(b - a).count(word)
                except OSError: pass
    except OSError as e: return errno.errorcode[e.errno]
    return n
say([hits, read, [memory(p) for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]])
"""


def test_environment_is_found_nowhere():
    word = marker()
    code = SEARCH.format(word=word[::-1])  # reversed: else the probe's own text is found
    control = f"""
import subprocess
p = subprocess.Popen(['sleep', '60'])
end = time.monotonic() + 5  # until it has called exec
while {word[::-1]!r}[::-1] not in open(f'/proc/{{p.pid}}/environ').read():
    assert time.monotonic() < end
say(True); p.kill()
"""
    assert outside(control, env={"SECRET_TOKEN": word}).answer is True
    hits, _, _ = inside(code, "--env", "SECRET_TOKEN", env={"SECRET_TOKEN": word}).answer
    assert any(hit.endswith("/environ") for hit in hits), "the control: where it is, the search finds it"
    hits, read, memory = inside(code, env={"SECRET_TOKEN": word}).answer
    assert read > 50, "the search looked at something"
    assert hits == []
    assert all(m in (0, "EACCES", "EPERM", "ENOENT") for m in memory), memory


@pytest.mark.parametrize("options", [["--seccomp", "off", "--allow-partial"],
                                     ["--uid", "caller"], ["--net", "host"]])
def test_environment_is_found_nowhere_with(options):
    word = marker()
    hits, read, _ = inside(SEARCH.format(word=word[::-1]), *options,
                           env={"SECRET_TOKEN": word}).answer
    assert read > 50 and hits == []


def test_nothing_of_the_caller_in_mounts_or_cgroup(place):
    """Paths of the host that the policy did not name: of a bind the kernel shows the one that it did."""
    code = "say([open('/proc/self/mountinfo').read(), open('/proc/self/cgroup').read()])"
    assert str(place) in inside(code, "--ro", f"{place}:/d").answer[0], "the control"
    mountinfo, cgroup = inside(code).answer
    assert str(place.parent) not in mountinfo and os.environ.get("HOME", "/none") not in mountinfo
    assert {line.split(":", 2)[2] for line in cgroup.splitlines()} == {"/"}
