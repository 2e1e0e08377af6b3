"""What is hidden stays hidden: by another way, after a replace, before it exists; and no trace in the tree."""
import contextlib
import json
import os
import subprocess

import pytest

from support import BIN, ENV, PRELUDE, PYTHON, ROOT, TEST_BIN, cordon, eventually, inside, outside, run

READ = "say([tried(lambda: open(p, 'rb').read()) for p in {!r}])"
# Answers one line for each path that it gets, for as long as it gets some.
LIVE = PRELUDE + """
for line in sys.stdin:
    path = line.rstrip()
    seen = os.path.basename(path) in os.listdir(os.path.dirname(path))
    say([tried(lambda: open(path).read()), seen])
"""


@pytest.fixture
def tree(place):
    base = place / "in"
    for d in ("a/b/c", "empty"):
        (base / d).mkdir(parents=True)
    for f in (".env", "a/.env", "a/b/c/.env", "a/b/c/key.pem", "open", "a/b/open"):
        (base / f).write_text("secret")
    for p in [base, *base.rglob("*")]:
        p.chmod(0o777 if p.is_dir() else 0o644)
    return base


def read(paths, *options, **kw):
    return inside(READ.format([str(p) for p in paths]), *options, **kw).answer


@contextlib.contextmanager
def live(*options):
    argv = [BIN, "run", *map(str, options), "--", PYTHON, "-c", LIVE]
    with subprocess.Popen(argv, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        def ask(path):  # the first answer also says that the run has begun
            p.stdin.write(f"{path}\n")
            p.stdin.flush()
            return json.loads(p.stdout.readline())
        yield ask
        p.stdin.close()
        assert p.wait(30) == 0


def replace(path, text="new secret"):
    new = path.with_name("new-" + path.name)
    new.write_text(text)
    new.chmod(0o644)
    os.replace(new, path)


def test_a_path_in_a_read_only_bind(tree):
    paths = [tree / ".env", tree / "a/.env", tree / "open"]
    assert outside(READ.format([str(p) for p in paths])).answer == ["ok"] * 3
    assert read(paths, "--ro", tree) == ["ok"] * 3, "the control"
    assert read(paths, "--ro", tree, "--hide", tree / ".env") == ["ENOENT", "ok", "ok"]


def test_a_glob_at_every_depth_and_nothing_else(tree):
    paths = [tree / ".env", tree / "a/.env", tree / "a/b/c/.env", tree / "open", tree / "a/b/open"]
    assert read(paths, "--ro", tree, "--hide", "**/.env") == ["ENOENT"] * 3 + ["ok"] * 2
    r = inside(f"say(sorted(os.path.relpath(os.path.join(d, f), {str(tree)!r}) "
               f"for d, s, fs in os.walk({str(tree)!r}) for f in fs + s))", "--ro", tree, "--hide", "**/.env")
    left = sorted(str(p.relative_to(tree)) for p in tree.rglob("*") if p.name != ".env")
    assert r.answer == left


@pytest.mark.parametrize("glob, hidden", [
    ("**/*.pem", ["a/b/c/key.pem"]), ("**/b/**/.env", ["a/b/c/.env"]), ("{tree}/a/*/c", ["a/b/c/.env", "a/b/c/key.pem"]),
    ("{tree}/a/**", ["a/.env", "a/b/c/.env", "a/b/c/key.pem", "a/b/open"]), ("**/no-such-name", []),
    ("**/[.]en?", [".env", "a/.env", "a/b/c/.env"])])
def test_forms_of_globs(tree, glob, hidden):
    files = sorted(str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file())
    answer = read([tree / f for f in files], "--ro", tree, "--hide", glob.format(tree=tree))
    assert sorted(f for f, a in zip(files, answer) if a == "ENOENT") == sorted(hidden)
    assert set(answer) <= {"ok", "ENOENT"}


@pytest.mark.parametrize("hide", ["{tree}/.env", "**/.env"])
def test_replaced_from_outside_while_it_runs(tree, hide):
    with live("--ro", tree, "--hide", hide.format(tree=tree)) as ask:
        assert ask(tree / ".env") == ["ENOENT", False]
        replace(tree / ".env")
        assert ask(tree / ".env") == ["ENOENT", False]
        os.unlink(tree / ".env")
        replace(tree / ".env")
        assert ask(tree / ".env") == ["ENOENT", False]
        assert ask(tree / "open") == ["ok", True]


@pytest.mark.parametrize("hide", ["{tree}/empty/.env", "**/.env"])
def test_made_after_the_start(tree, hide):
    with live("--ro", tree, "--hide", hide.format(tree=tree)) as ask:
        assert ask(tree / "open") == ["ok", True]
        (tree / "empty/.env").write_text("secret")
        (tree / "empty/other").write_text("x")
        assert ask(tree / "empty/.env") == ["ENOENT", False]
        assert ask(tree / "empty/other") == ["ok", True], "the control: new names are seen"


def test_a_directory_made_after_the_start(tree):
    with live("--ro", tree, "--hide", tree / "later/.env") as ask:
        assert ask(tree / "open") == ["ok", True]
        (tree / "later").mkdir()
        (tree / "later/.env").write_text("secret")
        assert ask(tree / "later")[1] is False, "nothing by the name of a missing directory on the way"


def test_by_another_bind_of_the_same_tree(tree):
    paths = ["/one/.env", "/two/.env", "/above/in/.env", "/part/.env"]
    binds = ["--ro", f"{tree}:/one", "--ro", f"{tree}:/two", "--ro", f"{tree.parent}:/above", "--ro", f"{tree}/a:/part"]
    assert read(paths, *binds) == ["ok"] * 4, "the control"
    assert read(paths, *binds, "--hide", "/one/.env") == ["ENOENT"] * 3 + ["ok"]
    assert read(paths, *binds, "--hide", "/above/in/a/.env") == ["ok"] * 3 + ["ENOENT"]
    assert read(paths, *binds, "--hide", "/part/.env") == ["ok"] * 3 + ["ENOENT"]
    assert read(["/one/a/.env"], *binds, "--hide", "/part/.env") == ["ENOENT"]


def test_by_the_toolchain(tree):
    assert read(["/usr/bin/env"], "--ro", "/usr/bin:/b") == ["ok"]
    assert read(["/usr/bin/env", "/b/env"], "--ro", "/usr/bin:/b", "--hide", "/b/env") == ["ENOENT"] * 2
    assert read(["/usr/bin/env"], "--hide", "/usr/bin/env") == ["ENOENT"]


def test_by_the_root_and_the_directory_of_a_process(tree):
    paths = [f"/proc/self/root{tree}/.env", f"/proc/self/root/..{tree}/.env", f"/..{tree}/.env"]
    assert read(paths, "--ro", tree) == ["ok"] * 3
    assert read(paths, "--ro", tree, "--hide", tree / ".env") == ["ENOENT"] * 3
    assert read(["/proc/self/cwd/.env", "../in/.env"], "--ro", tree, "--cwd", tree, "--hide", "**/.env") == ["ENOENT"] * 2


def test_what_hides_is_out_of_reach(tree):
    r = inside("say(sorted(os.listdir('/proc/..')) + ['dir' in os.listdir('/proc')])", "--ro", tree, "--rw",
               f"{tree}/empty:/rw", "--hide", tree / ".env", "--hide", "/rw/x")
    assert r.answer[-1] is False and "layer" not in r.answer, r.told()


def test_another_hard_link_is_said(tree):
    os.link(tree / ".env", tree / "a/link")
    r = inside(READ.format([f"{tree}/.env", f"{tree}/a/link"]), "--ro", tree, "--hide", tree / ".env")
    assert r.answer == ["ENOENT", "ok"]
    assert any("hard links" in w for w in r.doc["warnings"]), r.doc["warnings"]
    assert "hard links" in r.doc["enforced"]["filesystem"]["details"]


def test_nothing_is_left_in_the_tree(tree):
    def look():
        return {str(p): (os.lstat(p).st_mtime_ns, os.lstat(p).st_ino, os.listxattr(p)) for p in [tree, *tree.rglob("*")]}
    before = look()
    read([tree / ".env"], "--ro", tree, "--rw", f"{tree}/empty:/rw", "--hide", "**/.env", "--allow-partial")
    assert look() == before


def test_directories_keep_their_mode_and_time(tree):
    (tree / "a").chmod(0o750)
    os.utime(tree / "a", (1000, 2000))
    r = inside(f"s = os.stat('{tree}/a'); say([oct(s.st_mode), s.st_mtime])", "--uid", "caller", "--ro", tree,
               "--hide", "**/.env")
    assert r.answer == ["0o40750", 2000.0]


def test_a_directory_that_cannot_be_looked_into_is_hidden_whole(tree):
    (tree / "a").chmod(0o311 if not ROOT else 0o777)
    expected = "ok" if ROOT else "ENOENT"
    assert read([tree / "a/b/open"], "--uid", "caller", "--ro", tree, "--hide", "**/.env") == [expected]
    (tree / "a").chmod(0o777)


def test_a_read_only_tree_stays_read_only(tree):
    r = inside(f"say([tried(lambda: open('{tree}/new', 'w')), tried(lambda: os.unlink('{tree}/open')),"
               f"tried(lambda: os.mkdir('{tree}/.env'))])", "--ro", tree, "--hide", "**/.env")
    assert set(r.answer) <= {"EROFS", "EACCES"} and (tree / "open").exists()


# ---- writable trees and guard mode: something empty covers what is there ----

TRIES = """
p = {!r}
say([tried(lambda: open(p).read()), tried(lambda: os.unlink(p)), tried(lambda: os.rename(p, p + 'x')),
     tried(lambda: os.link(p, p + 'y')), tried(lambda: os.chmod(p, 0o666)), tried(lambda: open(p, 'w').write('x'))])
"""


def test_a_path_in_a_writable_bind(tree):
    assert read([tree / ".env"], "--rw", tree) == ["ok"], "the control"
    r = inside(TRIES.format(f"{tree}/.env"), "--rw", tree, "--hide", tree / ".env")
    assert r.answer[0] == "EACCES" and "ok" not in r.answer
    assert (tree / ".env").read_text() == "secret"
    details = r.doc["enforced"]["filesystem"]["details"]
    assert "until it is covered" in details and ".env" in details


def test_a_directory_in_a_writable_bind_and_by_another_bind(tree):
    options = ["--rw", tree, "--ro", f"{tree}:/ro", "--hide", tree / "a"]
    r = inside(f"say([tried(lambda: os.listdir('{tree}/a')), tried(lambda: open('{tree}/a/.env')),"
               "tried(lambda: os.listdir('/ro/a'))])", *options)
    assert r.answer == ["EACCES", "EACCES", "ENOENT"]


def test_replaced_and_made_later_in_a_writable_bind(tree):
    with live("--rw", tree, "--hide", tree / ".env", "--hide", tree / "empty/.env") as ask:
        assert ask(tree / ".env") == ["EACCES", True]
        for name in (".env", "empty/.env"):
            replace(tree / name)
            assert eventually(lambda: ask(tree / name)[0] == "EACCES"), name  # noqa: B023
        assert ask(tree / "open") == ["ok", True]


def test_a_directory_that_is_missing_is_said(tree):
    r = run("--profile", "agent", "--ro", f"{tree}:/ro", "--rw", tree, "--hide", f"{tree}/later/" + 60 * "x", "--", "true",
            cwd=tree)
    details = r.doc["enforced"]["filesystem"]["details"]
    assert "directory was missing" in details and details.endswith("are not hidden"), details


def test_the_directories_above_a_covered_name_stay_where_they_are(tree):
    names = ["a/b/c", "a/b", "a", "empty"]
    move = f"say([tried(lambda: os.rename('{tree}/' + d, '{tree}/' + d + 'z')) for d in {names}])"
    assert inside(move, "--rw", tree).answer == ["ok"] * 4, "the control"
    for name in reversed(names):
        (tree / f"{name}z").rename(tree / name)
    assert inside(move, "--rw", tree, "--hide", tree / "a/b/c/.env").answer == ["EBUSY"] * 3 + ["ok"]


@pytest.mark.parametrize("writable", ["{tree}:/rw", "{tree}/a:/rw/a"])
def test_not_by_a_new_name_for_its_directory(tree, writable):
    script = "say([tried(lambda: os.rename('/rw/a/b', '/rw/a/z')), tried(lambda: open('/ro/a/z/c/.env').read())])"
    binds = ["--ro", f"{tree}:/ro", "--rw", writable.format(tree=tree)]
    assert inside(script, *binds).answer == ["ok"] * 2, "the control"
    (tree / "a/z").rename(tree / "a/b")
    assert inside(script, *binds, "--hide", "/ro/a/b/c/.env").answer == ["EBUSY", "ENOENT"]


def test_a_glob_in_a_writable_bind_is_partial(tree):
    r = run("--rw", tree, "--hide", "**/.env", "--", "true")
    assert r.doc["status"] == "INTERNAL_ERROR" and "glob" in r.err.decode(), r.told()
    r = inside(READ.format([f"{tree}/.env", f"{tree}/a/b/c/.env"]), "--rw", tree, "--hide", "**/.env", "--allow-partial")
    assert r.answer == ["EACCES"] * 2
    assert r.doc["enforced"]["filesystem"]["applied"] is False and r.doc["reason"] == "PARTIAL_ENFORCEMENT"


def test_guard_mode(place):
    limits = ["--profile", "limits", "--mem", "none"]
    paths = ["/usr/bin/env", "/usr/bin/true"]
    assert read(paths, *limits, cwd=place) == ["ok"] * 2, "the control"
    assert read(paths, *limits, "--hide", "/usr/bin/env", cwd=place) == ["EACCES", "ok"]
    r = run(*limits, "--hide", "**/.env", "--", "true", cwd=place)
    assert r.doc["status"] == "INTERNAL_ERROR" and "guard mode" in r.err.decode(), r.told()


# ---- what is refused ----

@pytest.mark.parametrize("options, words", [
    (["--hide", "/nowhere/.env"], "inside no bind"),
    (["--ro", "{tree}", "--hide", "{tree}"], "nothing of a bind"),
    (["--ro", "{tree}", "--ro", "{tree}/.env:/x", "--hide", "{tree}/.env"], "at another place"),
    (["--ro", "{tree}", "--hide", "{tree}/link/.env"], "symbolic link"),
    (["--rw", "{tree}", "--hide", "{tree}/link/.env"], "symbolic link"),
    (["--ro", "{tree}", "--hide", "**/../x"], "glob"),
])
def test_refused(tree, options, words):
    (tree / "link").symlink_to("a")
    r = cordon("run", *[o.format(tree=tree) for o in options], "--", "true")
    assert r.rc in (2, 125) and words in r.err.decode(), r.told()


def test_narrower_than_a_broader_bind(tree):
    assert read([tree / "a/b/open", tree / "a/.env"], "--ro", tree.parent, "--rw", tree / "a/b", "--hide",
                tree / "a/.env") == ["ok", "ENOENT"]


def test_without_namespaces_it_is_refused(tree):
    r = run("--ro", tree, "--hide", tree / ".env", "--", "true", binary=TEST_BIN,
            env={"CORDON_TEST_DISABLE": "userns"})
    assert r.doc["status"] == "INTERNAL_ERROR" and "hidden" in r.err.decode(), r.told()


def test_switched_off_the_name_is_seen_and_the_ledger_says_so(tree):
    r = inside(READ.format([f"{tree}/.env"]), "--ro", tree, "--hide", "**/.env", "--allow-partial", binary=TEST_BIN,
               env={"CORDON_TEST_DISABLE": "hide"})
    assert r.answer == ["ok"] and r.doc["enforced"]["filesystem"]["applied"] is False


@pytest.mark.usefixtures("own_mounts")
def test_mounts_inside_the_tree_are_still_there_and_searched(tree):
    sub = tree / "a/b"
    subprocess.run(["mount", "-t", "tmpfs", "none", str(sub)], check=True)
    for name in (".env", "open"):
        (sub / name).write_text("mounted")
    answer = read([sub / ".env", sub / "open", tree / "a/.env", "/again/.env"], "--ro", tree, "--ro",
                  f"{sub}:/again", "--hide", "**/.env")
    assert answer == ["ENOENT", "ok", "ENOENT", "ENOENT"]
    assert read([sub / ".env", sub / "open"], "--ro", tree, "--hide", sub / ".env") == ["ENOENT", "ok"]
    assert read([sub / "open", tree / "open"], "--ro", tree, "--hide", tree / "a") == ["ENOENT", "ok"]


@pytest.mark.usefixtures("own_mounts")
@pytest.mark.parametrize("kind", ["--ro", "--rw"])
def test_a_part_of_the_tree_that_is_mounted_in_it_again(tree, kind):
    """By the host: the name has two places in the same bind."""
    subprocess.run(["mount", "--bind", str(tree / "a"), str(tree / "empty")], check=True)
    paths = [tree / "a/.env", tree / "empty/.env", tree / "a/b/c/key.pem", tree / "empty/b/c/key.pem"]
    assert read(paths, kind, tree) == ["ok"] * 4, "the control"
    for hidden in (paths, paths[::-1]):
        r = inside(READ.format([str(p) for p in [*paths, tree / "empty/b/open"]]), kind, tree, "--hide", hidden[0],
                   "--hide", hidden[2])
        assert "ok" not in r.answer[:4] and r.answer[4] == "ok", r.told()
        assert r.doc["enforced"]["filesystem"]["applied"] is True
    if kind == "--rw":
        inside(f"open('{tree}/empty/new', 'w').write('x'); say(1)", kind, tree, "--hide", paths[0])
        assert (tree / "a/new").read_text() == "x"


def test_files_are_still_the_callers_own(tree):
    (tree / "own").write_text("mine")
    (tree / "own").chmod(0o600)
    r = inside(f"say([os.stat('{tree}/open').st_uid == os.getuid(), open('{tree}/own').read()])", "--uid", "caller",
               "--ro", tree, "--hide", "**/.env")
    assert r.answer == [True, "mine"]


def test_no_snapshot_shows_what_is_covered(tree):
    """Whoever owns a subvolume of btrfs may have a snapshot of it, in which nothing is covered. Other file systems do
    not know the request, which shows that it got there; to copy a file by its descriptor stays possible.
    """
    code = f"""
import fcntl
fd = os.open({str(tree)!r}, os.O_RDONLY)
snapshots = (0x50009401, 0x50009417, 0x5000940e, 0x50009418, 0x4020bc10)
say([[tried(fcntl.ioctl, fd, n, bytes(1024)) for n in snapshots], tried(fcntl.ioctl, fd, 0x40049409, fd)])
"""
    control, clone = outside(code).answer
    assert set(control) <= {"ENOTTY", "EINVAL", "EOPNOTSUPP"}, "the control"
    assert inside(code, "--rw", tree, "--hide", tree / ".env").answer == [["EPERM"] * 5, clone]
