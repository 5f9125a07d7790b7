"""Times of chores as lines of cron: minute, hour, day of the month, month, day of the week.

They are those of Debian's cron. What is due at an hour that the clocks skip is due when they have skipped it; what is
due at an hour that they go through twice is due the first time. Only what is due every hour, or every few, goes by the
hours that pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from elf.outbox.chores import When

LONGEST_SHIFT = timedelta(hours=3)  # of the clocks, and an hour


def cron(line: str, zone: str) -> When:
    """Return the times of a line of cron by the clocks of a zone of the IANA database.

    Raises CronSimError for a line that is none, and ZoneInfoNotFoundError.
    """
    clocks = ZoneInfo(zone)
    CronSim(line, datetime.now(clocks))

    def latest(moment: datetime) -> datetime:
        # Backwards the clocks cannot be told apart where they go through an hour twice; forwards they can.
        earlier = (moment - LONGEST_SHIFT).astimezone(clocks)
        due = next(CronSim(line, earlier, reverse=True))
        found = due.astimezone(UTC)
        for later in _after(line, due):
            if later > moment:
                break
            found = later
        return found

    return latest


def next_due(line: str, zone: str, moment: datetime) -> datetime:
    """Return the first time after a moment that a line of cron is due, in UTC."""
    earlier = cron(line, zone)(moment).astimezone(ZoneInfo(zone))
    return next(later for later in _after(line, earlier) if later > moment)


def _after(line: str, due: datetime) -> Iterator[datetime]:
    return (later.astimezone(UTC) for later in CronSim(line, due))
