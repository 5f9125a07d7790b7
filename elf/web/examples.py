"""Examples of requests, put together from the examples of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elf.web.schemas import Schema, resolved, without_null

PLAIN = {"string": "text", "integer": 1, "number": 0.5, "boolean": True, "null": None}


def example_of(schema: Schema, components: Mapping[str, Schema]) -> Any:
    """Return a value that the schema allows: with all required fields, and the others that have an example."""
    if "examples" in schema:
        return schema["examples"][0]
    schema = without_null(resolved(schema, components))
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if schema.get("type") == "array":
        return [example_of(schema["items"], components)]
    if schema.get("type") == "object":
        return _object(schema, components)
    return PLAIN[schema.get("type", "null")]


def _object(schema: Schema, components: Mapping[str, Schema]) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: example_of(part, components)
        for name, part in schema.get("properties", {}).items()
        if name in required or "examples" in part
    }
