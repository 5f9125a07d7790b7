"""What a filter asks of a value, as conditions on its fields that are all to be met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

EQUALITIES: Final = ("$eq", "$ne")
RANGES: Final = ("$gt", "$gte", "$lt", "$lte")
OPERATORS: Final = (*EQUALITIES, *RANGES)


def conditions_of(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the conditions of a filter: of each the key, the operator and what the field is compared with.

    An object holds operators and nothing else; any other value is what the field has to be. Raises ValueError.
    """
    return [
        {"key": key, "op": op, "operand": operand}
        for key, wanted in asked.items()
        for op, operand in _operators(key, wanted)
    ]


def _operators(key: str, wanted: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(wanted, Mapping):
        yield "$eq", wanted
        return
    for op, operand in wanted.items():
        if op not in OPERATORS:
            raise ValueError(f"{key} has the operator {op[:64]}, and there are {', '.join(OPERATORS)}")
        if op in RANGES and not _is_ordered(operand):
            raise ValueError(f"{key}.{op} compares with a number or a text")
        yield op, operand


def _is_ordered(operand: Any) -> bool:
    return isinstance(operand, int | float | str) and not isinstance(operand, bool)
