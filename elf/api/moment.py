"""Moments as they come in requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, WithJsonSchema

_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_MIDNIGHT: Final = "T00:00:00Z"


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


def _written(moment: object) -> object:
    """Return a moment that is written as one: numbers are none."""
    if isinstance(moment, datetime) or (isinstance(moment, str) and _MOMENT.fullmatch(moment)):
        return moment
    raise ValueError("must be a moment such as 2026-01-31T12:00:00Z")


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a moment of the years 1 to 9999 in UTC, too") from None


def _at_midnight(value: object) -> object:
    return value + _MIDNIGHT if isinstance(value, str) and _DATE.fullmatch(value) else value


MomentGiven = Annotated[
    AwareDatetime,
    Field(strict=False, description="A moment with its offset from UTC."),
    BeforeValidator(_written),
    AfterValidator(_in_utc),
]
"""A moment with its offset, read as one in UTC."""

MomentOrDate = Annotated[
    MomentGiven,
    BeforeValidator(_at_midnight),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]}),
]  # fmt: skip
"""A moment with its offset, or a date, which is the moment it begins in UTC."""
