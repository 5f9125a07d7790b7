"""What is exported, as JSON objects: each says by `kind` what it is, and has the names of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, cast
from uuid import UUID

import msgspec
from msgspec import Meta

from elf.core.errors import InvalidRequest
from elf.core.moments import check_moments
from elf.core.slices import Slices
from elf.core.structs import read_value
from elf.families.conversations.errors import RuleBroken
from elf.families.conversations.model import AccessLevel, Channel
from elf.families.conversations.rules.history import check_history
from elf.taking_in import Given

Moment = Annotated[datetime, Meta(tz=True)]
Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Place = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ExportedMember(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    user_id: str
    access_level: AccessLevel
    created_at: Moment


class ExportedTransfer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    transfer_id: UUID
    conversation_id: UUID
    from_user_id: str
    to_user_id: str
    created_at: Moment


class _Piece(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"
):  # fmt: skip
    tenant_id: str
    tree_id: UUID


class ExportedTree(_Piece, frozen=True, kw_only=True, tag="tree"):
    """A tree with its members, of whom one is the owner unless it is deleted."""

    owner_user_id: str
    creator: str
    created_at: Moment
    deleted_at: Moment | None = None
    members: list[ExportedMember] = []
    transfer: ExportedTransfer | None = None


class ExportedConversation(_Piece, frozen=True, kw_only=True, tag="conversation"):
    """A conversation; its entries follow, numbered up to `last_seq`.

    `name_id` is the id that its name stood for at first, where conversations of the name were deleted: `generation` of
    them.
    """

    conversation_id: UUID
    title: str | None = None
    titled_by: str | None = None
    metadata: dict[str, Any] = {}
    forked_at_conversation_id: UUID | None = None
    forked_at_entry_id: UUID | None = None
    ancestors: list[UUID] = []
    ancestor_ends: list[Place] = []
    last_seq: Place
    last_entry_at: Moment | None = None
    last_message_preview: str | None = None
    created_at: Moment
    updated_at: Moment
    name_id: UUID | None = None
    generation: Annotated[int, Meta(ge=0, le=2**31 - 2)] = 0

    def __post_init__(self) -> None:
        if len(self.ancestors) != len(self.ancestor_ends):
            raise ValueError("ancestors and ancestor_ends should be as many")


class ExportedEntry(_Piece, frozen=True, kw_only=True, tag="entry"):
    """An entry; `text` is that by which it is found. The digest of what an agent remembers is in base64."""

    conversation_id: UUID
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    entry_id: UUID
    user_id: str | None = None
    client_id: str | None = None
    channel: Channel
    epoch: Number | None = None
    content_type: str
    content: list[Any]
    memory_count: Number | None = None
    memory_digest: bytes | None = None
    memory_type: str | None = None
    is_erased: bool = False
    session_key: str | None = None
    text: str | None = None
    created_at: Moment

    def __post_init__(self) -> None:
        """Raise ValueError for what the channel does not have."""
        of_memory = (self.epoch, self.memory_count, self.memory_digest)
        if self.channel == "history":
            if any(one is not None for one in (*of_memory, self.memory_type)):
                raise ValueError("epoch and memory_ fields are of memory alone")
            _check(self.content_type, self.content)
        elif self.client_id is None or any(one is None for one in of_memory) or self.text is not None:
            raise ValueError("memory has client_id, epoch, memory_count and memory_digest, and no text")


class ExportedMembership(_Piece, frozen=True, kw_only=True, tag="membership"):
    """That a user is a member of a tree of another. It is told, and not taken in: who owns the tree decides that."""

    user_id: str
    access_level: AccessLevel
    created_at: Moment


class ExportedSession(_Piece, frozen=True, kw_only=True, tag="session"):
    """A user's name for a conversation up to an entry, or for nothing of it where that is left out."""

    user_id: str
    session_id: str
    conversation_id: UUID
    entry_id: UUID | None = None
    data: dict[str, Any] = {}
    revision: str
    created_at: Moment
    updated_at: Moment


Exported = ExportedTree | ExportedConversation | ExportedEntry | ExportedMembership | ExportedSession

_NUL: Final = b"\\u0000"  # JSON has no other way to write it


def as_json(piece: Exported) -> Mapping[str, Any]:
    """Return a piece as it is exported."""
    shown: Mapping[str, Any] = msgspec.to_builtins(piece)
    return shown


def given_of(exported: Sequence[Mapping[str, Any]]) -> Slices[list[Given[Exported]]]:
    """Return what JSON objects say. Raises InvalidRequest for one that is not as it is exported."""
    read = []
    for place, one in enumerate(exported):
        read.append(_given(place, one))
        yield
    return read


def _given(place: int, given: Mapping[str, Any]) -> Given[Exported]:
    path = f"$[{place}]"
    try:
        raw = msgspec.json.encode(given)
        if _NUL in raw:
            raise InvalidRequest(f"{path}: must not contain U+0000", fields=[path])
        piece = read_value(given, cast("type[Exported]", Exported))
        check_moments(piece)
        return Given(piece, len(raw))
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise InvalidRequest(f"{path}: is not as it is exported: {_why(error)}", fields=[path]) from None


def _check(content_type: str, content: Sequence[Any]) -> None:
    try:
        check_history(content_type, content)
    except RuleBroken as error:
        raise ValueError(error.message) from None


def _why(error: Exception) -> str:
    """Return what is wrong, which quotes nothing of what was given."""
    return "it is no JSON" if isinstance(error, UnicodeEncodeError | TypeError) else str(error)
