"""memory_search takes the common filters as arguments of its own; the API takes them within `filters`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.tool import Reshaping, Schema
from elf.families.notes.api.requests import SearchRequest

# Each argument with the filter that it stands for.
FILTERS: Final = {
    "type": "type",
    "key_prefix": "key_prefix",
    "since": "updated_since",
    "until": "updated_before",
}
WHOLE: Final = "$.filters"
_TEXT: Final = {"type": "string"}


def request_schema() -> Schema:
    """Return the JSON Schema of the API's request with these filters beside its fields."""
    schema: Schema = SearchRequest.model_json_schema()
    schema["properties"] |= dict.fromkeys(FILTERS, _TEXT)
    return schema


def as_filters(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the API takes them."""
    rest = {name: value for name, value in arguments.items() if name not in FILTERS}
    given = {
        FILTERS[name]: value for name, value in arguments.items() if name in FILTERS and value is not None
    }
    if isinstance(given.get("type"), str):
        given["type"] = [given["type"]]
    more = rest.get("filters")
    if given and (more is None or isinstance(more, dict)):
        rest["filters"] = {**(more or {}), **given}
    return rest


def as_failure(body: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an error, its faults at the paths of the arguments."""
    if "filters" in arguments or not FILTERS.keys() & arguments.keys():
        return dict(body)
    # Of a period without any time, the fault is that of both its ends.
    paths = body.get("fields") or ()
    fields = [end for path in paths for end in (("$.since", "$.until") if path == WHOLE else (_path(path),))]
    message = str(body.get("message")).replace(f"{WHOLE}:", "$.since:").replace(f"{WHOLE}.", "$.")
    for name, filter in FILTERS.items():
        message = message.replace(filter, name)
    return {**body, "message": message.replace("$.type[0]", "$.type"), "fields": fields or None}


def _path(path: str) -> str:
    own = {f"{WHOLE}.{filter}": f"$.{name}" for name, filter in FILTERS.items()}
    return own.get(path.removesuffix("[0]"), path)


RESHAPING: Final = Reshaping(schema=request_schema, as_request=as_filters, as_failure=as_failure)
