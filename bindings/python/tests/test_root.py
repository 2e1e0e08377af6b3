"""Root: pathlib's ways, and no way out."""

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import threading
import time
import types
from pathlib import Path

import cordon
import pytest


@pytest.fixture
def home(tmp_path):
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def root(home):
    with cordon.Root(home, allow_symlink=True, allow_hardlink=True) as r:
        yield r


def test_files(root):
    assert root.write_text("a", "grüß") == 4 and root.read_text("a") == "grüß"
    root.append_bytes("a", b"!")
    assert root.read_bytes("a") == "grüß!".encode()
    root.truncate("a", 2)
    root.chmod("a", 0o600)
    root.utime("a", 1, 2)
    s = root.stat("a")
    assert (s.st_size, s.st_mode & 0o777, s.st_mtime) == (2, 0o600, 2) and s.is_file()
    root.write_delta("a", "new", "gr")
    assert root.read_text("a") == "new"


def test_a_number_is_taken_as_it_is_or_refused(root, home):
    root.write_text("kept", "content")
    for length in (2**63, 2**64, 10**40):
        with pytest.raises(OverflowError):
            root.truncate("kept", length)
    with pytest.raises(TypeError):
        root.truncate("kept", 2.5)
    for act in (lambda: root.chmod("kept", 2**32), lambda: root.chmod("kept", -1),
                lambda: root.mkdir("d", -1), lambda: root.lock("kept", -1), lambda: root.lock("kept", 1e300),
                lambda: root.write_delta("kept", "x", min_length=-1), lambda: root.watch("", max_queue=2**32),
                lambda: cordon.Root(home, max_read_bytes=2**64)):
        with pytest.raises(OverflowError):
            act()
    assert root.read_text("kept") == "content"
    root.truncate("kept", -3)
    assert root.read_text("kept") == ""


@pytest.mark.parametrize("length", [1 << 31, (1 << 32) + 5])
def test_content_that_an_int_cannot_count(root, monkeypatch, length):
    """Where there is no memory for it that is the error, and not the few bytes that are left of the number."""
    text = ctypes.create_string_buffer(b"content")

    def read(_root, _path, _lock, out, _error):
        out._obj.data, out._obj.len = ctypes.addressof(text), length
        return 0

    library = types.SimpleNamespace(cordon_root_read_file=read, cordon_root_data_free=lambda _: None)
    monkeypatch.setattr(cordon.root, "library", lambda: library)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (1 << 30), hard))
    try:
        with pytest.raises(MemoryError):
            root.read_bytes("a")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        monkeypatch.undo()


def test_directories(root):
    root.mkdir("d")
    with pytest.raises(FileExistsError):
        root.mkdir("d")
    root.mkdir("d", exist_ok=True)
    with pytest.raises(FileNotFoundError):
        root.mkdir("x/y/z")
    root.mkdir("x/y/z", parents=True)
    root.write_text("x/y/z/f", "1")
    assert [e.name for e in root.walk("x")] == ["y", "y/z", "y/z/f"]
    assert [(e.name, e.is_dir()) for e in root.iterdir()] == [("d", True), ("x", True)]
    with pytest.raises(OSError):
        root.rmdir("x")
    done = []
    root.copytree("x", "copy", progress=lambda entries, size: done.append(entries))
    assert root.read_text("copy/y/z/f") == "1"
    root.rmtree("x")
    root.rmtree("x", missing_ok=True)
    assert not root.exists("x") and root.is_dir("d") and not root.is_file("d")


def test_names(root):
    root.write_text("a", "1")
    root.rename("a", "b")
    root.copy("b", "c")
    root.move("c", "d")
    root.symlink("b", "l")
    root.link("b", "h")
    assert root.readlink("l") == "b" and root.resolve("l") == "b" and root.lstat("l").is_symlink()
    assert root.stat("h").st_nlink == 2
    assert {e.name: (e.type, e.target) for e in root.listing()}["l"] == ("l", "b")
    root.unlink("l")
    root.unlink("l", missing_ok=True)
    with pytest.raises(FileNotFoundError) as caught:
        root.unlink("l")
    assert caught.value.filename == "l" and caught.value.code == "ENOENT"


def test_no_way_out(home, root):
    os.symlink("../outside", home / "l")
    os.symlink("..", home / "up")
    for path in ("l", "up/outside"):
        with pytest.raises(PermissionError) as caught:
            root.read_text(path)
        assert str(home) not in str(caught.value)
        with pytest.raises(PermissionError):
            root.write_text(path, "changed")
    with pytest.raises(FileNotFoundError):
        root.read_text("../outside")  # stops at the top
    assert (home.parent / "outside").read_text() == "secret"
    assert root.counters()["outside"] == 4


def test_errors_are_whole_whatever_the_path(home, root):
    os.symlink("../outside", home / "a, b")
    with pytest.raises(PermissionError) as caught:
        root.read_text("a, b")
    assert caught.value.strerror == "realpath of 'a, b' resolves to a path outside of sandbox"
    with pytest.raises(FileNotFoundError) as caught:
        root.read_text("no, open")
    assert (caught.value.strerror, caught.value.filename) == ("no such file or directory", "no, open")


def test_no_move_from_base_to_base(home, tmp_path):
    (tmp_path / "s").mkdir()
    with cordon.Root(home, scratch=tmp_path / "s") as r:
        r.write_text("a", "1")
        with pytest.raises(OSError) as caught:
            r.move("a", "/scratch/a")
        assert caught.value.code == "EXDEV" and r.read_text("a") == "1"
        r.copy("a", "/scratch/a")
        assert (tmp_path / "s/a").read_text() == "1"


def test_a_watch_with_patches(home, root):
    root.write_text("a", "one two", save_last=True)
    with root.watch("a", stability=0, patch=True) as watch:
        (home / "a").write_text("one 2")
        event = watch.next(timeout=20)
        while event is not None and event.patch is None:  # a look while the file was cut
            event = watch.next(timeout=20)
        assert event is not None and event.event == "change" and json.loads(event.patch)


def test_backups_need_a_place(home, tmp_path):
    (tmp_path / "repo").mkdir()
    with cordon.Root(home) as r, pytest.raises(OSError, match="no backup repository is configured"):
        r.tool("rustic", "snapshots")
    with cordon.Root(home, rustic_repo=tmp_path / "repo", host="me") as r:
        try:
            assert r.tool("rustic", "snapshots").code == 0
        except OSError as e:
            assert "rustic is not installed" in str(e)


def test_denials_and_readonly(home):
    seen = []
    with cordon.Root(home, readonly=True, on_denial=seen.append) as r:
        with pytest.raises(OSError):
            r.write_text("a", "1")
    assert seen[0].method == "writeFile" and seen[0].path == "a"


def test_locks(root):
    root.write_text("a", "1")
    assert root.read_text("a", lock=60) == "1"
    with pytest.raises(cordon.Locked):
        root.read_text("a", lock=60)
    root.lock("a", 0)
    assert root.read_text("a", lock=60) == "1"


def test_watch(home, root):
    with root.watch("", stability=0) as watch:
        (home / "new").write_text("1")
        for event in watch:
            assert (event.event, event.name) == ("add", "new")
            break
        while watch.next(timeout=0.05) is not None:  # what writing the file still says
            pass
    assert watch.done and list(watch) == []


def test_closed(home):
    r = cordon.Root(home)
    watch = r.watch()
    r.close()
    r.close()
    assert watch.done
    with pytest.raises(ValueError, match="closed"):
        r.read_text("a")
    with pytest.raises(ValueError):
        cordon.Root(home).read_text("a\0b")
    for arguments in ({"home": f"{home}\0x"}, {"home": home, "rootfs": f"{home}\0x"},
                      {"home": home, "scratch": f"{home}\0x"}, {"home": home, "home_aliases": ["/a\0b"]}):
        with pytest.raises(ValueError, match="null byte"):
            cordon.Root(**arguments)
    with pytest.raises(ValueError, match="null byte"):
        cordon.Root(home).tool("find\0x", "")


def test_an_exception_of_a_callback(root):
    root.mkdir("d")
    for i in range(2000):
        root.write_text(f"d/{i}", "")

    def fail(entries, size):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        root.rmtree("d", progress=fail)


def test_under_a_race(home, root):
    """A directory and an escaping link trade places while we read: never the secret."""
    (home / "d").mkdir()
    (home / "d" / "outside").write_text("inside")
    os.symlink("..", home / "other")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(home / "d", home / "t")
            os.rename(home / "other", home / "d")
            os.rename(home / "d", home / "other")
            os.rename(home / "t", home / "d")

    thread = threading.Thread(target=swap)
    thread.start()
    naive, seen = set(), set()
    try:
        for _ in range(20000):
            try:
                naive.add((home / "d" / "outside").read_text())
            except OSError:
                pass
            try:
                seen.add(root.read_text("d/outside"))
            except OSError:
                pass
            if len(naive) == 2 and seen:
                break
    finally:
        stop.set()
        thread.join()
    assert "secret" in naive, "the race was never lost the naive way: nothing is shown"
    assert seen == {"inside"}


def test_tools(home, root):
    (home / "a.c").write_text("int main;\n")
    (home / "b").mkdir()
    found = root.tool("find", "", options=["-name", "*.c"])
    assert found.code == 0 and b"a.c" in found.stdout and not found.truncated
    with pytest.raises(OSError):
        root.tool("find", "", options=["-exec", "id", ";"])
    for timeout in (0, -1, float("nan")):  # would mean the cap
        with pytest.raises(ValueError, match="no time limit"):
            root.tool("find", "", timeout=timeout)
    assert root.tool("find", "", timeout=3).code == 0


class Watched:
    """The library, and who is in it: `freed` tells for each end of an object whether a call was under way with it."""

    def __init__(self, library):
        self.library = library
        self.inside = threading.Semaphore(0)  # released by each call that has begun
        self.users = 0
        self.freed = []
        self.gone = set()
        self.late = []  # calls with what was freed, which are not made

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            if isinstance(arguments[0], int) and arguments[0] in self.gone:
                self.late.append(name)
                return 0
            if name == "cordon_root_open":
                self.gone.clear()  # it may get the memory of another
            self.users += 1
            self.inside.release()
            try:
                return function(*arguments)
            finally:
                self.users -= 1

        def free(*arguments):
            self.freed.append((name, self.users))
            self.gone.update(arguments)
            function(*arguments)

        return free if name in ("cordon_root_close", "cordon_root_watch_close") else call


@pytest.fixture
def watched(monkeypatch):
    seen = Watched(cordon.root.library())
    monkeypatch.setattr(cordon.root, "library", lambda: seen)
    return seen


@pytest.mark.parametrize("what", ["watch", "root"])
def test_a_watch_that_another_thread_closes(home, watched, what):
    """Its events end at once, and it is freed when nobody looks at it any more."""
    root = cordon.Root(home)
    watch = root.watch("", stability=0)
    events = []
    thread = threading.Thread(target=lambda: events.extend(watch))
    while watched.inside.acquire(blocking=False):
        pass
    thread.start()
    while watched.users == 0:
        watched.inside.acquire()
    (watch if what == "watch" else root).close()
    thread.join(10)
    assert not thread.is_alive() and events == [] and watch.done and watch.next() is None
    root.close()
    assert watched.freed == [("cordon_root_watch_close", 0), ("cordon_root_close", 0)]


def test_a_root_that_a_callback_closes(home, watched):
    root = cordon.Root(home)
    root.mkdir("d")
    for i in range(2000):
        root.write_text(f"d/{i}", "")
    root.rmtree("d", progress=lambda entries, size: root.close())
    assert not (home / "d").exists() and watched.freed == [("cordon_root_close", 0)]
    with pytest.raises(ValueError, match="closed"):
        root.exists("d")
    denied = cordon.Root(home, readonly=True, on_denial=lambda _: denied.close())
    with pytest.raises(OSError):
        denied.mkdir("d")
    with pytest.raises(ValueError, match="closed"):
        denied.counters()
    assert watched.freed[1:] == [("cordon_root_close", 0)]


def test_what_a_callback_raises_is_raised(home):
    def refuse(_denial):
        raise KeyboardInterrupt

    with cordon.Root(home, readonly=True, on_denial=refuse) as r:
        with pytest.raises(KeyboardInterrupt):
            r.mkdir("d")
        assert not r.exists("d")


@pytest.mark.parametrize("data", [bytearray(b"abc"), memoryview(b"abc"), b"abc"])
def test_bytes_of_every_kind(home, data):
    with cordon.Root(home) as r:
        assert r.write_bytes("a", data) == r.append_bytes("a", data) == 3
        assert r.read_bytes("a") == b"abcabc"


def test_arguments_of_a_wrong_type(home):
    with cordon.Root(home) as r:
        for wrong in ("abc", [1], 3, None):
            with pytest.raises(TypeError):
                r.write_bytes("a", wrong)
        with pytest.raises(TypeError):
            r.utime("a", "x", 0)
        assert not r.exists("a")


def test_a_wait_keeps_its_time_beside_another(home):
    with cordon.Root(home) as r, r.watch() as w:
        other = threading.Thread(target=lambda: next(iter(w), None), daemon=True)
        other.start()
        assert w.next(0.05) is None and w.next(float("nan")) is None
        r.write_text("a", "1")
        other.join(20)
        assert not other.is_alive()


def interrupted(act, seconds):
    """Whether Ctrl-C came in the midst of it."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        act()
        time.sleep(0.05)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return False


def test_an_interrupt_leaks_no_watch(home):
    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    descriptors = len(os.listdir("/proc/self/fd"))
    try:
        for i in range(60):
            with contextlib.suppress(KeyboardInterrupt), cordon.Root(home) as r:
                watch = None

                def act(r=r):
                    r.watch().close()

                interrupted(act, 0.0002 + i % 30 * 0.0008)
                del watch
            gc.collect()
    finally:
        signal.signal(signal.SIGALRM, before)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_garbage_of_a_circle(home, watched):
    """Its finalizers come in any order, and after those of weak references: what is freed is not used by them."""
    said = []

    class Job:
        def __init__(self):
            self.root = cordon.Root(home)
            self.watch = self.root.watch("", stability=0)
            self.circle = self

        def __del__(self):
            said.append((self.watch.done, self.watch.next(timeout=0)))
            self.watch.close()
            with pytest.raises(ValueError, match="closed"):
                self.root.exists("")
            self.root.close()
            said.append("closed")

    Job()
    gc.collect()
    assert watched.freed == [("cordon_root_watch_close", 0), ("cordon_root_close", 0)]
    assert watched.late == [] and said == [(True, None), "closed"]


def test_a_root_that_is_closed_while_a_watch_begins(home, watched, monkeypatch):
    call = cordon.Root._call

    def closing(root, *arguments):
        call(root, *arguments)
        root.close()  # by another thread, as it were

    monkeypatch.setattr(cordon.Root, "_call", closing)
    with pytest.raises(ValueError, match="closed"):
        cordon.Root(home).watch("")
    assert watched.freed == [("cordon_root_watch_close", 0), ("cordon_root_close", 0)]
