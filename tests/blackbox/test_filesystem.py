"""What the payload sees and may change: I4-I8, I14, I30, P12."""
import os
import pathlib
import subprocess

import pytest

from support import BIN, ENV, ROOT, cordon, inside, marker, mounts, run


@pytest.fixture
def tree(place):
    for name in ("rw", "ro", "rw/.ssh"):
        (place / name).mkdir()
        (place / name).chmod(0o777)
    (place / "ro/file").write_text("host")
    (place / "rw/file").write_text("host")
    (place / "rw/file").chmod(0o666)
    (place / "rw/.ssh/key").write_text("host")
    return place


def test_i04_narrow_ro_shadows_broad_rw(tree):
    r = inside("""
say([tried(lambda: open('/p/new', 'w').write('x')), tried(lambda: open('/p/.ssh/new', 'w')),
     tried(lambda: open('/p/.ssh/key', 'r+')), open('/p/.ssh/key').read()])
""", "--rw", f"{tree}/rw:/p", "--ro", f"{tree}/rw/.ssh:/p/.ssh")
    assert r.answer[0] == "ok"
    assert r.answer[1] in ("EROFS", "EACCES") and r.answer[2] in ("EROFS", "EACCES")
    assert r.answer[3] == "host"
    assert (tree / "rw/new").read_text() == "x"


def test_i04_ro_is_read_only_for_every_call(tree):
    r = inside("""
d = '/d'
say({'open': tried(lambda: open(d + '/file', 'r+')), 'create': tried(lambda: open(d + '/n', 'w')),
     'unlink': tried(lambda: os.unlink(d + '/file')), 'mkdir': tried(lambda: os.mkdir(d + '/n')),
     'rename': tried(lambda: os.rename(d + '/file', d + '/g')),
     'chmod': tried(lambda: os.chmod(d + '/file', 0o600)),
     'utime': tried(lambda: os.utime(d + '/file')),
     'truncate': tried(lambda: os.truncate(d + '/file', 0)),
     'symlink': tried(lambda: os.symlink('x', d + '/n')),
     'link': tried(lambda: os.link(d + '/file', d + '/n')),
     'xattr': tried(lambda: os.setxattr(d + '/file', 'user.x', b'1'))})
""", "--ro", f"{tree}/ro:/d")
    for call, why in r.answer.items():
        assert why in ("EROFS", "EACCES"), call
    assert (tree / "ro/file").read_text() == "host"
    assert os.listdir(tree / "ro") == ["file"]


def test_i04_same_path_when_no_target_is_given(tree):
    r = run("--ro", tree / "ro", "--", "cat", f"{tree}/ro/file")
    assert r.doc["stdout"] == "host", r.told()


def test_i05_work_host_wins_at_work(tree):
    r = run("--work", tree / "rw", "--", "sh", "-c", "touch /work/n && pwd")
    assert r.doc["stdout"] == "/work\n", r.told()
    assert (tree / "rw/n").exists()


def test_i05_files_written_belong_to_the_caller(tree):
    r = run("--uid", "caller", "--work", tree / "rw", "--", "touch", "/work/n")
    assert r.doc["status"] == "OK", r.told()
    assert (tree / "rw/n").stat().st_uid == os.getuid()


def test_i05_a_private_directory_of_the_caller_can_be_the_work(tree):
    (tree / "own").mkdir(mode=0o700)
    r = run("--uid", "caller", "--work", tree / "own", "--", "sh", "-c", "echo x >/work/n")
    assert r.doc["status"] == "OK", r.told()
    assert (tree / "own/n").read_text() == "x\n"


def test_i05_a_bind_that_work_would_hide_is_refused(tree):
    r = cordon("run", "--work", tree / "rw", "--ro", f"{tree}/ro:/work/in", "--", "true")
    assert r.rc == 2 and b"/work/in" in r.err, r.told()


def test_a_private_work_has_room_for_binds(tree):
    """As a user of bubblewrap has it: the tool and its output in the directory where one stands."""
    (tree / "tool").write_text("of the host\n")
    r = run("--ro", f"{tree}/tool:/work/tool", "--rw", f"{tree}/rw:/work/deep/out", "--", "sh", "-c",
            "pwd; cat tool; (echo lost >tool) 2>/dev/null || echo refused; rm -f tool 2>/dev/null || echo stays; "
            "echo new >deep/out/new; echo own >mine; cat mine; cd deep/out; echo *")
    assert r.doc["status"] == "OK", r.told()
    assert r.text.split("\n")[:7] == ["/work", "of the host", "refused", "stays", "own", "file new", ""], r.told()
    assert r.doc["enforced"]["filesystem"]["applied"] is True
    assert (tree / "tool").read_text() == "of the host\n" and (tree / "rw/new").read_text() == "new\n"
    assert not (tree / "rw/mine").exists()
    plan = cordon("run", "--dry-run", "--ro", f"{tree}/tool:/work/tool", "--", "true").out.decode()
    assert plan.index(" /work ") < plan.index(f"/work/tool <- {tree}/tool"), plan


def test_what_is_hidden_and_then_executed_names_the_option():
    r = cordon("run", "--hide", "/usr/bin/git", "--", "git")
    assert r.rc == 127 and b"(--hide) names it" in r.err, r.told()


def test_what_is_hidden_in_a_bind_beneath_work_is_hidden(tree):
    (tree / "ro/.env").write_text("secret\n")
    for hide in ("/work/in/.env", "**/.env"):
        shown = ["--ro", f"{tree}/ro:/work/in"]
        assert run(*shown, "--", "cat", "in/.env").text == "secret\n"
        r = run(*shown, "--hide", hide, "--", "sh", "-c", "cat in/.env || echo in/.* in/*")
        assert "secret" not in r.text and ".env" not in r.text and r.doc["status"] == "OK", r.told()
    (tree / "rw/.git/hooks").mkdir(parents=True)
    (tree / "rw/.git/hooks").chmod(0o777)
    act = ["--", "sh", "-c", "touch /work/job/.git/hooks/x"]
    assert run("--profile", "stage", "--rw", f"{tree}/rw:/work/job", *act).rc == 0
    r = run("--profile", "agent", "--rw", f"{tree}/rw:/work/job", *act, cwd=tree / "rw")
    assert r.rc == 1 and "Read-only file system" in r.doc["stderr"], r.told()


def test_i06_work_is_private_empty_and_gone(place):
    word = marker()
    r = run("--", "sh", "-c", f"pwd; ls -A; echo x > {word}; ls -A")
    assert r.doc["stdout"].split() == ["/work", word]
    r = run("--", "sh", "-c", "ls -A")
    assert r.doc["stdout"] == ""


def test_i06_two_runs_do_not_share_work_or_tmp():
    assert run("--", "sh", "-c", "touch /tmp/a /work/a /dev/shm/a").rc == 0
    # Not by ls, which needs statx(): these tests also run where that is refused.
    assert run("--", "sh", "-c", "echo /tmp/* /work/* /dev/shm/*").doc["stdout"].split() == \
        ["/tmp/*", "/work/*", "/dev/shm/*"]


def test_i07_missing_source(place):
    r = cordon("run", "--ro", f"{place}/none:/x", "--", "touch", "/work/x")
    assert r.rc == 2 and f"{place}/none".encode() in r.err
    assert len(r.err.splitlines()) <= 2


def test_i07_missing_source_that_is_optional(place):
    (place / "p.json").write_text(
        '{"version": 1, "fs": {"ro": [{"host": "%s/none", "sandbox": "/x", "optional": true}]}}'
        % place)
    r = run("--policy", place / "p.json", "--", "sh", "-c", "test ! -e /x")
    assert r.doc["status"] == "OK", r.told()


def test_i08_nix_store():
    if not os.path.isdir("/nix/store"):
        assert run("--", "sh", "-c", "test ! -e /nix/store").doc["status"] == "OK"
    else:
        r = inside("say(tried(lambda: open('/nix/store/x', 'w')))")
        assert r.answer in ("EROFS", "EACCES")


def test_i14_only_own_processes():
    r = inside("say(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()) + [os.getpid()])")
    assert 1 in r.answer and r.answer[-1] in r.answer[:-1]
    assert r.answer[-1] != 1, "the payload must not be pid 1"
    assert len(r.answer) <= 4


def test_i14_tmp_of_the_host_is_not_seen():
    name = "/tmp/cordon-" + marker()
    pathlib.Path(name).write_text("host")
    try:
        r = inside(f"say([os.path.exists({name!r}), os.listdir('/tmp')])")
    finally:
        os.unlink(name)
    assert r.answer == [False, []]


def test_i14_dev_is_minimal():
    names = set(inside("say(os.listdir('/dev'))").answer)
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "pts", "ptmx", "shm", "fd",
               "stdin", "stdout", "stderr"}
    assert names <= allowed and {"null", "zero", "full", "random", "urandom"} <= names


def test_i14_dev_works():
    r = run("--", "sh", "-c", "echo x >/dev/null && head -c 4 /dev/urandom | wc -c && "
            "head -c 4 /dev/zero | wc -c && test -w /dev/full && cd /dev/shm")
    assert r.doc["stdout"].split() == ["4", "4"], r.told()


def test_root_is_read_only():
    r = inside("""
say({d: tried(lambda: open(d + '/new', 'w')) for d in
     ('', '/etc', '/usr', '/usr/bin', '/dev', '/proc', '/var') if os.path.isdir(d or '/')})
""")
    for where, why in r.answer.items():
        assert why in ("EROFS", "EACCES", "EPERM", "ENOENT"), where
    if not ROOT:
        assert "ok" not in r.answer.values()


def test_i30_secrets_are_not_there(place):
    home = place / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id").write_text("key")
    paths = ["/etc/shadow", str(home / ".ssh/id"), "/root", "/home", "/var/run/docker.sock",
             "/etc/ssh", "/run", "/sys"]
    r = inside(f"say([tried(os.stat, p) for p in {paths!r}])", env={"HOME": str(home)})
    assert set(r.answer) == {"ENOENT"}


def test_i30_passwd_is_synthetic():
    r = run("--", "cat", "/etc/passwd")
    assert "nobody" in r.doc["stdout"] and "/home" not in r.doc["stdout"]
    assert len(r.doc["stdout"].splitlines()) <= 4


def test_p12_cwd(place):
    r = run("--cwd", "/tmp", "--", "pwd", cwd=place)
    assert r.doc["stdout"] == "/tmp\n"
    r = run("--", "sh", "-c", "pwd; echo $PWD", cwd=place)
    assert r.doc["stdout"].split()[0] == "/work"
    assert str(place) not in r.doc["stdout"]


def test_p12_cwd_that_does_not_exist_inside():
    r = cordon("run", "--cwd", "/nowhere", "--", "true")
    assert r.rc in (2, 125) and b"/nowhere" in r.err


def test_a_file_can_be_bound(place):
    (place / "one").write_text("1")
    r = run("--ro", f"{place}/one:/etc/one", "--", "cat", "/etc/one")
    assert r.doc["stdout"] == "1", r.told()


def test_many_binds(place):
    args = []
    for i in range(150):
        (place / str(i)).mkdir()
        args += ["--ro", f"{place}/{i}:/many/{i}"]
    r = run(*args, "--", "sh", "-c", "set -- /many/*; echo $#")
    assert r.doc["stdout"].strip() == "150", r.told()


def test_mounts_inside_do_not_spread_over_a_shared_one(place, own_mounts):
    """Between copies of a shared mount, as systemd makes them all, the kernel passes new ones on."""
    for words in (["-t", "tmpfs", "tmpfs", place], ["--make-shared", place]):
        subprocess.run(["mount", *words], check=True)
    (place / "keep").mkdir()
    before = mounts()
    with subprocess.Popen([BIN, "run", "--rw", f"{place}:/d", "--ro", f"{place}/keep:/d/keep", "--", "sh", "-c", "echo up; sleep 60"],
                          env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"up\n"
        meanwhile = mounts()
        p.terminate()
    assert meanwhile == before


def test_nothing_is_created_in_the_users_tree(tree):
    r = cordon("run", "--rw", f"{tree}/rw:/d", "--ro", f"{tree}/ro:/d/missing/target", "--", "true")
    assert r.rc in (2, 125) and b"d/missing/target" in r.err, r.told()
    assert not (tree / "rw/missing").exists()


def test_the_agent_profile_writes_in_the_callers_directory(place):
    (place / "project").mkdir(mode=0o755)
    r = run("--profile", "agent", "--", "sh", "-c", "pwd; echo x >made; test ! -e /etc/shadow",
            cwd=place / "project")
    assert r.doc["stdout"] == f"{place}/project\n", r.told()
    made = place / "project/made"
    assert made.read_text() == "x\n" and made.stat().st_uid == os.getuid()


def test_the_agent_profile_refuses_the_whole_disk():
    r = cordon("run", "--profile", "agent", "--", "true", cwd="/")
    assert r.rc == 2, r.told()


@pytest.mark.parametrize("name", ["link/file", "ro/other", "link"])
def test_a_link_on_the_way_is_refused_and_its_end_is_named(tree, name):
    """Not followed, whichever component it is; the path that the message names works."""
    (tree / "link").symlink_to("ro")
    (tree / "ro/other").symlink_to("file")
    straight = os.path.realpath(tree / name)
    r = cordon("run", "--ro", f"{tree}/{name}:/x", "--", "true")
    assert r.rc == 2 and f"open bind source '{tree}/{name}': a symbolic link is on the way".encode() in r.err
    assert r.err.decode().splitlines()[1] == f"  name the place that it leads to: {straight}"
    assert cordon("run", "--ro", f"{straight}:/x", "--", "true").rc == 0
    (tree / "ro/other").unlink()
    (tree / "ro/other").symlink_to("nowhere")
    r = cordon("run", "--ro", f"{tree}/ro/other", "--", "true")
    assert r.rc == 2 and b"symbolic link" in r.err, "one that leads nowhere"


def test_a_directory_that_was_entered_by_a_link(tree):
    """A shell's $PWD then has a name that is not there inside."""
    (tree / "link").symlink_to("ro")
    r = cordon("run", "--ro", ".", "--cwd", f"{tree}/link", "--", "ls", cwd=str(tree / "link"))
    assert r.rc == 2 and f"--cwd {os.path.realpath(tree)}/ro ".encode() in r.err
    r = cordon("run", "--ro", ".", "--cwd", os.path.realpath(tree / "link"), "--", "ls", cwd=str(tree / "link"))
    assert (r.rc, r.out) == (0, b"file\n")
    r = cordon("run", "--cwd", "/nowhere", "--", "ls")
    assert r.rc == 2 and b"--ro or --rw brings one in" in r.err


def test_messages_name_places_inside_as_absolute_paths(tree):
    r = cordon("run", "--ro", f"{tree}/ro/file:/usr/bin/no-such-name", "--", "true")
    assert r.rc == 2 and b"bind onto '/usr/bin/no-such-name'" in r.err
    r = cordon("run", "--ro", f"{tree}/ro:/usr/bin/env", "--", "true")
    assert r.rc == 2 and b"bind onto '/usr/bin/env'" in r.err
    (tree / "rw/.git").mkdir()
    (tree / "rw/.git").chmod(0o755)
    (tree / "rw/.git/hooks").symlink_to("/etc")
    r = cordon("run", "--profile", "agent", "--", "true", cwd=str(tree / "rw"))
    assert r.rc == 2 and f"keep read-only '{tree}/rw/.git/hooks'".encode() in r.err
