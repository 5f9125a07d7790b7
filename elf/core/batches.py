"""Cutting many things into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    things: Iterable[T], size_of: Callable[[T], int], *, most_size: int, most: int | None = None
) -> Iterator[list[T]]:
    """Yield things in their order, at most `most` at a time (None: however many), whose sizes are `most_size` in all.

    One that is larger by itself is a batch alone.
    """
    batch: list[T] = []
    size = 0
    for thing in things:
        if batch and (len(batch) == most or size + size_of(thing) > most_size):
            yield batch
            batch, size = [], 0
        batch.append(thing)
        size += size_of(thing)
    if batch:
        yield batch
