"""Which of the ranked candidates are told: within all bounds, and each fact once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from elf.core.chunking import TokenCounter, counting_tokens
from elf.core.slices import Slices
from elf.memory.ranking import LeftOut, Ranked, Reason, Sameness


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How many items are told at most, and how relevant each is at least."""

    top_k: int
    min_relevance: float | None = None


class Room(Protocol):
    """What the items that are told have to fit into together."""

    def takes(self, one: Ranked) -> Slices[bool]:
        """Take in a candidate, or return False where it does not fit."""
        ...

    def gives_back(self) -> Slices[Sequence[Ranked]]:
        """Return those that do not fit after all, now that nothing more comes; they are in it no longer."""
        ...


class TextRoom:
    """Holds texts of at most `budget_tokens` tokens in all; None: of any number."""

    def __init__(self, counter: TokenCounter, budget_tokens: int | None) -> None:
        self._counter = counter
        self._budget = budget_tokens
        self.tokens = 0

    def takes(self, one: Ranked) -> Slices[bool]:
        """Count a text, unless it does not fit."""
        left = None if self._budget is None else self._budget - self.tokens
        tokens = yield from counting_tokens(f"{one.offered.item.text}\n", self._counter, most=left)
        if left is not None and tokens > left:
            return False
        self.tokens += tokens
        return True

    def gives_back(self) -> Slices[Sequence[Ranked]]:
        """Return nothing: what was counted fits."""
        yield from ()
        return ()


@dataclass(slots=True)
class Chosen:
    """What is told, best first, and what is not."""

    best: list[Ranked] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def leave_out(self, one: Ranked, reason: Reason) -> None:
        self.left_out.append(LeftOut(one.offered, reason, one.score, one.relevance))


def chosen(candidates: Sequence[Ranked], bounds: Bounds, room: Room, sameness: Sameness) -> Slices[Chosen]:
    """Return what is told of candidates that come best first. One that does not fit into the room is passed over."""
    told = Chosen()
    for one in candidates:
        least = bounds.min_relevance
        if least is not None and (one.relevance is None or one.relevance < least):
            told.leave_out(one, "BELOW_MIN_RELEVANCE")
        elif (same := sameness.first_of(told.best, one)) is not None:
            same.also.append(one.offered)
            told.leave_out(one, "SAME_AS_ANOTHER")
        elif len(told.best) == bounds.top_k:
            told.leave_out(one, "BELOW_TOP_K")
        elif not (yield from room.takes(one)):
            told.leave_out(one, "BEYOND_BUDGET")
        else:
            told.best.append(one)
        yield
    for one in (yield from room.gives_back()):
        told.best.remove(one)
        told.leave_out(one, "BEYOND_BUDGET")
    return told
