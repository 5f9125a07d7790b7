"""What is wrong with the text of a decoded request, and where.

Fields of the request's own model are written with dots and places in a list in brackets: `$.notes[0].text`. Below a
field that holds free JSON, keys are written in brackets too: `$.notes[0].source_ref["k"][1]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, TypeAlias, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from elf.api.bodies import FreeJson, drops_nul
from elf.api.json_bounds import USUAL, JsonBounds
from elf.core.cjk import contains_cjk, contains_nul
from elf.core.json_strings import judged


class TextFault(Enum):
    """What text of a request may not be."""

    NUL = "NUL"
    CJK = "CJK"
    DEEP = "deep"
    LONG = "long"


_SCALARS: Final = (int, float, bool, str)

Found: TypeAlias = tuple[str, TextFault]


def text_faults(
    model: type[BaseModel], value: Any, *, is_ascii: bool, bounds: JsonBounds = USUAL
) -> Iterator[Found | None]:
    """Yield the path of every string and key of a decoded request that may not be there, in document order.

    None is yielded now and then in between, as by `judged`. With `is_ascii` the request is known to hold nothing but
    ASCII and no NUL, so that only the `bounds` of free JSON are looked at.
    """
    return _Walk(is_ascii=is_ascii, bounds=bounds).over(model, value, "$")


def is_free(field: FieldInfo) -> bool:
    """Tell whether a field holds JSON that is free in form."""
    return any(isinstance(mark, FreeJson) for mark in field.metadata) or _has_dict(field.annotation)


def model_within(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a field's annotation names, alone or as the items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := model_within(part))), None)


class _Walk:
    def __init__(self, *, is_ascii: bool, bounds: JsonBounds) -> None:
        self._is_ascii = is_ascii
        self._bounds = bounds

    def over(self, model: type[BaseModel] | None, value: Any, path: str) -> Iterator[Found | None]:
        if model is not None and isinstance(value, dict):
            fields = model.model_fields
            for name, item in value.items():
                yield None
                yield from self._field(fields.get(name), name, item, path)
        elif model is not None and isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.over(model, item, f"{path}[{index}]")
        elif not self._is_ascii:
            yield from judged(value, path, _fault)

    def _field(self, field: FieldInfo | None, name: str, item: Any, path: str) -> Iterator[Found | None]:
        if field is None:  # not a field of ours: its name is as free as the keys of free JSON
            if not self._is_ascii:
                yield from judged({name: item}, path, _fault)
        elif is_free(field):
            judge = self._length_fault if self._is_ascii else self._free_fault
            place = f"{path}.{name}"
            yield from judged(item, place, judge, too_deep=TextFault.DEEP, depth=self._bounds.depth)
        elif isinstance(item, str) and drops_nul(field.annotation, field.metadata):
            if not self._is_ascii and contains_cjk(item):
                yield f"{path}.{name}", TextFault.CJK
        else:
            yield from self.over(model_within(field.annotation), item, f"{path}.{name}")

    def _length_fault(self, text: str) -> TextFault | None:
        return TextFault.LONG if len(text) > self._bounds.string_chars else None

    def _free_fault(self, text: str) -> TextFault | None:
        return _fault(text) or self._length_fault(text)


def _fault(text: str) -> TextFault | None:
    if contains_nul(text):
        return TextFault.NUL
    return TextFault.CJK if contains_cjk(text) else None


def takes_scalars(annotation: Any) -> bool:
    """Tell whether a field is an object whose values are numbers, flags or texts, and nothing of its own form."""
    if get_origin(annotation) is dict:
        return get_args(annotation)[1] in _SCALARS
    return any(map(takes_scalars, get_args(annotation)))


def _has_dict(annotation: Any) -> bool:
    if takes_scalars(annotation):
        return False
    return get_origin(annotation) is dict or any(map(_has_dict, get_args(annotation)))
