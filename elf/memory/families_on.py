"""Refusing what names a family that is not on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from elf.core.errors import InvalidRequest


def refuse_unknown(named: Sequence[str], on: Collection[str], *, path: str) -> None:
    """Raise InvalidRequest for names that are none of the families which are on.

    `path` is where a name stands in the request, with {} for its place in the list.
    """
    unknown = [place for place, name in enumerate(named) if name not in on]
    if unknown:
        raise InvalidRequest(
            f"only these families are on: {', '.join(on)}", fields=[path.format(place) for place in unknown]
        )
