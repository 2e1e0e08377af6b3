"""A read-only bind is made writable again by a remount."""
from support import inside, outside

REMOUNT = """
MS_RDONLY, MS_REMOUNT, MS_BIND = 1, 32, 4096
say([sc('mount', b'none', {path!r}.encode(), 0, MS_REMOUNT | MS_BIND, 0),
     tried(lambda: open({path!r} + '/new', 'w'))])
"""


def test_remount_ro(place):
    make = f"sc('mount', {str(place)!r}.encode(), {str(place)!r}.encode(), 0, 4096, 0); " \
           f"sc('mount', b'none', {str(place)!r}.encode(), 0, 4096 | 32 | 1, 0)\n" \
           f"assert tried(lambda: open({str(place)!r} + '/new', 'w')) == 'EROFS'\n"
    control = outside(make + REMOUNT.format(path=str(place)), wrap=["unshare", "-Urm"]).answer
    assert control == [0, "ok"]
    (place / "new").unlink()
    for options in ([], ["--seccomp", "off", "--allow-partial"]):
        mount, write = inside(REMOUNT.format(path="/d"), "--ro", f"{place}:/d", *options).answer
        assert mount == "EPERM" and write in ("EROFS", "EACCES")
    assert not (place / "new").exists()
