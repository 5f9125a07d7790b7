from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import given
from hypothesis import strategies as st

from elf.outbox.cron import cron, next_due

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Asia/Kolkata",
)
LINES = (
    "15 3 * * *",
    "30 2 * * *",
    "0 */6 * * *",
    "*/20 * * * *",
    "30 * * * SUN",
    "0 0 L * *",
    "30 1,2 * * *",
    "0 0 29 2 *",
)
BERLIN = "Europe/Berlin"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


MOMENTS = st.datetimes(datetime(2025, 1, 3), datetime(2027, 12, 31), timezones=st.just(UTC))


@given(st.sampled_from(LINES), st.sampled_from(ZONES), MOMENTS)
def test_the_latest_time_is_the_last_one_of_those_that_passed(line: str, zone: str, moment: datetime) -> None:
    due = cron(line, zone)(moment)
    assert due <= moment
    far_back = (due - timedelta(days=2)).astimezone(ZoneInfo(zone))
    times = (time.astimezone(UTC) for time in CronSim(line, far_back))
    assert list(takewhile(lambda time: time <= moment, times))[-1] == due


@given(st.sampled_from(LINES), st.sampled_from(ZONES), MOMENTS)
def test_times_follow_one_another_without_a_gap(line: str, zone: str, moment: datetime) -> None:
    when = cron(line, zone)
    due, following = when(moment), next_due(line, zone, moment)
    assert due <= moment < following
    assert when(due) == when(following - timedelta(microseconds=1)) == due
    assert when(following) == following


def test_through_a_year_with_its_shifts_a_daily_chore_is_due_once_a_day() -> None:
    for zone in ZONES:
        when = cron("30 2 * * *", zone)
        hours = [utc("2026-01-01") + timedelta(hours=hour) for hour in range(0, 24 * 365, 4)]
        times = [when(hour) for hour in hours]
        assert all(earlier <= later for earlier, later in pairwise(times))
        assert len(set(times)) in (365, 366)


@pytest.mark.parametrize(
    ("moment", "due"),
    [
        ("2026-03-29T00:59:59", "2026-03-28T01:30"),  # half past two is skipped: it is due at three
        ("2026-03-29T01:00", "2026-03-29T01:00"),
        ("2026-10-25T00:30", "2026-10-25T00:30"),  # half past two comes twice
        ("2026-10-25T01:10", "2026-10-25T00:30"),
        ("2026-10-25T01:30", "2026-10-25T00:30"),
        ("2026-10-26T01:30", "2026-10-26T01:30"),
    ],
)
def test_a_time_that_the_clocks_skip_or_repeat_is_due_once(moment: str, due: str) -> None:
    assert cron("30 2 * * *", BERLIN)(utc(moment)) == utc(due)


def test_a_line_or_zone_that_is_none_is_refused() -> None:
    with pytest.raises(CronSimError):
        cron("61 * * * *", "UTC")
    with pytest.raises(ZoneInfoNotFoundError):
        cron("0 * * * *", "Europe/Nowhere")
