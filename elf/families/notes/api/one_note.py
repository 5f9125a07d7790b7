"""memory_add_note takes one note as arguments of its own, or many as a list; the API takes a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.tool import Reshaping, Schema
from elf.core.errors import InvalidRequest
from elf.core.note_defaults import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, DEFAULT_TYPE
from elf.families.notes.api.requests import AddNoteRequest, NewNote

DEFAULTS: Final[dict[str, Any]] = {
    "type": DEFAULT_TYPE,
    "importance": DEFAULT_IMPORTANCE,
    "confidence": DEFAULT_CONFIDENCE,
}
_FIELDS: Final = frozenset(NewNote.model_fields)
_FIRST: Final = "$.notes[0]."


def request_schema() -> Schema:
    """Return the JSON Schema of the API's request with the fields of one note beside `notes`."""
    schema: Schema = AddNoteRequest.model_json_schema()
    note = schema["$defs"][NewNote.__name__]
    note["required"] = ["text"]
    schema["properties"] |= note["properties"]
    schema["required"].remove("notes")
    return schema


def as_list(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the API takes them, what a note leaves out filled in.

    Raises InvalidRequest when there are both forms or neither.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    own = {name: value for name, value in given.items() if name in _FIELDS}
    rest = {name: value for name, value in arguments.items() if name not in _FIELDS}
    if "notes" not in given:
        if "text" not in own:
            raise InvalidRequest(
                "$.text: is missing; give one note as text, or many as notes", fields=["$.text"]
            )
        return rest | {"notes": [DEFAULTS | own]}
    if own:
        paths = [f"$.{name}" for name in own]
        problem = "belongs to one note given as text; of notes, each has its own"
        raise InvalidRequest(f"{', '.join(paths)}: {problem}", fields=[*paths, "$.notes"])
    return rest | {"notes": _filled(given["notes"])}


def _filled(notes: Any) -> Any:
    if not isinstance(notes, list):
        return notes  # the API says what is wrong with it, and with what is no object below
    return [_with_defaults(note) if isinstance(note, dict) else note for note in notes]


def _with_defaults(note: Mapping[str, Any]) -> dict[str, Any]:
    return DEFAULTS | {
        name: value for name, value in note.items() if value is not None or name not in DEFAULTS
    }


def as_failure(body: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an error; of a call with one note, its faults at the paths of the arguments."""
    if "notes" in arguments:
        return dict(body)
    message = str(body.get("message")).replace(_FIRST, "$.")
    fields = [path.replace(_FIRST, "$.", 1) for path in body.get("fields") or ()]
    return {**body, "message": message, "fields": fields or None}


RESHAPING: Final = Reshaping(
    schema=request_schema, as_request=as_list, as_failure=as_failure, defaults=DEFAULTS
)
