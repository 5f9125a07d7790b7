"""JSON Schemas (draft 2020-12) of request and response models, as the service really judges them.

Beyond what the models say: text of a request holds neither CJK nor NUL, keys of free JSON included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from elf.api.bodies import NulDropped
from elf.core.cjk import english_pattern
from elf.core.json_strings import MAX_DEPTH, MAX_STRING_CHARS

PLACE = "#/components/schemas/"
ENGLISH, JSON_VALUE = "EnglishText", "JsonValue"
ANY_TEXT, ANY_JSON_VALUE = "Text", "AnyJsonValue"
Schema = dict[str, Any]


class _WithoutFieldTitles(GenerateJsonSchema):
    """A field's title would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class ModelSchemas:
    """The schemas of all models of a front; `components` are theirs and those of the models within them, by name.

    `any_text` are the requests whose text may be in any language.
    """

    def __init__(
        self,
        *,
        requests: Sequence[type[BaseModel]],
        responses: Sequence[type[BaseModel]],
        any_text: Sequence[type[BaseModel]] = (),
    ) -> None:
        wanted: list[tuple[type[BaseModel], JsonSchemaMode]] = []
        wanted += [(model, "validation") for model in dict.fromkeys([*requests, *any_text])]
        wanted += [(model, "serialization") for model in dict.fromkeys(responses)]
        refs, definitions = models_json_schema(
            wanted, ref_template=PLACE + "{model}", schema_generator=_WithoutFieldTitles
        )
        self._refs = {(model, mode): schema for (model, mode), schema in refs.items()}
        raw: dict[str, Schema] = definitions.get("$defs", {})
        texts = dict.fromkeys(
            _reachable(raw, (self._name(model, "validation") for model in any_text)), ANY_TEXT
        )
        texts |= dict.fromkeys(
            _reachable(raw, (self._name(model, "validation") for model in requests)), ENGLISH
        )
        self.components = {
            name: _tidy(schema, texts.get(name)) for name, schema in raw.items() if name != JSON_VALUE
        } | _shared()

    def request(self, model: type[BaseModel]) -> Schema:
        """Return the schema of a request itself."""
        return self.components[self._name(model, "validation")]

    def body(self, model: type[BaseModel], *, but_not: Sequence[str]) -> Schema:
        """Return the schema of a request's body: a reference, or the request without what its path gives."""
        if not but_not:
            return {"$ref": PLACE + self._name(model, "validation")}
        whole = self.request(model)
        return whole | {
            "properties": {name: part for name, part in whole["properties"].items() if name not in but_not},
            "required": [name for name in whole.get("required", ()) if name not in but_not],
        }

    def used_in(self, parts: Any) -> dict[str, Schema]:
        """Return the components that the parts of a document refer to, and those that these need, by name."""
        return {name: self.components[name] for name in sorted(_reachable(self.components, _names_in(parts)))}

    def response(self, model: type[BaseModel]) -> Schema:
        """Return a reference to the schema of a response."""
        return {"$ref": PLACE + self._name(model, "serialization")}

    def _name(self, model: type[BaseModel], mode: JsonSchemaMode) -> str:
        return str(self._refs[model, mode]["$ref"]).removeprefix(PLACE)


def resolved(schema: Schema, components: Mapping[str, Schema]) -> Schema:
    """Return the schema with a reference at its top replaced by what it names; what stands beside it wins."""
    if "$ref" not in schema:
        return schema
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return components[schema["$ref"].removeprefix(PLACE)] | beside


def without_null(schema: Schema) -> Schema:
    """Return the schema of a value that is there, where the schema allows null as well."""
    branches = [branch for branch in schema.get("anyOf", ()) if branch != {"type": "null"}]
    if len(branches) != 1:
        return schema
    branch: Schema = branches[0]
    return branch | {key: value for key, value in schema.items() if key != "anyOf"}


def _reachable(definitions: Mapping[str, Schema], roots: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    open_names = list(roots)
    while open_names:
        name = open_names.pop()
        if name not in seen:
            seen.add(name)
            yield name
            open_names += _names_in(definitions[name])


def _names_in(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(ref := node.get("$ref"), str) and ref.startswith(PLACE):
            yield ref.removeprefix(PLACE)
        for inner in node.values():
            yield from _names_in(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _names_in(inner)


def _tidy(schema: Schema, text: str | None) -> Schema:
    """Return a copy that says what text may hold, with descriptions of optional values beside the alternatives.

    `text` names the schema of text; None: it is that of an answer.
    """
    tidy = {key: _tidy_part(key, value, text) for key, value in schema.items()}
    for branch in tidy.get("anyOf", ()):
        for key in ("description", "examples"):
            if key in branch:
                text = branch.pop(key)
                tidy.setdefault(key, text)
    if tidy.get("default", ...) is None:  # null and leaving it out are the same
        del tidy["default"]
    may_hold_nul = tidy.pop(NulDropped.SCHEMA_KEY, False)
    is_text = tidy.get("type") == "string" and not {"format", "enum", "const"} & tidy.keys()
    if text and is_text and not may_hold_nul:
        tidy["allOf"] = [{"$ref": PLACE + text}]
    if text and isinstance(tidy.get("additionalProperties"), dict):
        tidy["propertyNames"] = _free_text(text) | tidy.get("propertyNames", {})
    return tidy


def _tidy_part(key: str, value: Any, text: str | None) -> Any:
    if text == ANY_TEXT and value == PLACE + JSON_VALUE:
        return PLACE + ANY_JSON_VALUE
    if key == "properties":
        return {name: _tidy(part, text) for name, part in value.items()}
    if key in ("items", "additionalProperties") and isinstance(value, dict):
        return _tidy(value, text)
    if key in ("anyOf", "oneOf", "allOf"):
        return [_tidy(part, text) for part in value]
    return value


def _free_text(text: str) -> Schema:
    return {"$ref": PLACE + text, "maxLength": MAX_STRING_CHARS}


def _shared() -> dict[str, Schema]:
    return {
        ENGLISH: {
            "type": "string",
            "pattern": english_pattern(),
            "description": "Text without CJK characters, which are answered with 422, and without U+0000.",
        },
        ANY_TEXT: {
            "type": "string",
            "pattern": "^[^\\u0000]*$",
            "description": "Text in any language, without U+0000.",
        },
        JSON_VALUE: _json_value(JSON_VALUE, ENGLISH),
        ANY_JSON_VALUE: _json_value(ANY_JSON_VALUE, ANY_TEXT),
    }


def _json_value(name: str, text: str) -> Schema:
    """Return the schema of any JSON with such text, which refers to itself by its name."""
    value = {"$ref": PLACE + name}
    return {
        "anyOf": [
            {"type": ["null", "boolean", "number"]},
            _free_text(text),
            {"type": "array", "items": value},
            {"type": "object", "propertyNames": _free_text(text), "additionalProperties": value},
        ],
        "description": f"Any JSON of at most {MAX_DEPTH} levels; numbers within the range of a 64-bit float.",
    }
