"""The fields of a schema as rows for people: path, type, bounds, meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from elf.core.blank_text import NOT_BLANK
from elf.web.schemas import ANY_JSON_VALUE, JSON_VALUE, Schema, resolved, without_null

FORMATS = {"uuid": "UUID", "date-time": "time (ISO 8601)"}


class Row(NamedTuple):
    """One field. `path` is as errors write it, without the `$.`; `need` is required, optional or empty."""

    path: str
    type: str
    need: str
    bounds: str
    meaning: str


def body_rows(schema: Schema, components: Mapping[str, Schema], *, is_request: bool) -> Iterator[Row]:
    """Yield a row for each field of an object, or of those in a list, those of the objects within it below it."""
    whole, prefix = resolved(schema, components), ""
    if whole.get("type") == "array":
        whole, prefix = resolved(whole["items"], components), "[]."
    yield from _object_rows(whole, components, prefix, is_request)


def parameter_row(parameter: Mapping[str, object], components: Mapping[str, Schema]) -> Row:
    """Return the row of a parameter of a path or query string."""
    schema = parameter["schema"]
    assert isinstance(schema, dict)
    place = (
        "in the path" if parameter["in"] == "path" else "required" if parameter["required"] else "optional"
    )
    name, meaning = str(parameter["name"]), str(parameter.get("description", ""))
    return Row(name, type_of(schema, components), place, bounds_of(schema), meaning)


def _object_rows(
    schema: Schema, components: Mapping[str, Schema], prefix: str, is_request: bool
) -> Iterator[Row]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        need = ("required" if name in required else "optional") if is_request else ""
        path = prefix + name
        yield Row(path, type_of(part, components), need, bounds_of(part), part.get("description", ""))
        inner = resolved(without_null(part), components)
        suffix = "."
        if inner.get("type") == "array":
            inner, suffix = resolved(inner["items"], components), "[]."
        if "properties" in inner:
            yield from _object_rows(inner, components, path + suffix, is_request)


def type_of(schema: Schema, components: Mapping[str, Schema]) -> str:
    """Return the type in words."""
    inner = without_null(schema)
    nullable = " or null" if inner is not schema else ""
    if (ref := inner.get("$ref", "")).endswith((f"/{JSON_VALUE}", f"/{ANY_JSON_VALUE}")):
        return "any JSON"
    inner = resolved(inner, components) if ref else inner
    return _plain_type(inner, components) + nullable


def _plain_type(schema: Schema, components: Mapping[str, Schema]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    if "const" in schema:
        return f"always {schema['const']}"
    if schema.get("type") == "array":
        return f"list of {type_of(schema['items'], components)}"
    if schema.get("type") == "integer":
        return "whole number"
    if schema.get("type") == "boolean":
        return "true or false"
    return FORMATS.get(schema.get("format", ""), str(schema.get("type", "any JSON")))


def bounds_of(schema: Schema) -> str:
    """Return the bounds and the default in words; empty when there are none."""
    schema = without_null(schema)
    said = [
        _range(schema.get("minimum"), schema.get("maximum"), ""),
        _range(schema.get("minLength"), schema.get("maxLength"), "characters"),
        _range(schema.get("minItems"), schema.get("maxItems"), "items"),
    ]
    if schema.get("pattern") == NOT_BLANK:
        said.append("not blank")
    if "default" in schema:
        said.append(f"default {json.dumps(schema['default'])}")
    return ", ".join(part for part in said if part)


def _range(least: float | None, most: float | None, unit: str) -> str:
    if least is None and most is None:
        return ""
    if least is None or most is None:
        edge = f"at most {_number(most)}" if least is None else f"at least {_number(least)}"
    else:
        edge = f"{_number(least)} to {_number(most)}"
    return f"{edge} {unit}".rstrip()


def _number(value: float | None) -> str:
    return f"{value:g}" if isinstance(value, float) else f"{value:,}"
