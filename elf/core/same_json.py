"""Whether two JSON values are the same to Postgres, where the same number is read back in other clothes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from elf.core.slices import Slices

_PIECE: Final = 256


def comparing_json(first: Any, second: Any) -> Slices[bool]:
    """Tell, in slices, whether two plain JSON values are the same, whichever of them a `jsonb` column has held.

    Numbers are compared as they are written: 1e23 is written so, comes back as 100000000000000000000000, and is no
    Python float equal to that; 1 and 1.0 are the same, as are 0.0 and -0.0. Nothing else is a number: true is not 1.
    """
    pending = [(first, second)]
    seen = 0
    while pending:
        one, other = pending.pop()
        seen += 1
        if seen % _PIECE == 0:
            yield
        if isinstance(one, dict):
            if not isinstance(other, dict) or one.keys() != other.keys():
                return False
            pending += [(value, other[name]) for name, value in one.items()]
        elif isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            pending += zip(one, other, strict=True)
        elif not _is_same_leaf(one, other):
            return False
    return True


def _is_same_leaf(first: Any, second: Any) -> bool:
    if type(first) is type(second):
        return bool(first == second)
    return _is_number(first) and _is_number(second) and _as_written(first) == _as_written(second)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _as_written(number: float) -> Decimal:
    # Of a float the shortest digits that stand for it, which are what is sent and kept.
    return Decimal(repr(number))
