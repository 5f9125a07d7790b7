"""Which of the ranked candidates are told: within all bounds, and each fact once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from elf.core.chunking import TokenCounter
from elf.core.slices import Slices
from elf.memory.ranking import LeftOut, Ranked, Reason, Sameness


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How many items are told, how many tokens their texts have, and how relevant each is at least."""

    top_k: int
    budget_tokens: int | None = None
    min_relevance: float | None = None


@dataclass(slots=True)
class Chosen:
    """What is told, best first, what is not, and how many tokens the texts have."""

    best: list[Ranked] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    tokens: int = 0

    def leave_out(self, one: Ranked, reason: Reason) -> None:
        self.left_out.append(LeftOut(one.offered, reason, one.score, one.relevance))


def chosen(
    candidates: Sequence[Ranked], bounds: Bounds, counter: TokenCounter, sameness: Sameness
) -> Slices[Chosen]:
    """Return what is told of candidates that come best first. A text that does not fit is passed over."""
    told = Chosen()
    for one in candidates:
        least = bounds.min_relevance
        if least is not None and (one.relevance is None or one.relevance < least):
            told.leave_out(one, "BELOW_MIN_RELEVANCE")
        elif (same := _same_as(one, told.best, sameness)) is not None:
            same.also.append(one.offered)
            told.leave_out(one, "SAME_AS_ANOTHER")
        elif len(told.best) == bounds.top_k:
            told.leave_out(one, "BELOW_TOP_K")
        elif not _fits(one, told, bounds, counter):
            told.leave_out(one, "BEYOND_BUDGET")
        else:
            told.best.append(one)
        yield
    return told


def _same_as(one: Ranked, best: Sequence[Ranked], sameness: Sameness) -> Ranked | None:
    text = one.offered.item.text
    return next((other for other in best if sameness.same(text, other.offered.item.text)), None)


def _fits(one: Ranked, told: Chosen, bounds: Bounds, counter: TokenCounter) -> bool:
    tokens = told.tokens + len(counter.spans(f"{one.offered.item.text}\n"))
    if bounds.budget_tokens is not None and tokens > bounds.budget_tokens:
        return False
    told.tokens = tokens
    return True
