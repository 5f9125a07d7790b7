"""The rule-based extractor in place of a language model: it reads the extraction prompt as a model would.

The limits and the messages are taken out of the prompt's text (specs/elf-notes.md, 18); the answer is always JSON.
Notes beyond the maximum come last: they are not stored, but told of.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

from elf.config.packaged import EXTRACTOR_NAME
from elf.providers.local.answers import LocalAnswer
from elf.providers.local.extractor import Asked, ranked_notes
from elf.providers.port import Prompt

_MESSAGES_BEGIN: Final = "\nHere are the messages as JSON:\n"
_LIMIT: Final = re.compile(r"^- (?P<name>MAX_NOTES|MAX_NOTE_CHARS) = (?P<value>\d{1,9})$", re.MULTILINE)
_SCOPES: Final = re.compile(r'"scope_suggestion": "(?P<scopes>[^"]*)"')


class _Said(msgspec.Struct):
    role: Literal["user", "assistant", "tool"]
    content: str
    message_index: int | None = None


_said: Final = msgspec.json.Decoder(list[_Said])


def _read(prompt: Prompt) -> tuple[Asked, str] | None:
    """Return what an extraction prompt asks for, and its messages as JSON; None for any other prompt."""
    rules, begin, messages = prompt.user.partition(_MESSAGES_BEGIN)
    limits = {limit["name"]: int(limit["value"]) for limit in _LIMIT.finditer(rules)}
    scopes = _SCOPES.search(rules)
    if not begin or len(limits) != 2 or scopes is None:
        return None
    return Asked(limits["MAX_NOTES"], limits["MAX_NOTE_CHARS"], scopes["scopes"].split("|")), messages


def _knows(prompt: Prompt) -> bool:
    return _read(prompt) is not None


def _answer(prompt: Prompt) -> str:
    read = _read(prompt)
    assert read is not None, "asked for a prompt that it knows"
    asked, messages = read
    said: list[dict[str, Any]] = [
        {
            "role": one.role,
            "content": one.content,
            "message_index": place if one.message_index is None else one.message_index,
        }
        for place, one in enumerate(_messages(messages))
    ]
    kept, dropped = ranked_notes(said, asked)
    return msgspec.json.encode({"notes": [*kept, *dropped]}).decode()


def _messages(messages: str) -> list[_Said]:
    try:
        return _said.decode(messages)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"the messages are not the JSON expected: {error}") from error


RULE_BASED_EXTRACTION: Final = LocalAnswer(model=EXTRACTOR_NAME, knows=_knows, answer=_answer)
