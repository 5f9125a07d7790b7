"""What an entry of the history has to be, and what is read out of it: its text, a title, a preview."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from elf.core.chunking import windows
from elf.core.slices import Slices
from elf.families.conversations.errors import RuleBroken
from elf.families.conversations.model import PREVIEW_CHARS, TITLE_CHARS

CONTENT_TYPE: Final = "history"
ROLES: Final = ("USER", "AI")
UNKNOWN_ATTACHMENT: Final = "History channel attachments cannot be referred to by 'attachmentId' here"

_READ_CHARS: Final = 10_000  # of a text, for a title
_PIECE_CHARS: Final = 65_536
_BAD_TYPE: Final = "History channel entries must use 'history' or 'history/<subtype>' as the contentType"
_NOT_ONE: Final = "History channel entries must contain exactly 1 content object"
_NO_OBJECT: Final = (
    "History channel content must be an object with 'role' and at least one of "
    "'text', 'events', or 'attachments'"
)
_NO_ROLE: Final = "History channel content must have a 'role' field with value 'USER' or 'AI'"
_EMPTY: Final = "History channel content must have at least one of 'text', 'events', or 'attachments'"


def check_history(content_type: str, content: Sequence[Any]) -> None:
    """Raise RuleBroken, in the words of this wire, for what is no entry of a history."""
    if content_type != CONTENT_TYPE and not _has_subtype(content_type):
        raise RuleBroken(_BAD_TYPE)
    if len(content) != 1:
        raise RuleBroken(_NOT_ONE)
    (block,) = content
    if not isinstance(block, dict):
        raise RuleBroken(_NO_OBJECT)
    if block.get("role") not in ROLES:
        raise RuleBroken(_NO_ROLE)
    if not any(block.get(name) is not None for name in ("text", "events", "attachments")):
        raise RuleBroken(_EMPTY)
    for name in ("events", "attachments"):
        if block.get(name) is not None and not isinstance(block[name], list):
            raise RuleBroken(f"History channel '{name}' field must be an array")
    for index, attachment in enumerate(block.get("attachments") or ()):
        _check_attachment(index, attachment)


def _has_subtype(content_type: str) -> bool:
    prefix = f"{CONTENT_TYPE}/"
    return content_type.startswith(prefix) and len(content_type) > len(prefix)


def _check_attachment(index: int, attachment: Any) -> None:
    which = f"History channel attachment at index {index} must"
    if not isinstance(attachment, dict):
        raise RuleBroken(f"{which} be an object")
    if attachment.get("href") is None and attachment.get("attachmentId") is None:
        raise RuleBroken(f"{which} have an 'href' or 'attachmentId' field")
    if attachment.get("contentType") is None:
        raise RuleBroken(f"{which} have a 'contentType' field")
    if attachment.get("attachmentId") is not None:
        raise RuleBroken(UNKNOWN_ATTACHMENT)


def of_a_user(content: Sequence[Any]) -> dict[str, Any]:
    """Return the one block of what a user says: the text and the attachments of the first block that has any.

    Raises RuleBroken when there is none.
    """
    for block in content:
        if isinstance(block, dict) and (
            block.get("text") is not None or block.get("attachments") is not None
        ):
            kept = {name: block[name] for name in ("text", "attachments") if block.get(name) is not None}
            return {"role": "USER", **kept}
    raise RuleBroken("Message content is required")


def role_of(content: Sequence[Any]) -> str | None:
    """Return who speaks in the content of an entry of a history, USER or AI; None for what is none."""
    role = content[0].get("role") if content and isinstance(content[0], dict) else None
    return role if role in ROLES else None


class Beginning(NamedTuple):
    """The beginning of a text, white space collapsed; `chars` is how long it is in the text, where that is longer."""

    text: str
    chars: int | None


def beginning_of(content: Sequence[Any], most: int) -> Beginning | None:
    """Return the first `most` characters of the first text of some content that begins with more than white space."""
    for text in _texts(content):
        if collapsed := " ".join(text[:most].split()):
            return Beginning(collapsed, most if len(text) > most else None)
    return None


def text_of(content: Sequence[Any]) -> Slices[str | None]:
    """Return the first text of some content, white space collapsed; None when there is none but white space."""
    for text in _texts(content):
        if collapsed := (yield from _collapsing(text)):
            return collapsed
    return None


def title_of(content: Sequence[Any]) -> str | None:
    """Return the title of a conversation that begins with some content."""
    beginning = beginning_of(content, _READ_CHARS)
    return None if beginning is None else beginning.text[:TITLE_CHARS]


def preview_of(content: Sequence[Any]) -> str | None:
    """Return what is shown of a conversation whose newest entry has some content."""
    beginning = beginning_of(content, _READ_CHARS)
    return None if beginning is None else beginning.text[:PREVIEW_CHARS]


def _texts(content: Sequence[Any]) -> Iterator[str]:
    for block in content:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield text


def _collapsing(text: str) -> Slices[str]:
    """Return a text with a space for each white space in it, and none around it: a piece after the other."""
    pieces: list[str] = []
    for start, end in windows(text, _PIECE_CHARS):
        if piece := " ".join(text[start:end].split()):
            is_apart = not pieces or text[start].isspace() or text[start - 1].isspace()
            pieces += (" ", piece) if pieces and is_apart else (piece,)
        yield
    return "".join(pieces)
