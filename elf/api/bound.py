"""Bounds of requests that a config may raise.

A field tells its bound by a `Bound` in its annotation. Requests with larger bounds are derived from those that have it,
so that whoever judges or describes them sees no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from annotated_types import GroupedMetadata, MaxLen
from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Bound(GroupedMetadata):
    """The bound of a field that a config may raise: `most`, which is its own, or what the config has at `key`.

    `holds` makes of a number what keeps a value within it: the length of a text or a list, unless it is said otherwise.
    """

    key: str
    most: int
    holds: Callable[[int], Any] = MaxLen

    def __iter__(self) -> Iterator[Any]:
        yield self.holds(self.most)


def raised(model: type[Model], bounds: Mapping[str, int]) -> type[Model]:
    """Return a request with these bounds, by their keys: a subclass of `model`, or itself where it has them already."""
    changed: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        annotation = _annotation(field.annotation, bounds)
        marks = [_mark(mark, bounds) for mark in field.metadata]
        if annotation != field.annotation or marks != field.metadata:
            changed[name] = Annotated[(annotation, *marks, _rest(field))]
    if not changed:
        return model
    return create_model(
        model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **changed
    )


def _annotation(annotation: Any, bounds: Mapping[str, int]) -> Any:
    """Return an annotation with these bounds; the same where nothing in it is bounded otherwise."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return raised(annotation, bounds)
    parts, origin = get_args(annotation), get_origin(annotation)
    if origin is Annotated:
        return Annotated[(_annotation(parts[0], bounds), *(_mark(mark, bounds) for mark in parts[1:]))]
    changed = tuple(_annotation(part, bounds) for part in parts)
    if changed == parts:
        return annotation
    return reduce(or_, changed) if origin in (Union, UnionType) else origin[changed]


def _mark(mark: Any, bounds: Mapping[str, int]) -> Any:
    return replace(mark, most=bounds[mark.key]) if isinstance(mark, Bound) else mark


def _rest(field: FieldInfo) -> Any:
    """Return what a field says beside its annotation and its marks, such as its default."""
    return Field(**field.asdict()["attributes"])
