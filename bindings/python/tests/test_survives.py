"""Threads, event loops, forks, interrupts, garbage, many runs."""

import asyncio
import errno
import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import cordon
import pytest
from conftest import children
from cordon._command import Sandbox
from cordon.sandbox import conclude, start


def test_threads(nothing_left):
    results = []

    def work(n):
        for i in range(5):
            results.append((n * 10 + i, cordon.run(["sh", "-c", f"echo {n * 10 + i}"]).stdout.strip()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 40 and all(str(n) == text for n, text in results)


def test_a_hundred_at_once(nothing_left):
    async def all_of_them():
        return await asyncio.gather(*(cordon.run_async(["sh", "-c", f"echo {n}"]) for n in range(100)))

    assert [r.stdout.strip() for r in asyncio.run(all_of_them())] == [str(n) for n in range(100)]


def test_the_loop_goes_on_meanwhile(nothing_left):
    async def both():
        ticks = 0
        running = asyncio.ensure_future(cordon.run_async(["sleep", "0.3"]))
        while not running.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks, running.result().ok

    ticks, ok = asyncio.run(both())
    assert ok and ticks > 5


def test_cancelling_ends_it(nothing_left):
    async def cancelled():
        running = asyncio.ensure_future(cordon.run_async(["sleep", "60"]))
        await asyncio.sleep(0.2)
        assert children()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())


def test_an_exception_in_the_middle(nothing_left):
    async def failing():
        async def fail():
            await asyncio.sleep(0.1)
            raise KeyError("middle")

        await asyncio.gather(cordon.run_async(["sleep", "1"]), fail())

    with pytest.raises(KeyError):
        asyncio.run(failing())


def test_forgotten_runs_are_collected(nothing_left):
    sandbox = start(["sleep", "60"], {"version": 1})
    assert children()
    began = time.monotonic()
    del sandbox
    gc.collect()
    assert time.monotonic() - began < 10, "it ended by its own limit"


def test_keyboard_interrupt(tmp_path, site):
    """Ctrl-C while it runs: KeyboardInterrupt at once, and no orphan."""
    mark = f"61.{os.getpid()}"
    program = textwrap.dedent(f"""
        import sys; sys.path.insert(0, {str(site)!r})
        import cordon
        print("ready", flush=True)
        try:
            cordon.run(["sleep", "{mark}"], timeout=100)
        except KeyboardInterrupt:
            print("interrupted")
        """)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    while not _running(mark):
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=20)[0] == "interrupted\n"
    assert child.returncode == 0 and not _running(mark)


def test_an_interrupt_at_any_moment_of_a_start():
    """The handler raises between two steps of the interpreter, wherever that is: nothing goes on without us."""
    class Interrupt(Exception):
        pass

    def interrupt(*_):
        raise Interrupt

    mark = f"64.{os.getpid()}"
    others = children()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for step in range(400):
            with pytest.raises(Interrupt):
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + step * 1e-5)
                cordon.run(["sleep", mark], timeout=100)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert children() == others, f"after {10 * step} us"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not _running(mark)


def test_an_interrupt_at_the_end_leaves_no_zombie(monkeypatch, nothing_left):
    """While the command that has answered is waited for, once."""
    wait, raised = os.waitid, []

    def interrupted(*arguments):
        if not raised:
            raised.append(True)
            raise KeyboardInterrupt
        return wait(*arguments)

    monkeypatch.setattr(os, "waitid", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cordon.run(["true"])


def test_an_interrupt_before_a_start_has_begun(monkeypatch):
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    Sandbox.__new__(Sandbox)
    gc.collect()
    assert not said


def _running(word):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read().split(b"\0")[:2] == [b"sleep", word.encode()]:
                    return True
        except OSError:
            pass
    return False


def test_a_fork_does_not_end_the_parents_run(nothing_left):
    sandbox = start(["sh", "-c", "sleep 0.5; echo done"], {"version": 1})
    child = os.fork()
    if child == 0:
        sandbox.release()
        os._exit(0 if cordon.run(["true"]).ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert conclude(sandbox, False).stdout == "done\n"
    sandbox.release()


def _host(site, tmp_path, program, **more):
    """A program of its own that uses the package, and its output."""
    head = f"import sys; sys.path.insert(0, {str(site)!r})\nimport os, signal, threading, time, cordon\n"
    return subprocess.Popen([sys.executable, "-c", head + textwrap.dedent(program)], cwd=tmp_path,
                            stdout=subprocess.PIPE, text=True, **more)


def _eventually(check):
    for _ in range(500):
        if check():
            return True
        time.sleep(0.02)
    return False


def test_nothing_outlives_a_host_that_is_killed(tmp_path, site):
    """Started by a thread that has ended since, with a child of the host that holds copies of all it had open."""
    mark = f"62.{os.getpid()}"
    host = _host(site, tmp_path, f"""
        from cordon.sandbox import start
        kept = []
        t = threading.Thread(target=lambda: kept.append(start(["sleep", "{mark}"], {{"version": 1}})))
        t.start(); t.join()
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        time.sleep(60)
        """)
    child = int(host.stdout.readline())
    assert _eventually(lambda: _running(mark))
    time.sleep(0.2)
    assert _running(mark), "the end of a thread is not the end of the host"
    host.kill()
    host.wait()
    try:
        assert _eventually(lambda: not _running(mark))
    finally:
        os.kill(child, signal.SIGKILL)
        host.stdout.close()


@pytest.mark.parametrize("reaper", [
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "signal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))"])
def test_a_child_that_somebody_else_reaps(reaper, tmp_path, site):
    host = _host(site, tmp_path, f"""
        {reaper}
        result = cordon.run(["sh", "-c", "sleep 0.1; echo text; exit 3"])
        print(result.status, result.rc, result.stdout_data)
        try:
            cordon.run(["true"], {{"version": 1, "limitz": 0}})
        except cordon.PolicyError as e:
            print("limitz" in str(e))
        """)
    assert host.communicate(timeout=30)[0] == "NONZERO_EXIT 3 b'text\\n'\nTrue\n"


def test_keys_of_the_terminal_are_the_hosts(tmp_path, site):
    """SIGINT for the whole group, and a host that handles it: the run goes on. And one that ignores it can end a run."""
    mark = f"1.{os.getpid()}"
    host = _host(site, tmp_path, f"""
        seen = []
        signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        print(cordon.run(["sleep", "{mark}"]).status, seen)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        from cordon.sandbox import start
        began = time.monotonic()
        start(["sleep", "20"], {{"version": 1}}).release()
        print(time.monotonic() - began < 10)
        """, start_new_session=True)
    assert _eventually(lambda: _running(mark))
    os.killpg(host.pid, signal.SIGINT)
    assert host.communicate(timeout=30)[0] == "OK [1]\nTrue\n"


def test_too_few_descriptors(nothing_left):
    """At every step of a start: an error with a name, and nothing is left."""
    held = [os.open("/", os.O_RDONLY)]
    while held[-1] < max(map(int, os.listdir("/proc/self/fd"))) - 1:  # the listing's own is the one above
        held.append(os.open("/", os.O_RDONLY))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    outcomes = []
    try:
        for room in range(8):
            resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1 + room, hard))
            try:
                outcomes.append(cordon.run(["cat"], input=b"x").status)
            except OSError as e:
                outcomes.append(e.errno)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in held:
            os.close(fd)
    # Here first, then in the command, then (in time) nowhere.
    stages = [[errno.EMFILE, "INTERNAL_ERROR", "OK"].index(outcome) for outcome in outcomes]
    assert stages == sorted(stages) and stages[:3] == [0, 0, 0] and stages[-1] > 0, outcomes
    assert cordon.run(["cat"], input=b"x").ok


def test_a_root_is_there_until_the_process_is_gone(tmp_path, site):
    """A thread that nobody waits for is in it when the interpreter ends, and a function of the exit uses it."""
    host = _host(site, tmp_path, """
        import atexit

        def last():  # registered before the first finalizer, and so called after it
            root.write_text("f", "text")
            print(root.read_text("f"), watch.done, thread.is_alive())

        def follow():
            for event in watch:
                pass

        atexit.register(last)
        root = cordon.Root(".")
        watch = root.watch("", stability=0)
        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        """, env={**os.environ, "MALLOC_PERTURB_": "165"})  # what is freed is not what it was
    assert host.communicate(timeout=30)[0] == "text False True\n" and host.returncode == 0


def test_much_in_and_much_out(nothing_left):
    data = os.urandom(1 << 20) * 10
    policy = cordon.Policy(limits=cordon.Limits(output_bytes=16 << 20))
    assert cordon.run(["cat"], policy, input=data).stdout_data == data


def test_a_host_without_standard_streams(tmp_path, site):
    host = _host(site, tmp_path, """
        for n in range(3):
            os.close(n)
        result = cordon.run(["sh", "-c", "cat; echo error >&2"], input="text")
        with open("seen", "w") as f:
            print(result.status, result.stdout, result.stderr, file=f)
        """)
    host.communicate(timeout=30)
    assert (tmp_path / "seen").read_text() == "OK text error\n\n"


def test_a_command_that_is_killed_from_outside(nothing_left):
    sandbox = start(["sleep", "60"], {"version": 1})
    signal.pidfd_send_signal(sandbox.descriptors()[1], signal.SIGKILL)
    with pytest.raises(cordon.CordonError, match="signal 9"):
        conclude(sandbox, False)
    sandbox.release()


def test_a_fork_that_holds_the_pipe(monkeypatch, nothing_left):
    """Between pipe and close a thread of the host may fork: the end of the pipe does not come then."""
    held = []
    pipe = os.pipe

    def shared():
        ends = pipe()
        held.append(os.dup(ends[1]))
        return ends

    monkeypatch.setattr(os, "pipe", shared)
    assert cordon.run(["sh", "-c", "echo text"]).stdout == "text\n"
    with pytest.raises(cordon.PolicyError, match="limitz"):
        cordon.run(["true"], {"version": 1, "limitz": 0})
    assert asyncio.run(cordon.run_async(["sh", "-c", "echo text"])).stdout == "text\n"
    for descriptor in held:
        os.close(descriptor)


def test_no_leak(nothing_left):
    """10,000 runs in full, with CORDON_PYTHON_RUNS; fewer in the quick suite."""
    runs = int(os.environ.get("CORDON_PYTHON_RUNS", "300"))
    for _ in range(100):
        cordon.run(["true"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(runs):
        assert cordon.run(["true"]).ok
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2048, f"{grown} KiB more after {runs} runs"
