"""Long computing in slices, so that an event loop goes on with everything else in between.

Work that may take long is written as a generator that yields between its pieces, each well below a millisecond but for
single calls into C, and returns its result. Where nobody else waits, `at_once` runs it like a function.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from typing import Final, TypeAlias, TypeVar

import anyio.lowlevel

T = TypeVar("T")

SLICE_S: Final = 0.002
"""How long a slice lasts before the loop gets its turn, in seconds."""

Slices: TypeAlias = Generator[None, None, T]


async def in_slices(work: Slices[T]) -> T:
    """Run work to its end and return its result; other tasks go on whenever a slice of it is over."""
    with closing(work):
        end = time.perf_counter() + SLICE_S
        while True:
            try:
                next(work)
            except StopIteration as done:
                result: T = done.value
                return result
            if time.perf_counter() > end:
                await anyio.lowlevel.checkpoint()
                end = time.perf_counter() + SLICE_S


def at_once(work: Slices[T]) -> T:
    """Run work to its end without a pause and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            result: T = done.value
            return result
