"""How rules prove themselves: what marks make of their effectiveness, and that of their maturity."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from elf.families.knowledge.model import Maturity

HARM_WEIGHT: Final = 4
ESTABLISHED_SUCCESSES: Final = 5
ESTABLISHED_SCORE: Final = 0.6
PROVEN_SUCCESSES: Final = 15
PROVEN_SCORE: Final = 0.8
PROVEN_AGE: Final = timedelta(days=30)
INVERTED_HARMS: Final = 3
INVERTED_BELOW: Final = 0.3
NO_REASONS: Final = "repeated failures"


def helpful_score(success_count: int, applied_count: int) -> float:
    """Return the effectiveness after a helpful mark, of the counts that include it."""
    return success_count / applied_count


def harmful_score(success_count: int, harmful_count: int) -> float:
    """Return the effectiveness after a harmful mark, of the counts that include it: harm weighs four times."""
    return success_count / (success_count + HARM_WEIGHT * harmful_count + 0.01)


def promoted(maturity: Maturity, *, success_count: int, score: float, age: timedelta) -> Maturity:
    """Return the maturity after a helpful mark: at most one step up."""
    if maturity == "candidate" and success_count >= ESTABLISHED_SUCCESSES and score >= ESTABLISHED_SCORE:
        return "established"
    proves_itself = success_count >= PROVEN_SUCCESSES and score >= PROVEN_SCORE and age >= PROVEN_AGE
    return "proven" if maturity == "established" and proves_itself else maturity


def demoted(maturity: Maturity, *, score: float) -> Maturity:
    """Return the maturity after a harmful mark: at most one step down."""
    if maturity == "proven" and score < PROVEN_SCORE:
        return "established"
    return "candidate" if maturity == "established" and score < ESTABLISHED_SCORE else maturity


def is_to_be_inverted(maturity: Maturity, *, harmful_count: int, score: float) -> bool:
    """Tell after a harmful mark whether a rule does so much harm that its opposite is the rule."""
    return maturity != "anti_pattern" and harmful_count >= INVERTED_HARMS and score < INVERTED_BELOW


def inverted(content: str, reasons: Sequence[str]) -> str:
    """Return the content of the anti-pattern that a rule becomes."""
    why = "; ".join(reasons) or NO_REASONS
    return f"ANTI-PATTERN: Do NOT {content}. This caused problems because: {why}"
