#!/usr/bin/env python3
"""What knowing ELF's own context again adds to a call of remember.

    python -m ops.bench.own_context [--pairs 100]

A service in this process remembers for a user who was shown a context of thirty lines; each message has four sentences,
and is not waited for. Each pair of calls is made with and without the look, in turns of which comes first. Prints the
median of both, the median of the differences of the pairs as a share of the call without it, the bounds between which
90 % of the medians lie when the pairs are drawn again (bootstrap), and the load of the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from unittest.mock import patch

from elf import Memory
from elf.memory.own_context import OwnContext
from elf.offers import Message, Subject
from ops.bench.identity import bounds
from tests.folders import fresh_folder

USER = "ana"
PLACES = ("Porto", "Oslo", "Rome", "Bergen", "Lisbon", "Vienna", "Turin", "Ghent", "Basel", "Malmo")
ALLOWED = 0.05


async def _all(_: OwnContext, __: Subject, messages: Sequence[Message]) -> dict[int, str]:
    """Look for nothing."""
    return {place: message.text for place, message in enumerate(messages)}


def main() -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=100)
    pairs = parser.parse_args().pairs
    with fresh_folder() as folder, Memory(folder / "data", user_id=USER) as memory:
        memory.remember([f"I moved to {place} with {n} cats." for n in range(3) for place in PLACES])
        memory.context("Where did the user move, and with whom?", top_k=30, budget_tokens=2000)

        def once(number: int) -> float:
            text = (
                f"Today is day {number}. It rained a lot. The tram was late. The harbour of {number} is deep."
            )
            began = time.perf_counter()
            memory.remember(text, conversation=f"c{number}", wait=False)
            return (time.perf_counter() - began) * 1000

        def without(number: int) -> float:
            with patch.object(OwnContext, "without", _all):
                return once(number)

        for number in range(20):
            once(-number)
        looked, plain = [], []
        for pair in range(pairs):
            if pair % 2:
                looked.append(once(2 * pair))
                plain.append(without(2 * pair + 1))
            else:
                plain.append(without(2 * pair))
                looked.append(once(2 * pair + 1))
    typical = statistics.median(plain)
    shares = [(one - other) / typical for one, other in zip(looked, plain, strict=True)]
    low, high = bounds(shares)
    share = statistics.median(shares)
    verdict = "HOLDS" if share <= ALLOWED else "FAILS"
    print(
        f"a call of remember: {typical:.2f} ms without the look, {statistics.median(looked):.2f} ms with it"
    )
    print(f"the look: {share:+.1%} (90 %: {low:+.1%} to {high:+.1%}), at most {ALLOWED:.0%}: {verdict}")
    print(f"{pairs} pairs, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
