"""
An agent loop: code that a model wrote runs in a sandbox, and the model hears in plain words what
became of it. The model here is a list of answers, so that the example runs anywhere.
"""

from __future__ import annotations

from typing import Iterator, List

import cordon

POLICY = cordon.Policy(extends="stage",
                       limits=cordon.Limits(wall_ms=5000, mem_bytes=128 << 20, output_bytes=16 << 10))

ANSWERS = [
    "import urllib.request\nprint(urllib.request.urlopen('http://localhost').status)",
    "print(open('/etc/shadow').read())",
    "while True: pass",
    "print(sum(n * n for n in range(10)))",
]


def model(conversation: List[str]) -> Iterator[str]:
    """Where a real loop asks its model, with the conversation so far."""
    yield from ANSWERS


def main() -> None:
    conversation: List[str] = []
    for code in model(conversation):
        result = cordon.run(["python3", "-c", code], POLICY)
        last = (result.stderr.strip().splitlines() or [""])[-1]
        conversation.append(f"{result.explain()}\n{result.stdout}{last}")
        print(f"> {code.splitlines()[-1]}\n{result.status}: {result.stdout.strip() or last}\n")
        if result.ok:
            break


if __name__ == "__main__":
    main()
