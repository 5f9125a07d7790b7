"""What the verbs of a memory take: what was said, in any form that it comes in, and addresses of what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from elf.client.families.memories import Item, Said
from elf.client.families.memories_kept import ForgetCandidate
from elf.client.inputs import Message
from elf.core.errors import InvalidRequest

OneSaid: TypeAlias = str | Said | Message | Mapping[str, object]
Messages: TypeAlias = OneSaid | Sequence[OneSaid]
"""A text that the user said, a message, or a list of either: Said, or a dict of content, role, and perhaps id, at."""

OneKept: TypeAlias = str | Item | ForgetCandidate | Mapping[str, object]
Kept: TypeAlias = OneKept | Sequence[OneKept]
"""An address as family/kind/id, what was recalled, a record with its `id`, or a list of them."""

LONGEST_WAIT_MS = 30_000
MOST = 1000
"""Items of a list at most."""


class Address(NamedTuple):
    """What names an item over all families."""

    family: str
    kind: str
    id: str

    def __str__(self) -> str:
        return "/".join(self)


def messages_of(messages: object) -> list[object]:
    """Return what was said as it is sent. Raises InvalidRequest for what is no message."""
    if isinstance(messages, str | Said | Message | Mapping):
        return [_message(messages, "messages")]
    if not isinstance(messages, Iterable) or isinstance(messages, bytes):
        raise InvalidRequest("messages: should be a text, a message, or a list of them", fields=["messages"])
    return [_message(one, f"messages[{place}]") for place, one in enumerate(messages)]


def _message(one: object, name: str) -> object:
    if isinstance(one, str):
        return {"content": one}
    if isinstance(one, Message):
        return Said(content=one.content, role=one.role, id=one.msg_id, at=one.ts)
    if isinstance(one, Said | Mapping):
        return one
    raise InvalidRequest(f"{name}: should be a text or a message, not {type(one).__name__}", fields=[name])


class Told(NamedTuple):
    """A text, and the role of who says it."""

    role: str
    text: str


def told_of(messages: object) -> list[Told]:
    """Return the texts of what was said. Raises InvalidRequest for what has none."""
    found = []
    for place, one in enumerate(messages_of(messages)):
        text, role = (
            one.get(name) if isinstance(one, Mapping) else getattr(one, name, None)
            for name in ("content", "role")
        )
        for name, value in (("content", text), ("role", role)):
            if not isinstance(value, str) and (name == "content" or value is not None):
                path = f"messages[{place}].{name}"
                raise InvalidRequest(f"{path}: should be a text", fields=[path])
        found.append(Told("user" if role is None else str(role), str(text)))
    return found


def address_of(kept: object, name: str = "memory_id") -> Address:
    """Return the address of something that is kept. Raises InvalidRequest, by this name, for what has none."""
    if isinstance(kept, Item | ForgetCandidate):
        return Address(kept.family, kept.kind, kept.id)
    if isinstance(kept, Mapping):
        kept = kept.get("id")
    parts = kept.split("/", 2) if isinstance(kept, str) else []
    if len(parts) != 3 or not all(parts):
        raise InvalidRequest(
            f"{name}: should be the address of an item, such as notes/note/0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001",
            fields=[name],
        )
    return Address(*parts)


def addresses_of(kept: object) -> list[Address]:
    """Return the addresses of what is kept. Raises InvalidRequest for what has none."""
    if isinstance(kept, str | Item | ForgetCandidate | Mapping):
        return [address_of(kept, "items")]
    if not isinstance(kept, Iterable) or isinstance(kept, bytes):
        raise InvalidRequest("items: should be an address, or a list of them", fields=["items"])
    return [address_of(one, f"items[{place}]") for place, one in enumerate(kept)]


def wait_ms_of(wait: object) -> int:
    """Return how long is waited: the longest for True, not at all for False, else seconds. Raises InvalidRequest."""
    if isinstance(wait, bool):
        return LONGEST_WAIT_MS if wait else 0
    if isinstance(wait, int | float) and 0 <= wait <= LONGEST_WAIT_MS / 1000:
        return int(wait * 1000)
    raise InvalidRequest("wait: should be True, False, or a number of seconds, 0 to 30", fields=["wait"])


def limit_of(limit: object, top_k: object, *, default: int, most: int) -> int:
    """Return how many are wanted, by either name. Raises InvalidRequest."""
    if limit is not None and top_k is not None:
        raise InvalidRequest("limit: give limit or top_k, which mean the same", fields=["limit"])
    name, given = ("limit", limit) if top_k is None else ("top_k", top_k)
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise InvalidRequest(f"{name}: should be a whole number, 1 to {most}", fields=[name])
    return given
