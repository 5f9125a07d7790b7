"""Whether two JSON values are the same to Postgres, where the same number is read back in other clothes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def same_json(first: Any, second: Any) -> bool:
    """Tell whether two plain JSON values are the same value, whichever of them has been stored in a `jsonb` column.

    Numbers are compared as they are written: 1e23 is written so, comes back as 100000000000000000000000, and is no
    Python float equal to that; 1 and 1.0 are the same, as are 0.0 and -0.0. Nothing else is a number: true is not 1.
    """
    if isinstance(first, dict):
        return (
            isinstance(second, dict)
            and first.keys() == second.keys()
            and all(same_json(value, second[name]) for name, value in first.items())
        )
    if isinstance(first, list):
        return isinstance(second, list) and len(first) == len(second) and all(map(same_json, first, second))
    if _is_number(first):
        return _is_number(second) and _as_written(first) == _as_written(second)
    return type(first) is type(second) and bool(first == second)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _as_written(number: float) -> Decimal:
    # Of a float the shortest digits that stand for it, which are what is sent and kept.
    return Decimal(repr(number))
