"""Long computing in slices, so that an event loop goes on with everything else in between.

Work that may take long is written as a generator that yields between its pieces, each well below a millisecond but for
single calls into C, and returns its result. A piece that is long itself goes to a worker thread, by `elsewhere`. Where
nobody else waits, `at_once` runs all of it like a function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, Final, TypeAlias, TypeVar

import anyio.lowlevel
import anyio.to_thread

T = TypeVar("T")

SLICE_S: Final = 0.002
"""How long a slice lasts before the loop gets its turn, in seconds."""

QUICK_BYTES: Final = 4096
"""Reading so many bytes takes a part of a slice."""

Slices: TypeAlias = Generator[Any, Any, T]
"""Yields None, or a call to be made elsewhere, whose result it is sent."""


async def in_slices(work: Slices[T]) -> T:
    """Run work to its end and return its result; other tasks go on whenever a slice of it is over."""
    with closing(work):
        made: Any = None
        end = time.perf_counter() + SLICE_S
        while True:
            try:
                call = work.send(made)
            except StopIteration as done:
                result: T = done.value
                return result
            made = None if call is None else await anyio.to_thread.run_sync(call)
            if call is not None or time.perf_counter() > end:
                await anyio.lowlevel.checkpoint()
                end = time.perf_counter() + SLICE_S


async def read_in_slices(reading: Slices[T], size: int) -> T:
    """Run the reading of so many bytes to its end and return its result: in slices, unless they are few."""
    return at_once(reading) if size <= QUICK_BYTES else await in_slices(reading)


def elsewhere(call: Callable[[], T]) -> Slices[T]:
    """Return what a call returns; where others wait for the loop, it is made in a worker thread.

    What it raises ends the work.
    """
    made: T = yield call
    return made


def at_once(work: Slices[T]) -> T:
    """Run work to its end without a pause and return its result."""
    made: Any = None
    while True:
        try:
            call = work.send(made)
        except StopIteration as done:
            result: T = done.value
            return result
        made = None if call is None else call()
