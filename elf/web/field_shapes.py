"""What the fields of a request's model may hold, as far as who reads its body has to know: found out once a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, cast, get_args, get_origin

from annotated_types import GroupedMetadata, MaxLen
from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo

from elf.api.bodies import FreeJson, drops_nul

_SCALARS: Final = (int, float, bool, str)


class FieldShape(NamedTuple):
    """What a field may hold.

    `is_free`: JSON that is free in form. `drops_nul`: text in which U+0000 may stand. `model`: what it holds, alone or
    as the items of a list. `takes_scalars`: an object whose values are numbers, flags or texts, and nothing of its own
    form. `takes_list`: a list. `most`: so many items. `validators`: what looks at its value once it is read.
    """

    is_free: bool
    drops_nul: bool
    model: type[BaseModel] | None
    takes_scalars: bool
    takes_list: bool
    most: int | None
    validators: Sequence[Callable[[Any], Any]]


@cache
def shapes_of(model: type[BaseModel]) -> Mapping[str, FieldShape]:
    """Return the shapes of the fields of a model, by their names."""
    return {name: _shape(field) for name, field in model.model_fields.items()}


@cache
def holds_free(model: type[BaseModel]) -> bool:
    """Tell whether a model has a field that holds free JSON, itself or within another."""
    return any(
        shape.is_free or (shape.model is not None and holds_free(shape.model))
        for shape in shapes_of(model).values()
    )


def _shape(field: FieldInfo) -> FieldShape:
    marks = [*_each(field.metadata)]
    judges = [mark for mark in [*marks, *_marks_within(field.annotation)] if isinstance(mark, AfterValidator)]
    return FieldShape(
        is_free=any(isinstance(mark, FreeJson) for mark in field.metadata) or _has_dict(field.annotation),
        drops_nul=drops_nul(field.annotation, field.metadata),
        model=_model_within(field.annotation),
        takes_scalars=_takes_scalars(field.annotation),
        takes_list=_takes_list(field.annotation),
        most=next((mark.max_length for mark in marks if isinstance(mark, MaxLen)), None),
        validators=[cast("Callable[[Any], Any]", judge.func) for judge in judges],
    )


def _model_within(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_within(part))), None)


def _takes_scalars(annotation: Any) -> bool:
    if get_origin(annotation) is dict:
        return get_args(annotation)[1] in _SCALARS
    return any(map(_takes_scalars, get_args(annotation)))


def _takes_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_takes_list, get_args(annotation)))


def _has_dict(annotation: Any) -> bool:
    if _takes_scalars(annotation):
        return False
    return get_origin(annotation) is dict or any(map(_has_dict, get_args(annotation)))


def _each(marks: Sequence[Any]) -> Iterator[Any]:
    """Yield what `Annotated` says, one by one where a mark stands for several."""
    for mark in marks:
        yield from mark if isinstance(mark, GroupedMetadata) else (mark,)


def _marks_within(annotation: Any) -> Iterator[Any]:
    """Yield what `Annotated` says of the parts of an annotation, such as of the first of `Metadata | None`."""
    if get_origin(annotation) is Annotated:
        yield from _each(annotation.__metadata__)
    for part in get_args(annotation):
        yield from _marks_within(part)
