"""What comparing memories came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Skip: TypeAlias = Literal[
    "COMPARED_LATELY", "PAIRS_CAP", "TOKEN_BUDGET", "TIME", "MODEL_AWAY", "UNREADABLE", "UNDECIDED", "DIFFERENT",
    "NO_TEXT", "CHANGED",
]  # fmt: skip
"""Why a pair stays two memories. COMPARED_LATELY: within 14 days. PAIRS_CAP, TOKEN_BUDGET, TIME and MODEL_AWAY: it
waits for another day. UNREADABLE: the model did not say. UNDECIDED: nobody surely knows. DIFFERENT: they are two facts.
NO_TEXT: no sound text says both. CHANGED: one of the two is not as it was any more."""

WAITING: Final[frozenset[Skip]] = frozenset({"PAIRS_CAP", "TOKEN_BUDGET", "TIME", "MODEL_AWAY"})


@dataclass(slots=True)
class Report:
    """Of one user or several; `tokens` are those of questions and of the longest answers that they may have."""

    users: int = 0
    pairs_seen: int = 0
    pairs_asked: int = 0
    questions: int = 0
    merged: int = 0
    contradictions: int = 0
    tokens: int = 0
    skipped: Counter[Skip] = field(default_factory=Counter)

    def skip(self, reason: Skip, count: int = 1) -> None:
        if count:
            self.skipped[reason] += count


def total(reports: Iterable[Report]) -> Report:
    """Return several reports as one."""
    whole = Report()
    for one in reports:
        whole.users += one.users
        whole.pairs_seen += one.pairs_seen
        whole.pairs_asked += one.pairs_asked
        whole.questions += one.questions
        whole.merged += one.merged
        whole.contradictions += one.contradictions
        whole.tokens += one.tokens
        whole.skipped += one.skipped
    return whole
