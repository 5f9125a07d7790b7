"""The part of a decoded request that its model has to judge: its own fields, without the free JSON below them.

A model validates in one call, during which nothing else runs. What may be large is therefore kept from it: free JSON,
which any JSON object is, fields that nobody knows, and items beyond the bound of their list.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from elf.api.body_faults import faults_told
from elf.core.errors import InvalidRequest
from elf.core.json_strings import shortened
from elf.core.slices import Slices
from elf.web.field_shapes import FieldShape, holds_free, shapes_of

MAX_UNKNOWN = 100

Model = TypeVar("Model", bound=BaseModel)


def outlined(model: type[BaseModel], value: Any) -> Slices[Any]:
    """Return a copy of a decoded request with every free object empty, and so every container where none belongs.

    Raises InvalidRequest, with paths, for a list that is too long and for more than a hundred unknown fields.
    """
    return (yield from _Outliner().of(model, value, "$"))


class _Outliner:
    def __init__(self) -> None:
        self._unknown: list[str] = []

    def of(self, model: type[BaseModel], value: Any, path: str) -> Slices[Any]:
        if not isinstance(value, dict):
            return _emptied(value)
        outline: dict[str, Any] = {}
        shapes = shapes_of(model)
        for name, item in value.items():
            shape = shapes.get(name)
            if shape is None:
                self._note_unknown(f"{path}.{shortened(name)}")
                outline[name] = None
            elif isinstance(item, dict | list):
                outline[name] = yield from self._container(shape, item, f"{path}.{name}")
            else:
                outline[name] = item
        yield
        return outline

    def _container(self, shape: FieldShape, item: dict[str, Any] | list[Any], path: str) -> Slices[Any]:
        if shape.is_free:
            if isinstance(item, list):
                _refuse_more(shape, item, path)
            return _emptied(item)
        if shape.takes_scalars and isinstance(item, dict):
            _refuse_more(shape, item, path)
            return {key: _emptied(value) for key, value in item.items()}
        if shape.model is None:
            return item if shape.takes_list else _emptied(item)
        if isinstance(item, dict):
            return (yield from self.of(shape.model, item, path))
        _refuse_more(shape, item, path)
        items = []
        for index, one in enumerate(item):
            items.append((yield from self.of(shape.model, one, f"{path}[{index}]")))
        return items

    def _note_unknown(self, path: str) -> None:
        self._unknown.append(path)
        if len(self._unknown) > MAX_UNKNOWN:
            raise InvalidRequest(
                f"{self._unknown[0]}: is not a known field; and so more than {MAX_UNKNOWN} others",
                fields=self._unknown,
            )


def _refuse_more(shape: FieldShape, items: list[Any] | dict[str, Any], path: str) -> None:
    if shape.most is not None and len(items) > shape.most:
        what = "list" if isinstance(items, list) else "object"
        problem = f"{what} should have at most {shape.most} items, not {len(items)}"
        raise InvalidRequest(f"{path}: {problem}", fields=[path])


def _emptied(item: Any) -> Any:
    return type(item)() if isinstance(item, dict | list) else item


def filled(request: Model, value: Any) -> Model:
    """Return a request that was read from the outline of a decoded value, with the free JSON of that value.

    Raises InvalidRequest, with paths, where the validators of a field refuse its free JSON.
    """
    faults: dict[str, str] = {}
    whole = _filled(request, value, "$", faults)
    if faults:
        raise InvalidRequest(
            "; ".join(f"{path}: {fault}" for path, fault in faults.items()), fields=[*faults]
        )
    return whole


def _filled(request: Model, value: Any, path: str, faults: dict[str, str]) -> Model:
    if not holds_free(type(request)):
        return request
    changes: dict[str, Any] = {}
    for name, shape in shapes_of(type(request)).items():
        if name not in value:
            continue
        if shape.is_free:
            changes[name] = _judged(shape, value[name], f"{path}.{name}", faults)
        elif isinstance(given := getattr(request, name), BaseModel):
            changes[name] = _filled(given, value[name], f"{path}.{name}", faults)
        elif isinstance(given, list) and shape.model is not None:
            changes[name] = [
                _filled(one, raw, f"{path}.{name}[{index}]", faults)
                for index, (one, raw) in enumerate(zip(given, value[name], strict=True))
            ]
    return request.model_copy(update=changes)


def _judged(shape: FieldShape, item: Any, path: str, faults: dict[str, str]) -> Any:
    """Have the validators of a field look at its free JSON: those of the model saw an empty object in its place."""
    if item is None:
        return None
    try:
        for validator in shape.validators:
            item = validator(item)
    except ValidationError as error:  # of a place within the JSON
        faults.update((path + within.removeprefix("$"), fault) for within, fault in faults_told(error))
    except ValueError as fault:
        faults[path] = str(fault)
    return item
