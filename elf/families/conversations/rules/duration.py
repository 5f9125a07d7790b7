"""Durations of ISO 8601, such as P90D or PT12H, in which a year has 365 days and a month 30."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_DURATION: Final = re.compile(
    r"P(?=.)(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_DAYS: Final = (365, 30, 7, 1)


def parsed_duration(text: str) -> timedelta:
    """Return a duration above zero. Raises ValueError for what is none, and for one of more than 999,999,999 days."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("is no ISO 8601 duration, such as P90D")
    *days, hours, minutes, seconds = (part or "0" for part in match.groups())
    try:
        duration = timedelta(
            days=sum(int(count) * length for count, length in zip(days, _DAYS, strict=True)),
            hours=int(hours),
            minutes=int(minutes),
            seconds=float(seconds),
        )
    except OverflowError:
        raise ValueError("is too long") from None
    if duration <= timedelta(0):
        raise ValueError("must be longer than nothing")
    return duration


def moment_before(moment: datetime, duration: timedelta) -> datetime:
    """Return the moment that lies so long before another, or the first there is."""
    try:
        return moment - duration
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
