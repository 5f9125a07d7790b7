"""The JSON Schemas of requests and responses as tools show them: whole, for clients that follow no references."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_REF = "#/$defs/"
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def input_schema(
    model: type[BaseModel],
    *,
    without: Collection[str] = (),
    optional: Mapping[str, str] | None = None,
    hints: Mapping[str, str] | None = None,
) -> Schema:
    """Return the schema of a request, less the fields `without`; those of `optional` have the values as defaults.

    `hints` are sentences added to the description of every field of that name, however deep.
    """
    schema = _whole(model, "validation", hints or {})
    for name in _ALTERNATIVES:  # the APIs of large language models refuse a tool that has them at the top
        schema.pop(name, None)
    properties: Schema = schema.setdefault("properties", {})
    for name in without:
        properties.pop(name, None)
    defaults = {name: value for name, value in (optional or {}).items() if name in properties}
    for name, value in defaults.items():
        properties[name]["default"] = value
    left = {*without, *defaults}
    schema["required"] = [name for name in schema.get("required", ()) if name not in left]
    return schema


def output_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of a response."""
    return _whole(model, "serialization", {})


def _whole(model: type[BaseModel], mode: Any, hints: Mapping[str, str]) -> Schema:
    schema = model.model_json_schema(mode=mode)
    return _Inliner(schema.pop("$defs", {}), hints).schema(schema)


class _Inliner:
    """Copies schemas with what they refer to put in its place; no model of a request or response holds itself."""

    def __init__(self, definitions: Mapping[str, Schema], hints: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._hints = hints

    def schema(self, given: Schema) -> Schema:
        beside = {key: value for key, value in given.items() if key not in ("$ref", "title")}
        if (ref := given.get("$ref")) is not None:
            return self.schema(self._definitions[ref.removeprefix(_REF)]) | beside
        whole = {key: self._part(key, value) for key, value in beside.items()}
        if "anyOf" in whole:
            _hoist(whole)
            if whole.get("default", ...) is None:  # to leave it out says the same
                del whole["default"]
        return whole

    def _part(self, key: str, value: Any) -> Any:
        if key == "properties":
            return {name: self._field(name, part) for name, part in value.items()}
        if key in ("items", "additionalProperties") and isinstance(value, dict):
            return self.schema(value)
        if key in _ALTERNATIVES:
            return [self.schema(part) for part in value]
        return value

    def _field(self, name: str, given: Schema) -> Schema:
        whole = self.schema(given)
        if name in self._hints:
            whole["description"] = f"{whole.get('description', '')} {self._hints[name]}".strip()
        return whole


def _hoist(schema: Schema) -> None:
    """Move what is said of the one alternative that is not null to where a reader looks for it."""
    for branch in schema["anyOf"]:
        for key in ("description", "examples"):
            if key in branch:
                schema.setdefault(key, branch.pop(key))
