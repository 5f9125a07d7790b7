"""What a caller says to an assistant's memory. Any mapping of the same fields does as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct

from elf.core.errors import InvalidRequest

MemoryType: TypeAlias = Literal["semantic", "episodic", "insight", "procedural"]
MemoryState: TypeAlias = Literal["active", "soft_deleted"]
Role: TypeAlias = Literal["user", "assistant", "tool"]
RelationType: TypeAlias = Literal["related_to", "contradicts"]
HistoryEvent: TypeAlias = Literal["ADD", "UPDATE", "DELETE", "MERGE", "LINK", "TTL", "RESTORE"]
ContextField: TypeAlias = Literal["preferred_name", "pronouns", "city", "language", "tone", "goals"]
ProposalState: TypeAlias = Literal["pending", "approved", "rejected", "expired", "superseded"]
Decision: TypeAlias = Literal["approve", "reject"]
Form: TypeAlias = Literal["bullets", "full"]
Strategy: TypeAlias = Literal["keep_latest", "delete"]

Id: TypeAlias = UUID | str
Moment: TypeAlias = datetime | str

Whose = Annotated[str | None, "whose memory it is (default: your own)"]

DEFAULT_IMPORTANCE = 2


class Message(Struct, frozen=True, kw_only=True):
    """What somebody said in a turn."""

    role: Role
    content: str
    actor_id: str | None = None


class Acknowledgement(Struct, frozen=True, kw_only=True):
    """What a user decided about a proposal, in words that stand in a message of the user's in the same turn."""

    proposal_id: Id
    decision: Decision
    quote: str


class Quote(Struct, frozen=True, kw_only=True):
    """Words that a memory is drawn from."""

    quote: str
    role: Role | None = None
    turn_id: str | None = None


class Filters(Struct, frozen=True, kw_only=True):
    """Which memories may be in an answer: what is None lets all through. Both moments are exclusive."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: Role | None = None
    category: str | None = None
    pinned: bool | None = None
    importance_min: int | None = None
    importance_max: int | None = None
    updated_after: Moment | None = None
    updated_before: Moment | None = None


def plain(given: object) -> object:
    """Return a record as it is sent, without what is None; all else as it is."""
    if not isinstance(given, Struct):
        return given
    return {name: value for name, value in msgspec.structs.asdict(given).items() if value is not None}


def all_plain(given: object, name: str) -> list[object]:
    """Return records as they are sent. Raises InvalidRequest, by the name of the argument, when they are no list."""
    # A text and a mapping can be gone through, too, and give letters and names.
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return [plain(one) for one in given]
    raise InvalidRequest(f"{name}: should be a list", fields=[name])


def flag(given: bool | None) -> str | None:
    """Return whether something is so, as a query string has it."""
    return None if given is None else str(given).lower()
