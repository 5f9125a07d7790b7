"""Moments that were given: each has an offset, and is of the years that there are in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from elf.core.moments import check_moments

FAR_EAST = timezone(timedelta(hours=14))
FAR_WEST = timezone(-timedelta(hours=14))
SOUND = datetime(2026, 1, 31, tzinfo=FAR_EAST)


class Talk(msgspec.Struct, kw_only=True):
    began: datetime
    ended: datetime | None = None
    pauses: list[datetime] = []
    notes: dict[str, datetime] = {}


@pytest.mark.parametrize(
    "value",
    [
        None, "0001-01-01T00:00:00+14:00", 1, [], {},
        datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC),
        Talk(began=SOUND, ended=SOUND, pauses=[SOUND], notes={"a": SOUND}),
    ],
)  # fmt: skip
def test_what_can_be_stored_is_let_through(value: object) -> None:
    check_moments(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Talk(began=datetime.min.replace(tzinfo=FAR_EAST)), "began is in no year from 1 to 9999 in UTC"),
        (
            Talk(began=SOUND, ended=datetime.max.replace(tzinfo=FAR_WEST)),
            "ended is in no year from 1 to 9999 in UTC",
        ),
        (Talk(began=SOUND, pauses=[SOUND, datetime(2026, 1, 1)]), "pauses[1] has no offset from UTC"),
        ([Talk(began=SOUND, notes={"a": datetime(2026, 1, 1)})], "[0].notes.a has no offset from UTC"),
        ({"talk": (Talk(began=datetime(2026, 1, 1)),)}, "talk[0].began has no offset from UTC"),
    ],
)
def test_what_cannot_be_is_refused_by_its_path(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_moments(value)
