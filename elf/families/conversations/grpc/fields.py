"""What fields of messages stand for in the requests of operations. What is empty is left out, as it is in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from elf.core.errors import InvalidRequest
from elf.families.conversations.grpc import memory_service_pb2 as pb

UUID_BYTES: Final = 16


def sparse(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def id_of(name: str, value: bytes) -> str | None:
    """Read a UUID; None for no bytes at all. Raises InvalidRequest naming the field for any other number of them."""
    if not value:
        return None
    if len(value) != UUID_BYTES:
        raise InvalidRequest(f"{name}: should be {UUID_BYTES} bytes, or none", fields=[f"$.{name}"])
    return str(UUID(bytes=value))


def word_of(name: str, number: int, words: Mapping[int, str]) -> str | None:
    """Return what a value of an enum means; None for the unset one. Raises InvalidRequest for one that there is not."""
    if number == 0:
        return None
    if number not in words:
        raise InvalidRequest(f"{name}: {number} is none of its values", fields=[f"$.{name}"])
    return words[number]


def conversation_of(asked: Any) -> dict[str, Any]:
    """Read which conversation a message is about."""
    return sparse(conversationId=id_of("conversation_id", asked.conversation_id))


def page_of(page: pb.PageRequest) -> dict[str, Any]:
    """Read which page of a listing is wanted."""
    return sparse(after=page.page_token or None, limit=page.page_size or None)


LEVELS: Final[Mapping[int, str]] = {
    pb.OWNER: "owner",
    pb.MANAGER: "manager",
    pb.WRITER: "writer",
    pb.READER: "reader",
}
CHANNELS: Final[Mapping[int, str]] = {pb.HISTORY: "history", pb.MEMORY: "memory"}
MODES: Final[Mapping[int, str]] = {pb.ALL: "all", pb.ROOTS: "roots", pb.LATEST_FORK: "latest-fork"}
PARTS: Final[Mapping[int, str]] = {pb.SENDER: "sender", pb.RECIPIENT: "recipient"}
