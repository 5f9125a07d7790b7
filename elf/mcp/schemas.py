"""The JSON Schemas of a tool's arguments: whole, for clients that follow no references, and no longer than they help.

A model pays for each word of them with every request. So they say what an argument means and which values it takes, and
leave lengths, patterns and other bounds to the API, which names the argument at fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from elf.api.tool import Schema

_REF: Final = "#/$defs/"
_KEPT: Final = ("type", "enum", "default")


def input_schema(
    whole: Schema,
    arguments: Mapping[str, str],
    *,
    choices: Mapping[str, Sequence[str]],
    defaults: Mapping[str, Any],
    filled_in: AbstractSet[str] = frozenset(),
    needed: AbstractSet[str] = frozenset(),
) -> Schema:
    """Return the schema of a request, which is `whole`, as far as it is shown.

    `arguments` are the fields to show and what is said of each; `choices` the values of every field of that name,
    `defaults` those that are taken for fields that are left out, `filled_in` the fields for which a value is taken that
    is not shown, and `needed` the fields that may not be left out, in whatever request they are.
    """
    short = _Shortened(whole.get("$defs", {}), choices)
    properties = {}
    for name, meaning in arguments.items():
        properties[name] = short.field(name, whole["properties"][name])
        properties[name] |= {"default": defaults[name]} if name in defaults else {}
        properties[name] |= {"description": meaning} if meaning else {}
    asked = [*whole.get("required", ()), *sorted(needed - set(whole.get("required", ())))]
    required = [name for name in asked if name in properties and name not in {*defaults, *filled_in}]
    return {"type": "object", "properties": properties, "required": required}


class _Shortened:
    """Copies the schemas of fields with what they refer to in its place; no model of a request holds itself."""

    def __init__(self, definitions: Mapping[str, Schema], choices: Mapping[str, Sequence[str]]) -> None:
        self._definitions = definitions
        self._choices = choices

    def field(self, name: str, given: Schema) -> Schema:
        short = self._schema(given)
        if self._choices.get(name):
            short["enum"] = list(self._choices[name])
        return short

    def _schema(self, given: Schema) -> Schema:
        whole = self._definitions[given["$ref"].removeprefix(_REF)] if "$ref" in given else given
        branch = next((one for one in whole.get("anyOf", ()) if one != {"type": "null"}), None)
        if branch is not None:  # to leave it out says the same as null
            return self._schema(branch)
        short: Schema = {key: whole[key] for key in _KEPT if key in whole}
        if "items" in whole:
            short["items"] = self._schema(whole["items"])
        if "properties" in whole:
            short["properties"] = {name: self.field(name, part) for name, part in whole["properties"].items()}
            short["required"] = whole.get("required", [])
        return short
