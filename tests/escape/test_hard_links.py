"""A hard link carries a file from a read-only bind into a writable one."""
from support import inside, outside

CODE = "say(tried(os.link, {a!r} + '/f', {b!r} + '/f'))"


def test_hard_links(place):
    for name in ("ro", "rw"):
        (place / name).mkdir()
        (place / name).chmod(0o777)
    (place / "ro/f").write_text("precious")
    (place / "ro/f").chmod(0o666)
    assert outside(CODE.format(a=str(place / "ro"), b=str(place / "rw"))).answer == "ok"
    (place / "rw/f").unlink()
    r = inside(CODE.format(a="/ro", b="/rw"), "--ro", f"{place}/ro:/ro", "--rw",
               f"{place}/rw:/rw", "--uid", "caller").answer
    assert r in ("EXDEV", "EACCES", "EPERM", "EROFS"), r
    assert not (place / "rw/f").exists()


def test_hard_links_within_a_broad_bind(place):
    """Both beneath one rw bind, the narrow one read-only: another mount is another device."""
    (place / "ro").mkdir()
    (place / "ro/f").write_text("precious")
    (place / "ro/f").chmod(0o666)
    r = inside("say([tried(os.link, '/d/ro/f', '/d/f'), tried(os.rename, '/d/ro', '/d/x')])",
               "--rw", f"{place}:/d", "--ro", f"{place}/ro:/d/ro", "--uid", "caller").answer
    assert r[0] in ("EXDEV", "EACCES", "EPERM", "EROFS") and r[1] in ("EBUSY", "EACCES", "EXDEV")
    assert not (place / "f").exists()


def test_a_protected_entry_cannot_be_renamed_away(place):
    """`mv .git x; mkdir -p .git/hooks`: every directory on the way is pinned (ruling 16.2)."""
    (place / ".git/hooks").mkdir(parents=True)
    for d in (place / ".git", place / ".git/hooks"):
        d.chmod(0o777)
    assert outside(f"say(tried(os.rename, '{place}/.git', '{place}/x'))").answer == "ok"
    (place / "x").rename(place / ".git")
    r = inside("say(tried(os.rename, '/d/.git', '/d/x'))", "--rw", f"{place}:/d",
               "--ro", f"{place}/.git/hooks:/d/.git/hooks", "--uid", "caller").answer
    assert r in ("EBUSY", "EXDEV", "EACCES"), r
    assert (place / ".git/hooks").is_dir()
