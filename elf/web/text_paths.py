"""Where a request holds text that may not be there, with paths as a client writes them.

Fields of the request's own model are written with dots and places in a list in brackets: `$.notes[0].text`. Below a
field that holds free JSON, keys are written in brackets too: `$.notes[0].source_ref["k"][1]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

from pydantic import BaseModel

from elf.core.cjk import paths_where

Predicate = Callable[[str], bool]


def request_paths(
    model: type[BaseModel] | None, value: Any, predicate: Predicate, *, path: str = "$"
) -> Iterator[str]:
    """Yield the path of every string and key of a decoded request for which `predicate` holds, in document order."""
    if model is not None and isinstance(value, dict):
        for name, item in value.items():
            yield from _field_paths(model, name, item, predicate, path)
    elif model is not None and isinstance(value, list):
        for index, item in enumerate(value):
            yield from request_paths(model, item, predicate, path=f"{path}[{index}]")
    else:
        yield from paths_where(value, path, predicate)


def _field_paths(
    model: type[BaseModel], name: str, item: Any, predicate: Predicate, path: str
) -> Iterator[str]:
    field = model.model_fields.get(name)
    if field is None:  # not a field of ours: its name is as free as the keys of free JSON
        yield from paths_where({name: item}, path, predicate)
    else:
        yield from request_paths(_model_within(field.annotation), item, predicate, path=f"{path}.{name}")


def _model_within(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a field's annotation names, alone or as the items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_within(part))), None)
