"""Commands of the memory tool as calls of the service, and what the model is told of their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import msgspec
from anthropic.tools import ToolError

from elf.client.call import Call, post, reader
from elf.client.context import Given
from elf.client.errors import ElfError, ErrorBody, Unavailable, read_error
from elf.client.families.assistant.filing import FILES

FIELDS: Final[Mapping[str, Sequence[str]]] = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
"""What each command says."""
ROOT: Final = "/memories"
CLEARED: Final = "All memory cleared"

_REFUSED: Final = frozenset({400, 404, 409, 413})
"""The statuses whose messages are what the tool says."""
_AWAY: Final = "The memory does not answer at the moment. Try again later."
_MAYBE: Final = f"{_AWAY} View the path first: what was to be changed may have been changed."


class Told(msgspec.Struct, frozen=True):
    """What is told of a command: `text` of one that was done, `message` of one that was not."""

    text: str | None = None
    message: str | None = None


def called(command: Any, owner: Mapping[str, Given], user_id: str | None) -> Call[Told]:
    """Return the call of a command; what it lacks is the service's to name. Raises ToolError for an unknown one."""
    name = str(getattr(command, "command", None))
    if name not in FIELDS:
        raise ToolError(f"Unknown command: {name}")
    body = {**owner, "user_id": user_id, **{field: getattr(command, field, None) for field in FIELDS[name]}}
    call = post(f"{FILES}/{name}", body, reader(Told), repeat="safe" if name == "view" else "undone")
    return replace(call, also_read=_REFUSED, read_error=_other_error)


def told(call: Call[Told], answer: Told) -> str:
    """Return what is told of a command that was done. Raises ToolError with what is told of another one."""
    if answer.text is not None:
        return answer.text
    message = answer.message or "The memory cannot do this"
    # What is no refusal of the tool names a field of the request, as the service does.
    raise ToolError(call.renamed(message) if message.startswith("$") else message)


@contextmanager
def in_plain_words(*, changes: bool) -> Iterator[None]:
    """Raise ToolError for whatever keeps the service from answering; `changes` is whether something may be changed."""
    try:
        yield
    except Unavailable as error:
        raise ToolError(_MAYBE if changes else _AWAY) from error
    except ElfError as error:
        raise ToolError(f"The memory cannot do this: {error}") from error


def places(paths: Sequence[str]) -> list[str]:
    """Return what is at the top, where these paths of files are."""
    return list(dict.fromkeys("/".join(path.split("/")[:3]) for path in paths))


def _other_error(status: int, content: bytes) -> ErrorBody | None:
    """Read an error that is no refusal of the tool."""
    return None if status in _REFUSED else read_error(status, content)
