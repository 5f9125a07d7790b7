"""The text of messages as the chat API of OpenAI has them, and what of them is no text."""

from __future__ import annotations

from typing import NamedTuple

from elf.api.seen_text import is_seen
from elf.core.errors import InvalidRequest
from elf.memory.api import remembering as r
from elf.offers import Message


class Taken(NamedTuple):
    """The messages that are taken in, and what of the others is not."""

    messages: list[Message]
    skipped: list[r.Skipped]


def taken_of(request: r.RememberMessages) -> Taken:
    """Return what is taken in of a request.

    Raises InvalidRequest for too long a text, where nothing of all messages can be seen, and in strict mode where
    anything is skipped.
    """
    messages: list[Message] = []
    skipped: list[r.Skipped] = []
    for place, one in enumerate(request.messages):
        text, left = _text_of(one, place)
        is_taken = one.role not in r.UNHEARD and is_seen(text)
        if is_taken:
            messages.append(_message(one, text))
        if one.role in r.UNHEARD:
            skipped.append(r.Skipped(message=place, family=None, reason="ROLE", fields=["role"]))
        elif left or not is_taken:
            skipped.append(
                r.Skipped(
                    message=place,
                    family=None,
                    reason="NOT_TEXT" if is_taken else "NO_TEXT",
                    fields=left or ["content"],
                )
            )
    if skipped and request.strict:
        paths = [f"$.messages[{one.message}].{field}" for one in skipped for field in one.fields]
        raise InvalidRequest(
            f"{paths[0]}: is no text that can be remembered, and strict is set", fields=paths
        )
    blank = [one for one in skipped if one.fields == ["content"]]
    if not messages and len(blank) == len(request.messages):
        paths = [f"$.messages[{one.message}].content" for one in blank]
        raise InvalidRequest(f"{paths[0]}: must not be blank", fields=paths)
    return Taken(messages, skipped)


def _text_of(one: r.MessageSaid, place: int) -> tuple[str, list[str]]:
    """Return the text of a message, and the fields of it that have none and say something all the same."""
    left = calls = [name for name in r.CALLS if getattr(one, name)]
    content: str | list[r.ContentPart] | None = one.content
    if isinstance(content, str) or content is None:
        return (content or "").replace("\x00", ""), left
    texts, left = [], [*calls]
    for number, part in enumerate(content):
        if part.type in r.TEXTS and part.text is not None:
            texts.append(part.text.replace("\x00", ""))
        else:
            left.append(f"content[{number}]")
    text = "\n".join(texts)
    if len(text) > r.MAX_MESSAGE_CHARS:
        path = f"$.messages[{place}].content"
        problem = f"its parts should have at most {r.MAX_MESSAGE_CHARS} characters in all"
        raise InvalidRequest(f"{path}: {problem}", fields=[path])
    return text, left if is_seen(text) else [f"content[{number}]" for number in range(len(content))] + calls


def _message(one: r.MessageSaid, text: str) -> Message:
    match one.role:
        case "user" | "assistant":
            return Message(role=one.role, text=text, at=one.at, id=one.id)
    return Message(role="tool", text=text, at=one.at, id=one.id)
