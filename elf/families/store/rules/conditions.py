"""What a filter asks of a value, as conditions on its fields that are all to be met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

EQUALITIES: Final = ("$eq", "$ne")
RANGES: Final = ("$gt", "$gte", "$lt", "$lte")
OPERATORS: Final = (*EQUALITIES, *RANGES)


class BadCondition(ValueError):
    """A condition that no filter has; `path` is where it stands in the filter."""

    def __init__(self, problem: str, *path: str) -> None:
        super().__init__(problem)
        self.path = path


def conditions_of(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the conditions of a filter: of each the key, the operator and what the field is compared with.

    An object holds operators and nothing else; any other value is what the field has to be. Raises BadCondition.
    """
    return [
        {"key": key, "op": op, "operand": operand}
        for key, wanted in asked.items()
        for op, operand in _operators(key, wanted)
    ]


def _operators(key: str, wanted: Any) -> Iterator[tuple[str, Any]]:
    if key.startswith("$"):
        # The filter would ask for a field of this name, and find nothing.
        raise BadCondition(
            f"is no field: a filter names fields of the value, all of which must match, and has no {key[:64]}",
            key,
        )
    if not isinstance(wanted, Mapping):
        yield "$eq", wanted
        return
    if not wanted:
        raise BadCondition(f"holds no operator: give a value, or one of {', '.join(OPERATORS)}", key)
    for op, operand in wanted.items():
        if op not in OPERATORS:
            raise BadCondition(f"is no operator: there are {', '.join(OPERATORS)}", key, op)
        if op in RANGES and not _is_ordered(operand):
            raise BadCondition("compares with a number or a text", key, op)
        yield op, operand


def _is_ordered(operand: Any) -> bool:
    return isinstance(operand, int | float | str) and not isinstance(operand, bool)
