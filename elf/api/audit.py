"""Calls that are audited: the caller, the operation, the subject and the outcome; never a text or a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, Protocol, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel

from elf.api.caller import Caller
from elf.core.errors import ServiceError
from elf.core.secrets import find_credential

CallEnd: TypeAlias = ServiceError | Literal["done", "left"]
"""What became of a call: its failure, or it was done, or it was broken off before that, as by a client that left."""

BEGUN: Final = "begun"
"""The outcome of a call that has not ended, or whose process was killed before it did."""

MAX_GIVEN_CHARS: Final = 128

SUBJECT_FIELDS: Final[Mapping[str, str]] = {
    name: name
    for name in (
        "user_id", "agent_id", "project_id", "conversation_id", "note_id", "episode_id", "orchestrator_id",
        "requesting_orchestrator_id", "memory_id", "memory_ids", "memory_type", "id", "ids", "event_ids", "receipt_id",
        "queue", "corpus", "name", "what", "everything", "caller", "subject",
    )
} | {"userId": "user_id", "conversationId": "conversation_id"}  # fmt: skip
"""The fields of requests that name what a call is about, and how the audit log calls them. None of them holds text."""

Subject: TypeAlias = Mapping[str, str | list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCall:
    """A request for an operation, as far as it came.

    `caller` is None when it was refused before anybody knew who asks, `request` when it was refused before it was
    understood. `given` is what its address says, as it came: the parameters of path and query that the operation has.
    """

    caller: Caller | None
    request: BaseModel | None
    given: Mapping[str, str]
    end: CallEnd


Audit: TypeAlias = Callable[[AuditedCall], None]
"""Is told of each call of an operation once, when it has ended."""


class DataSubject(NamedTuple):
    """A user or an agent of a tenant by name, or the tenant, whose name is its own."""

    tenant_id: str
    kind: Literal["user", "agent", "tenant"]
    name: str

    @classmethod
    def by_name(cls, tenant_id: str, *, user: str | None, agent: str | None) -> Self:
        """Return the user if one is named, else the agent, else the tenant."""
        if user is not None:
            return cls(tenant_id, "user", user)
        if agent is not None:
            return cls(tenant_id, "agent", agent)
        return cls(tenant_id, "tenant", tenant_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What the audit log has of a call when it begins."""

    call_id: UUID
    called_at: datetime
    request_id: UUID
    operation: str
    user: str | None
    client: str | None
    role: str | None
    tenant_id: str | None
    subject: Subject


class AuditOutcome(NamedTuple):
    """What the audit log has of the end of a call. `outcome` is done, left, or the error code of its failure."""

    outcome: str
    status: int | None
    items: int | None


class AuditLog(Protocol):
    """Keeps a row for each audited call. All methods return once it is durable, and raise ServiceError."""

    async def begin(self, entry: AuditEntry) -> None:
        """Record that a call begins."""
        ...

    async def end(self, entry: AuditEntry, outcome: AuditOutcome, *, has_begun: bool) -> None:
        """Record what became of a call; `has_begun` when that it begins is recorded."""
        ...

    async def pseudonymize(self, erased: DataSubject) -> None:
        """Replace the names of somebody who was erased by a keyed hash, in every row."""
        ...


def subject_of(request: BaseModel | None, given: Mapping[str, str]) -> dict[str, str | list[str]]:
    """Return the ids that a request names, by the name of the field.

    Of one that was refused before it was understood, what its address says is taken where it is as short as an id.
    """
    if request is None:
        return {
            SUBJECT_FIELDS[field]: shown_name(text)
            for field, text in given.items()
            if field in SUBJECT_FIELDS and is_like_an_id(text)
        }
    named = {
        field: getattr(request, field, None)
        for field in SUBJECT_FIELDS
        if field in type(request).model_fields
    }
    return {SUBJECT_FIELDS[field]: _shown(value) for field, value in named.items() if value is not None}


def is_like_an_id(text: str) -> bool:
    """Tell whether a parameter that nobody has checked may be an id."""
    return 0 < len(text) <= MAX_GIVEN_CHARS and text.isprintable()


def shown_name(name: str) -> str:
    """Return a name as the log has it: a credential is not shown, whoever takes it for a name."""
    kind = find_credential(name)
    return (
        f"[REDACTED:{kind}]" if kind is not None else name.encode(errors="replace").decode().replace("\0", "")
    )


def _shown(value: object) -> str | list[str]:
    if isinstance(value, list):
        return [shown_name(str(one)) for one in value]
    return "true" if value is True else shown_name(str(value))
