"""Measuring things beside their limits: they take turns, so that what else the machine does meets all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

TURNS: Final = 3
WARM_UP: Final = 3

Call = Callable[[], Awaitable[object]]
Figures = Sequence[Mapping[str, float]]
"""Of each turn: what each thing took or reached, by its name."""


async def took(call: Call) -> float:
    """Return how many milliseconds a call takes."""
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1000


async def medians(calls: Mapping[str, Call], *, rounds: int) -> Figures:
    """Return the p50 of each call, of `rounds` a turn: one of each after the other."""
    for _ in range(WARM_UP):
        for call in calls.values():
            await call()
    turns = []
    for _ in range(TURNS):
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                taken[name].append(await took(call))
        turns.append({name: statistics.median(values) for name, values in taken.items()})
    return turns


def show(turns: Figures, unit: str) -> None:
    """Print the median of each figure over the turns."""
    for name in turns[0]:
        print(
            f"  {name:<56} {statistics.median(turn[name] for turn in turns):9.2f} {unit}"
            f"   ({', '.join(f'{turn[name]:.2f}' for turn in turns)})"
        )


def compare(turns: Figures, name: str, limit: str, *, goal: str) -> None:
    """Print the median of the ratios of a figure to its limit, one a turn."""
    ratios = [turn[name] / turn[limit] for turn in turns]
    print(
        f"{name}, beside {limit}: {statistics.median(ratios):.2f} (goal {goal};"
        f" turns {', '.join(f'{one:.2f}' for one in ratios)})",
        flush=True,
    )
