"""
A grader: each submission gets the same input, the same limits and no chance to look around. Four
run at once; one that hangs or floods costs nothing but its own marks.
"""

from __future__ import annotations

import asyncio
from typing import Dict, List, Tuple

import cordon

CASES: List[Tuple[str, str]] = [("2 3\n", "5\n"), ("10 -4\n", "6\n")]

SUBMISSIONS: Dict[str, str] = {
    "ada": "a, b = map(int, input().split()); print(a + b)",
    "bob": "a, b = map(int, input().split()); print(a - b)",
    "cid": "while True: print('5')",
    "dot": "import os\nos.system('cat /home/*/solutions')\nprint(5)",
}

LIMITS = cordon.Policy(limits=cordon.Limits(wall_ms=2000, cpu_ms=1000, mem_bytes=64 << 20, pids=8,
                                            output_bytes=4096, on_overflow="kill"))


async def grade(code: str, slots: asyncio.Semaphore) -> str:
    right = 0
    for given, expected in CASES:
        async with slots:
            result = await cordon.run_async(["python3", "-c", code], LIMITS, input=given)
        if result.status not in ("OK", "NONZERO_EXIT"):
            return result.status
        right += result.stdout == expected
    return f"{right} of {len(CASES)}"


async def main() -> None:
    slots = asyncio.Semaphore(4)
    marks = await asyncio.gather(*(grade(code, slots) for code in SUBMISSIONS.values()))
    for name, mark in zip(SUBMISSIONS, marks):
        print(f"{name}: {mark}")


if __name__ == "__main__":
    asyncio.run(main())
