"""The arguments of a call as models send them, read by the schema of the tool.

Models send null for what they leave out, and often a JSON text where the schema has an array, an object, a number or a
boolean. The API is strict, so both are read here. A text stays one wherever the schema allows text, or any JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from elf.api.tool import Schema

_REF: Final = "#/$defs/"
_NAMES: Final[Mapping[type, frozenset[str]]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"integer", "number"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
}


class ArgumentReader:
    """Reads the arguments of one tool, whose request or arguments have this JSON Schema."""

    def __init__(self, schema: Schema) -> None:
        self._whole = schema

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments without nulls, and what is written as text as the type that the schema has there."""
        return self._object(arguments, [self._whole])

    def _object(self, value: Mapping[str, Any], schemas: Sequence[Schema]) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for name, given in value.items():
            declared = [one["properties"][name] for one in schemas if name in one.get("properties", ())]
            if given is None and declared and not self._keeps_null(name, declared, schemas):
                continue
            free = [one.get("additionalProperties") for one in schemas]
            found = declared or [one for one in free if isinstance(one, dict)]
            read[name] = self._value(given, [option for one in found for option in self._flat(one)])
        return read

    def _keeps_null(self, name: str, declared: Sequence[Schema], schemas: Sequence[Schema]) -> bool:
        """Tell whether null is a value: of any JSON, or of a field that may not be left out."""
        options = [option for one in declared for option in self._flat(one)]
        is_required = any(name in one.get("required", ()) for one in schemas)
        return any(_is_any(one) or (is_required and "null" in _types(one)) for one in options)

    def _value(self, value: Any, options: Sequence[Schema]) -> Any:
        if not options or any(map(_is_any, options)):
            return value
        types = {kind for option in options for kind in _types(option)}
        if isinstance(value, str):
            if "string" in types:
                return value
            parsed = _parsed(value)
            return self._value(parsed, options) if types & _NAMES.get(type(parsed), frozenset()) else value
        if isinstance(value, Mapping):
            return self._object(value, options)
        if isinstance(value, list):
            items = [one for option in options if "items" in option for one in self._flat(option["items"])]
            return [self._value(one, items) for one in value]
        return value

    def _flat(self, schema: Schema) -> Iterator[Schema]:
        """Yield the alternatives of a schema, each without a reference."""
        if "$ref" in schema:
            yield from self._flat(self._whole["$defs"][schema["$ref"].removeprefix(_REF)])
        elif alternatives := schema.get("anyOf") or schema.get("oneOf"):
            if "type" in schema:  # which fields are needed, or the format of a text
                yield schema
            else:
                for one in alternatives:
                    yield from self._flat(one)
        else:
            yield schema


def _is_any(schema: Schema) -> bool:
    return not schema.keys() & {"type", "enum", "const", "properties"}


def _types(schema: Schema) -> frozenset[str]:
    kinds = schema.get("type")
    if kinds is None:
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        return frozenset({"string"}) if any(isinstance(one, str) for one in values) else frozenset()
    return frozenset({kinds} if isinstance(kinds, str) else kinds)


def _parsed(text: str) -> Any:
    """Return what a text is as JSON; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
