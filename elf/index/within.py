"""A choice of many values, as filters have it; apart from the port, because the index process does without numpy."""

from __future__ import annotations

from typing import NamedTuple


class Within(NamedTuple):
    """A payload field and the values that it may have, of which there may be thousands; none hold for no point."""

    field: str
    values: frozenset[str]
