"""How many recordings and replays a process has at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

from elf.families.conversations.errors import TooManyStreams

Kind: TypeAlias = Literal["recording", "replay"]
KINDS: Final[tuple[Kind, ...]] = ("recording", "replay")


class Streams:
    """Counts them, and lets no more than `most` begin."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[Kind] = Counter()

    def counts(self) -> Mapping[tuple[str, ...], float]:
        """Return how many there are of each kind."""
        return {(kind,): self._open[kind] for kind in KINDS}

    @contextmanager
    def one(self, kind: Kind) -> Iterator[None]:
        """Have one more meanwhile. Raises TooManyStreams when there are as many as there may be."""
        if self._open.total() >= self._most:
            raise TooManyStreams
        self._open[kind] += 1
        try:
            yield
        finally:
            self._open[kind] -= 1
