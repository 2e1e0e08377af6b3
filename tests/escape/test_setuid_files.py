"""A setuid program left in a writable bind waits there for somebody outside to start it."""
import os
import shutil
import stat
import subprocess

import pytest

from support import BIN, ENV, ROOT, inside, outside

CODE = """
d = {d!r}
open(d + '/f', 'w').close(); os.chmod(d + '/f', 0o755)
def flags(path):
    try: return oct(os.stat(path).st_mode & 0o6000)
    except OSError: return None
r = {{}}
for bits in (0o4755, 0o2755, 0o6755):
    fd = os.open(d + '/f', os.O_RDONLY)
    r['chmod %o' % bits] = sc('chmod', (d + '/f').encode(), bits) if 'chmod' in NR else 'EPERM'
    r['fchmod %o' % bits] = sc('fchmod', fd, bits)
    r['fchmodat %o' % bits] = sc('fchmodat', -100, (d + '/f').encode(), bits)
    r['fchmodat2 %o' % bits] = sc('fchmodat2', -100, (d + '/f').encode(), bits, 0)
    r['openat %o' % bits] = sc('openat', -100, (d + '/o%o' % bits).encode(), 0o101, bits)
    r['mknodat %o' % bits] = sc('mknodat', -100, (d + '/n%o' % bits).encode(), 0o100000 | bits, 0)
    r['mkdirat %o' % bits] = sc('mkdirat', -100, (d + '/d%o' % bits).encode(), bits)
    if 'creat' in NR:
        r['creat %o' % bits] = sc('creat', (d + '/c%o' % bits).encode(), bits)
        r['open %o' % bits] = sc('open', (d + '/p%o' % bits).encode(), 0o101, bits)
        r['mknod %o' % bits] = sc('mknod', (d + '/m%o' % bits).encode(), 0o100000 | bits, 0)
        r['mkdir %o' % bits] = sc('mkdir', (d + '/e%o' % bits).encode(), bits)
    r['high bits %o' % bits] = sc('fchmod', fd, bits | (1 << 32))
r['openat2'] = sc('openat2', -100, (d + '/two').encode(), struct.pack('<3Q', 0o101, 0o4755, 0), 24)
say([r, [n for n in os.listdir(d) if flags(d + '/' + n) != '0o0']])
"""


@pytest.mark.parametrize("uid", ["nobody", "caller"])
def test_setuid_files(place, uid):
    control, made = outside(CODE.format(d=str(place))).answer
    assert control["fchmod 4755"] == 0 and made, control
    for name in os.listdir(place):
        path = place / name
        path.rmdir() if path.is_dir() else path.unlink()
    r, made = inside(CODE.format(d="/d"), "--rw", f"{place}:/d", "--uid", uid).answer
    assert r.pop("openat2") == "ENOSYS"
    for call, why in r.items():
        assert why in ("EPERM", "ENOSYS"), call
    assert made == []
    for name in os.listdir(place):
        assert not (place / name).lstat().st_mode & (stat.S_ISUID | stat.S_ISGID), name


def test_ordinary_modes_still_work(place):
    assert inside("open('/d/f', 'w').close(); os.chmod('/d/f', 0o755); os.mkdir('/d/s', 0o1777); "
                  "say(oct(os.stat('/d/f').st_mode))", "--rw", f"{place}:/d").answer == "0o100755"


def test_set_user_id_programs_give_nothing(place):
    """no_new_privs and nosuid: one of root's runs as whoever started it."""
    if not ROOT:
        pytest.skip("only root can make one of root's")
    shutil.copy("/usr/bin/id", place / "id")
    (place / "id").chmod(0o4755)
    somebody = ["setpriv", "--reuid=1500", "--regid=1500", "--clear-groups"]
    command = [str(place / "id"), "-u"]
    for before, euid in (([], "0"), ([BIN, "run", "--uid", "caller", "--ro", str(place), "--"], "1500"),
                         ([BIN, "run", "--profile", "limits", "--"], "1500")):
        p = subprocess.run([*somebody, *before, *command], env=ENV, stdout=subprocess.PIPE, text=True, check=True, cwd=place)
        assert p.stdout == f"{euid}\n", (before, p.stdout)


@pytest.mark.parametrize("options", [[], ["--profile", "limits"]], ids=["view", "guard"])
def test_every_mount_is_without_set_user_id_and_devices(place, options):
    """But for the devices themselves, each a mount of its own, and for pseudo-terminals."""
    code = """if True:
        import stat
        def is_device(path):
            try:
                return stat.S_ISCHR(os.stat(path).st_mode)
            except OSError:  # a mount of the host's that nobody may look at
                return False
        say([l.split()[4:6] for l in open("/proc/self/mountinfo") if not is_device(l.split()[4])])
    """
    assert any("nosuid" not in flags for _, flags in outside(code).answer), "the control"
    seen = inside(code, *options, "--rw", place, "--ro", "/usr", cwd=place).answer
    for where, flags in seen:
        assert "nosuid" in flags.split(","), (where, flags)
        assert "nodev" in flags.split(",") or where == "/dev/pts", (where, flags)
    assert {"/", "/usr", str(place)} <= {where for where, _ in seen}
