"""What notes have to be for a search to find them, as a caller says it and as the service takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import TypeAlias

from elf.client.inputs import NoteType

Moment: TypeAlias = datetime | date | str
SourceValue: TypeAlias = str | int | float | bool | None


def filters_of(
    *,
    type: NoteType | Sequence[NoteType] | None,
    key_prefix: str | None,
    scope: str | Sequence[str] | None,
    updated_since: Moment | None,
    updated_before: Moment | None,
    created_since: Moment | None,
    created_before: Moment | None,
    source: Mapping[str, SourceValue] | None,
) -> dict[str, object] | None:
    """Return the `filters` of a search, None when there are none."""
    given = {
        "type": _listed(type),
        "key_prefix": key_prefix,
        "scope": _listed(scope),
        "updated_since": written(updated_since),
        "updated_before": written(updated_before),
        "created_since": written(created_since),
        "created_before": written(created_before),
        "source": None if source is None else dict(source),
    }
    return {name: value for name, value in given.items() if value is not None} or None


def _listed(given: str | Sequence[str] | None) -> list[str] | None:
    return [given] if isinstance(given, str) else None if given is None else list(given)


def written(moment: Moment | None) -> str | None:
    """Return a moment as it is sent."""
    # The service refuses a datetime without a time zone: it would guess which.
    return moment.isoformat() if isinstance(moment, date) else moment
