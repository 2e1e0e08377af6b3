"""Kernel settings by /proc/sys and /sys: core_pattern alone is a way to run code as root."""
from support import ROOT, inside, outside

PATHS = ["kernel/core_pattern", "kernel/hostname", "kernel/domainname", "vm/overcommit_memory",
         "fs/suid_dumpable", "net/ipv4/ip_forward", "net/ipv4/ping_group_range",
         "kernel/ns_last_pid", "kernel/msgmax", "user/max_user_namespaces"]
CODE = f"""
r = {{p: tried(lambda: os.open('/proc/sys/' + p, os.O_WRONLY)) for p in {PATHS!r}}}
for p in ('sysrq-trigger', 'self/oom_score_adj', 'self/uid_map', 'self/attr/exec', 'irq', 'bus'):
    r[p] = tried(lambda: open('/proc/' + p, 'w'))
r['/sys'] = tried(os.listdir, '/sys')
say(r)
"""


def test_proc_sys():
    control = outside(CODE, wrap=["unshare", "-Urn"]).answer
    assert control["net/ipv4/ip_forward"] == "ok", control
    if ROOT:
        assert outside(CODE).answer["kernel/core_pattern"] == "ok"
    for options in ([], ["--uid", "caller"], ["--seccomp", "off", "--allow-partial"],
                    ["--net", "loopback"]):
        r = inside(CODE, *options).answer
        for path in PATHS:
            assert r[path] in ("EROFS", "EACCES", "EPERM", "ENOENT"), (path, options)
        assert r["sysrq-trigger"] in ("EROFS", "EACCES", "EPERM", "ENOENT")
        assert r["/sys"] == "ENOENT"


def test_own_oom_score_only_rises():
    """The payload's own score is its own business, but it may not go below where it began."""
    code = "fd = os.open('/proc/self/oom_score_adj', os.O_WRONLY)\nsay(tried(os.write, fd, {!r}))"
    assert outside(code.format(b"500")).answer == "ok"
    assert inside(code.format(b"-1000")).answer in ("EACCES", "EPERM")
