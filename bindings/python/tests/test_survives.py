"""Threads, event loops, forks, interrupts, garbage, many runs."""

import asyncio
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
    from cordon.sandbox import Sandbox
    sandbox = Sandbox(["sleep", "60"], {"version": 1}, None, None, None)
    assert children()
    del sandbox
    gc.collect()


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
    from cordon.sandbox import Sandbox
    sandbox = Sandbox(["sh", "-c", "sleep 0.5; echo done"], {"version": 1}, None, None, None)
    child = os.fork()
    if child == 0:
        sandbox.abandon()
        os._exit(0 if cordon.run(["true"]).ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    while not sandbox.step():
        time.sleep(0.01)
    assert sandbox.finish().stdout == "done\n"


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
