"""Moments as they come in requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime


def moments(pattern: re.Pattern[str], refusal: str) -> Callable[[object], datetime]:
    """Return what reads moments that a pattern allows; one without an offset is in UTC.

    It raises ValueError, which says `refusal`, for anything else.
    """

    def moment_of(value: object) -> datetime:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(refusal)
        try:
            moment = datetime.fromisoformat(value.upper())
            return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
        except (ValueError, OverflowError):
            raise ValueError(refusal) from None

    return moment_of
