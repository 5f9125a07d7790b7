"""Where a page of a listing ends, as its reader passes it on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from elf.api.cursor import sealed, unsealed
from elf.core.errors import InvalidRequest
from elf.core.structs import read_json
from elf.families.graph.api.listing import Page

T = TypeVar("T")


def behind(request: Page, type: type[T]) -> T | None:
    """Return where the page before ended; None without one. Raises InvalidRequest for a cursor of another listing."""
    if request.cursor is None:
        return None
    try:
        return read_json(unsealed(request.cursor, *_names(request)), type)
    except (ValueError, OverflowError, msgspec.DecodeError) as error:
        raise InvalidRequest(
            "the cursor is not one that this listing returned in this context", fields=["$.cursor"]
        ) from error


def next_cursor(request: Page, found: Sequence[T], place: Callable[[T], Any]) -> str | None:
    """Return the cursor behind a page of what was found, which is one more than it may hold where there are more."""
    if len(found) <= request.limit:
        return None
    return sealed(msgspec.json.encode(place(found[request.limit - 1])).decode(), *_names(request))


def _names(request: Page) -> list[str]:
    """Return what tells this listing from others."""
    said = request.model_dump(mode="json", exclude={"limit", "cursor"})
    return [type(request).__name__, *(f"{name}={value}" for name, value in said.items())]
