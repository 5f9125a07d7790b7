"""The part of a decoded request that its model has to judge: its own fields, without the free JSON below them.

A model validates in one call, during which nothing else runs. What may be large is therefore kept from it: free JSON,
which any JSON object is, fields that nobody knows, and items beyond the bound of their list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from annotated_types import MaxLen
from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo

from elf.core.errors import InvalidRequest
from elf.core.json_strings import shortened
from elf.core.slices import Slices
from elf.web.text_paths import is_free, model_within, takes_scalars

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
        fields = model.model_fields
        for name, item in value.items():
            field = fields.get(name)
            if field is None:
                self._note_unknown(f"{path}.{shortened(name)}")
                outline[name] = None
            else:
                outline[name] = yield from self._field(field, item, f"{path}.{name}")
        yield
        return outline

    def _field(self, field: FieldInfo, item: Any, path: str) -> Slices[Any]:
        model = model_within(field.annotation)
        if is_free(field):
            if isinstance(item, list):
                _refuse_more(field, item, path)
            return _emptied(item)
        if takes_scalars(field.annotation) and isinstance(item, dict):
            _refuse_more(field, item, path)
            return {key: _emptied(value) for key, value in item.items()}
        if model is None:
            return item if _takes_list(field.annotation) else _emptied(item)
        if not isinstance(item, list):
            return (yield from self.of(model, item, path))
        _refuse_more(field, item, path)
        items = []
        for index, one in enumerate(item):
            items.append((yield from self.of(model, one, f"{path}[{index}]")))
        return items

    def _note_unknown(self, path: str) -> None:
        self._unknown.append(path)
        if len(self._unknown) > MAX_UNKNOWN:
            raise InvalidRequest(
                f"{self._unknown[0]}: is not a known field; and so more than {MAX_UNKNOWN} others",
                fields=self._unknown,
            )


def _refuse_more(field: FieldInfo, items: list[Any] | dict[str, Any], path: str) -> None:
    most = next((bound.max_length for bound in field.metadata if isinstance(bound, MaxLen)), None)
    if most is not None and len(items) > most:
        what = "list" if isinstance(items, list) else "object"
        raise InvalidRequest(
            f"{path}: {what} should have at most {most} items, not {len(items)}", fields=[path]
        )


def _emptied(item: Any) -> Any:
    return type(item)() if isinstance(item, dict | list) else item


def _takes_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_takes_list, get_args(annotation)))


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
    if not _holds_free(type(request)):
        return request
    changes: dict[str, Any] = {}
    for name, field in type(request).model_fields.items():
        if name not in value:
            continue
        if is_free(field):
            changes[name] = _judged(field, value[name], f"{path}.{name}", faults)
        elif isinstance(given := getattr(request, name), BaseModel):
            changes[name] = _filled(given, value[name], f"{path}.{name}", faults)
        elif isinstance(given, list) and model_within(field.annotation):
            changes[name] = [
                _filled(one, raw, f"{path}.{name}[{index}]", faults)
                for index, (one, raw) in enumerate(zip(given, value[name], strict=True))
            ]
    return request.model_copy(update=changes)


def _judged(field: FieldInfo, item: Any, path: str, faults: dict[str, str]) -> Any:
    """Have the validators of a field look at its free JSON: those of the model saw an empty object in its place."""
    if item is None:
        return None
    try:
        for validator in [*field.metadata, *_marks_within(field.annotation)]:
            if isinstance(validator, AfterValidator):
                item = cast("Callable[[Any], Any]", validator.func)(item)
    except ValueError as fault:
        faults[path] = str(fault)
    return item


def _marks_within(annotation: Any) -> Iterator[Any]:
    """Yield what `Annotated` says of the parts of an annotation, such as of the first of `Metadata | None`."""
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    for part in get_args(annotation):
        yield from _marks_within(part)


@cache
def _holds_free(model: type[BaseModel]) -> bool:
    fields = model.model_fields.values()
    within = (model_within(field.annotation) for field in fields)
    return any(map(is_free, fields)) or any(inner is not None and _holds_free(inner) for inner in within)
