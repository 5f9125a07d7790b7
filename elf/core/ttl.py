"""How long a note lives (section 11 of the notes specification)."""

from __future__ import annotations

from datetime import datetime, timedelta

from elf.core.errors import InvalidRequest


def expiry(*, now: datetime, ttl_days: float | None, default_days: int) -> datetime | None:
    """Return the moment a note written at `now` expires, or None when it never does.

    `ttl_days` (days, may be fractional) is what the request asked for and wins when it is above zero;
    otherwise `default_days` of the note's type applies when it is above zero. Raises InvalidRequest when the
    moment lies beyond the year 9999 or the number is not finite.
    """
    days = ttl_days if ttl_days is not None and not ttl_days <= 0 else default_days
    if days <= 0:
        return None
    try:
        return now + timedelta(days=days)
    except (OverflowError, ValueError) as error:  # ValueError: NaN is no number of days
        raise InvalidRequest(f"a life of {days} days does not end before the year 10000") from error


def is_expired(expires_at: datetime | None, now: datetime) -> bool:
    """Tell whether a note has expired: it is gone from the very moment of `expires_at` on."""
    return expires_at is not None and expires_at <= now
