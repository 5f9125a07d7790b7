"""What is wrong with the text of a decoded request, and where.

Fields of the request's own model are written with dots and places in a list in brackets: `$.notes[0].text`. Below a
field that holds free JSON, keys are written in brackets too: `$.notes[0].source_ref["k"][1]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, TypeAlias

from pydantic import BaseModel

from elf.api.json_bounds import USUAL, JsonBounds
from elf.core.cjk import contains_cjk, contains_nul
from elf.core.json_strings import judged, nested_deeper
from elf.web.field_shapes import FieldShape, shapes_of


class TextFault(Enum):
    """What text of a request may not be."""

    NUL = "NUL"
    CJK = "CJK"
    DEEP = "deep"
    LONG = "long"


Found: TypeAlias = tuple[str, TextFault]


def text_faults(
    model: type[BaseModel],
    value: Any,
    *,
    is_plain: bool,
    chars: int,
    any_language: bool,
    bounds: JsonBounds = USUAL,
) -> Iterator[Found | None]:
    """Yield the path of every string and key of a decoded request that may not be there, in document order.

    None is yielded now and then in between, as by `judged`. With `is_plain` the request is known to hold no character
    that may not be there, so that only the `bounds` of free JSON are looked at. No string is longer than `chars`. Text
    of `any_language` may hold CJK characters.
    """
    walk = _Walk(is_plain=is_plain, chars=chars, bounds=bounds, any_language=any_language)
    return walk.over(model, value, "$")


class _Walk:
    def __init__(self, *, is_plain: bool, chars: int, bounds: JsonBounds, any_language: bool) -> None:
        self._is_plain = is_plain
        self._fault = _nul_fault if any_language else _english_fault
        self._is_short = chars <= bounds.string_chars
        self._bounds = bounds

    def over(self, model: type[BaseModel] | None, value: Any, path: str) -> Iterator[Found | None]:
        if model is not None and isinstance(value, dict):
            shapes = shapes_of(model)
            for name, item in value.items():
                yield None
                yield from self._field(shapes.get(name), name, item, path)
        elif model is not None and isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.over(model, item, f"{path}[{index}]")
        elif not self._is_plain:
            yield from judged(value, path, self._fault)

    def _field(self, shape: FieldShape | None, name: str, item: Any, path: str) -> Iterator[Found | None]:
        if shape is None:  # not a field of ours: its name is as free as the keys of free JSON
            if not self._is_plain:
                yield from judged({name: item}, path, self._fault)
        elif shape.is_free:
            if self._is_plain and self._is_short and not (yield from nested_deeper(item, self._bounds.depth)):
                return
            judge = self._length_fault if self._is_plain or shape.drops_nul else self._free_fault
            place = f"{path}.{name}"
            yield from judged(item, place, judge, too_deep=TextFault.DEEP, depth=self._bounds.depth)
        elif isinstance(item, str) and shape.drops_nul:
            if not self._is_plain and self._fault(item.replace("\x00", "")) is not None:
                yield f"{path}.{name}", TextFault.CJK
        else:
            yield from self.over(shape.model, item, f"{path}.{name}")

    def _length_fault(self, text: str) -> TextFault | None:
        return TextFault.LONG if len(text) > self._bounds.string_chars else None

    def _free_fault(self, text: str) -> TextFault | None:
        return self._fault(text) or self._length_fault(text)


def _nul_fault(text: str) -> TextFault | None:
    return TextFault.NUL if contains_nul(text) else None


def _english_fault(text: str) -> TextFault | None:
    return _nul_fault(text) or (TextFault.CJK if contains_cjk(text) else None)
