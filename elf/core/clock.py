"""The wall clock as a value, so that rules about age and expiry can be tested at any moment."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time; everything in ELF that stores or compares a moment asks one of these."""

    def now(self) -> datetime:
        """Return the current moment, aware, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)
