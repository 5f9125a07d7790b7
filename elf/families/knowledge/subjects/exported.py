"""What is exported, as JSON objects: each says by `kind` what it is, and has the names of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, cast
from uuid import UUID

import msgspec
from msgspec import Meta

from elf.core.errors import InvalidRequest
from elf.core.moments import check_moments
from elf.core.slices import Slices
from elf.core.structs import read_json
from elf.families.knowledge import model as m
from elf.families.knowledge.rules.searchable_text import fact_text
from elf.families.knowledge.writing.events import EventType
from elf.taking_in import Given

_MERGED: Final = "merged_into"
_ID_CHARS: Final = 36
MOST_CHARS: Final = 2 * m.MAX_EPISODE_CHARS  # what the service made longer itself, too

Moment = Annotated[datetime, Meta(tz=True)]
Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Rate = Annotated[float, Meta(ge=0.0)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Importance = Annotated[float, Meta(ge=0.0, le=10.0)]
Identifier = Annotated[str, Meta(min_length=1, max_length=128)]
Name = Annotated[str, Meta(min_length=1, max_length=m.MAX_NAME_CHARS)]
Text = Annotated[str, Meta(max_length=MOST_CHARS)]
Tags = Annotated[list[str], Meta(max_length=m.MAX_TAGS)]
Digest = Annotated[bytes, Meta(max_length=64)]


class _Piece(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"
):  # fmt: skip
    tenant_id: Identifier


class ExportedEntity(_Piece, frozen=True, kw_only=True, tag="entity"):
    """Whom or what facts are about; those that were merged into another say so in their metadata."""

    id: UUID
    canonical_name: Name
    entity_type: m.EntityType
    aliases: Annotated[list[str], Meta(max_length=4096)] = []
    metadata: dict[str, Any] = {}
    created_at: Moment
    updated_at: Moment
    user_id: Identifier | None = None

    def __post_init__(self) -> None:
        _refuse_id(self.metadata, _MERGED)


class ExportedEpisode(_Piece, frozen=True, kw_only=True, tag="episode"):
    """An episode. Digests are in base64."""

    id: UUID
    butler: Identifier
    session_id: UUID | None = None
    content: Text
    importance: Importance
    reference_count: Number = 0
    consolidated: bool = False
    consolidation_status: m.ConsolidationStatus
    retry_count: Number = 0
    last_error: Text | None = None
    available_at: Moment | None = None
    created_at: Moment
    last_referenced_at: Moment | None = None
    expires_at: Moment | None = None
    metadata: dict[str, Any] = {}
    idempotency_key: Identifier | None = None
    request_digest: Digest | None = None
    user_id: Identifier | None = None
    shared: bool = False

    @property
    def text(self) -> str:
        return self.content


class ExportedFact(_Piece, frozen=True, kw_only=True, tag="fact"):
    """A fact; `entity_name` and `entity_type` are those of its entity, which may have another id elsewhere."""

    id: UUID
    subject: Name
    predicate: Name
    content: Text
    importance: Importance
    confidence: Share
    decay_rate: Rate
    permanence: m.Permanence
    source_butler: Identifier | None = None
    source_episode_id: UUID | None = None
    entity_id: UUID | None = None
    entity_name: Name | None = None
    entity_type: m.EntityType | None = None
    validity: m.Validity
    scope: Identifier
    reference_count: Number = 0
    created_at: Moment
    last_referenced_at: Moment | None = None
    last_confirmed_at: Moment | None = None
    tags: Tags = []
    metadata: dict[str, Any] = {}
    idempotency_key: Identifier | None = None
    request_digest: Digest | None = None
    user_id: Identifier | None = None
    shared: bool = False
    reader: Identifier | None = None

    @property
    def text(self) -> str:
        return fact_text(self.subject, self.predicate, self.content)


class ExportedRule(_Piece, frozen=True, kw_only=True, tag="rule"):
    """A rule, with what is known of it from its marks."""

    id: UUID
    content: Text
    scope: Identifier
    maturity: m.Maturity
    confidence: Share
    decay_rate: Rate
    permanence: m.Permanence
    effectiveness_score: float
    applied_count: Number = 0
    success_count: Number = 0
    harmful_count: Number = 0
    source_episode_id: UUID | None = None
    source_butler: Identifier | None = None
    created_at: Moment
    last_applied_at: Moment | None = None
    last_evaluated_at: Moment | None = None
    last_confirmed_at: Moment | None = None
    reference_count: Number = 0
    last_referenced_at: Moment | None = None
    tags: Tags = []
    metadata: dict[str, Any] = {}
    idempotency_key: Identifier | None = None
    request_digest: Digest | None = None
    user_id: Identifier | None = None
    shared: bool = False
    reader: Identifier | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for states that are none."""
        for name in ("forgotten", "needs_inversion"):
            if not isinstance(self.metadata.get(name, False), bool):
                raise ValueError(f"metadata.{name} should be true or false")
        reasons = self.metadata.get("harmful_reasons", [])
        if not isinstance(reasons, list) or not all(isinstance(one, str) for one in reasons):
            raise ValueError("metadata.harmful_reasons should be texts")

    @property
    def text(self) -> str:
        return self.content


class ExportedSupersession(_Piece, frozen=True, kw_only=True, tag="supersession"):
    """That a fact took the place of another."""

    id: UUID
    supersedes_id: UUID

    def __post_init__(self) -> None:
        if self.id == self.supersedes_id:
            raise ValueError("a fact does not take its own place")


class ExportedApplication(_Piece, frozen=True, kw_only=True, tag="application"):
    """What came of applying a rule, as somebody told."""

    id: UUID
    rule_id: UUID
    outcome: m.Outcome
    context: Text | None = None
    reason: Text | None = None
    actor: Text | None = None
    created_at: Moment


class ExportedLink(_Piece, frozen=True, kw_only=True, tag="link"):
    """A link from one memory to another."""

    source_type: m.MemoryType
    source_id: UUID
    target_type: m.MemoryType
    target_id: UUID
    relation: m.Relation
    created_at: Moment

    def __post_init__(self) -> None:
        if (self.source_type, self.source_id) == (self.target_type, self.target_id):
            raise ValueError("a memory is not linked to itself")


class ExportedEvent(_Piece, frozen=True, kw_only=True, tag="event"):
    """What became of something, and by whom."""

    id: UUID
    event_type: EventType
    actor: Text | None = None
    memory_type: Name | None = None
    memory_id: UUID | None = None
    request_id: Text | None = None
    payload: dict[str, Any] = {}
    created_at: Moment
    user_id: Identifier | None = None

    def __post_init__(self) -> None:
        _refuse_id(self.payload, "target_id")


Exported = (
    ExportedEntity
    | ExportedEpisode
    | ExportedFact
    | ExportedRule
    | ExportedSupersession
    | ExportedApplication
    | ExportedLink
    | ExportedEvent
)

_NUL: Final = b"\\u0000"  # JSON has no other way to write it

_IDS: Final = frozenset(
    {
        "id", "source_episode_id", "entity_id", "supersedes_id", "rule_id", "source_id", "target_id", "memory_id",
    }
)  # fmt: skip
"""The fields that name something that knowledge keeps; a session is not its own."""


def ids_of(piece: Exported) -> Iterator[UUID]:
    """Yield the ids of a piece and of what it refers to."""
    for name in piece.__struct_fields__:
        value = getattr(piece, name)
        if name in _IDS and value is not None:
            yield value
    yield from _ids_in(_state(piece))


def with_ids(piece: Exported, ids: Mapping[UUID, UUID]) -> Exported:
    """Return a piece with other ids for those that have them here."""
    found = {
        name: ids[value]
        for name in piece.__struct_fields__
        if name in _IDS and (value := getattr(piece, name)) in ids
    }
    changed: Exported = msgspec.structs.replace(piece, **found)
    match changed:
        case ExportedEvent():
            return msgspec.structs.replace(changed, payload=_replaced(changed.payload, ids))
        case ExportedEntity() if _MERGED in changed.metadata:
            merged = {_MERGED: _replaced(changed.metadata[_MERGED], ids)}
            return msgspec.structs.replace(changed, metadata=changed.metadata | merged)
    return changed


def _state(piece: Exported) -> Any:
    """Return what the service keeps in a piece as JSON, where ids are texts. What callers keep there stays as it is."""
    match piece:
        case ExportedEvent():
            return piece.payload
        case ExportedEntity():
            return piece.metadata.get(_MERGED)
    return None


def _ids_in(value: Any) -> Iterator[UUID]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _ids_in(one)
    elif (found := _id(value)) is not None:
        yield found


def _replaced(value: Any, ids: Mapping[UUID, UUID]) -> Any:
    if isinstance(value, Mapping):
        return {name: _replaced(one, ids) for name, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, ids) for one in value]
    found = _id(value)
    return value if found is None or found not in ids else str(ids[found])


def _id(value: Any) -> UUID | None:
    if not isinstance(value, str) or len(value) != _ID_CHARS:
        return None
    try:
        return UUID(value)
    except ValueError:
        return None


def as_json(piece: Exported) -> Mapping[str, Any]:
    """Return a piece as it is exported."""
    shown: Mapping[str, Any] = msgspec.to_builtins(piece)
    return shown


def given_of(exported: Sequence[Mapping[str, Any]]) -> Slices[list[Given[Exported]]]:
    """Return what JSON objects say. Raises InvalidRequest for one that is not as it is exported."""
    read = []
    for place, one in enumerate(exported):
        read.append(_given(f"$[{place}]", one))
        yield
    return read


def _given(path: str, given: Mapping[str, Any]) -> Given[Exported]:
    try:
        raw = msgspec.json.encode(given)
        if _NUL in raw:
            raise InvalidRequest(f"{path}: must not contain U+0000", fields=[path])
        piece = read_json(raw, cast("type[Exported]", Exported))
        check_moments(piece)
    except (TypeError, UnicodeEncodeError):
        raise InvalidRequest(f"{path}: is not as it is exported: it is no JSON", fields=[path]) from None
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidRequest(f"{path}: is not as it is exported: {error}", fields=[path]) from None
    return Given(piece, len(raw))


def _refuse_id(said: Mapping[str, Any], name: str) -> None:
    """Raise ValueError for what should be an id, and is none."""
    if name not in said:
        return
    try:
        UUID(said[name])
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f"{name} should be an id") from None
