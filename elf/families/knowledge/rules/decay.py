"""How memories fade: confidence that nothing confirms, and the recency of what nobody looks at."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

EXPIRED_BELOW: Final = 0.05
FADING_BELOW: Final = 0.2
HALF_LIFE_DAYS: Final = 7.0

DecayState: TypeAlias = Literal["fresh", "fading", "expired"]

_DAY = timedelta(days=1)


def days_between(earlier: datetime, later: datetime) -> float:
    """Return the days from one moment to another, in parts of a day; 0 where they come the other way round."""
    return max(0.0, (later - earlier) / _DAY)


def effective_confidence(
    confidence: float, decay_rate: float, last_confirmed_at: datetime | None, now: datetime
) -> float:
    """Return confidence * exp(-decay_rate * days since it was confirmed last).

    What does not decay keeps its confidence whether or not it was ever confirmed; other memories that never were have
    none.
    """
    if decay_rate == 0.0:
        return confidence
    if last_confirmed_at is None:
        return 0.0
    return confidence * math.exp(-decay_rate * days_between(last_confirmed_at, now))


def recency(last_referenced_at: datetime | None, now: datetime) -> float:
    """Return exp(-ln(2) / 7 * days since it was referenced last), from 0 to 1; 0 when it never was."""
    if last_referenced_at is None:
        return 0.0
    days = days_between(last_referenced_at, now)
    return min(1.0, max(0.0, math.exp(-math.log(2) / HALF_LIFE_DAYS * days)))


def decay_state(effective: float) -> DecayState:
    """Return what becomes of a memory at an effective confidence."""
    if effective < EXPIRED_BELOW:
        return "expired"
    return "fading" if effective < FADING_BELOW else "fresh"
