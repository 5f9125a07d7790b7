"""What a caller stores: episodes, facts and rules. Any mapping of the same fields does as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from elf.core.errors import InvalidRequest

MemoryType: TypeAlias = Literal["episode", "fact", "rule"]
Permanence: TypeAlias = Literal["permanent", "stable", "standard", "volatile", "ephemeral"]
Maturity: TypeAlias = Literal["candidate", "established", "proven", "anti_pattern"]
Validity: TypeAlias = Literal["active", "superseded", "expired", "retracted"]
Consolidation: TypeAlias = Literal["pending", "consolidated", "dead_letter", "discarded"]
Relation: TypeAlias = Literal["derived_from", "supports", "contradicts", "supersedes", "related_to"]
EntityType: TypeAlias = Literal["person", "organization", "place", "other"]
SearchMode: TypeAlias = Literal["semantic", "keyword", "hybrid"]

GLOBAL_SCOPE = "global"
DEFAULT_IMPORTANCE = 5.0

Id: TypeAlias = UUID | str


class NewEpisode(Struct, frozen=True, kw_only=True):
    """What happened in a session of the agent `butler`. `importance` is 0 to 10.

    Without an `idempotency_key` it gets one of its own when it is sent.
    """

    content: str
    butler: str
    session_id: Id | None = None
    importance: float = DEFAULT_IMPORTANCE
    metadata: Mapping[str, object] = {}  # msgspec gives each a dict of its own
    idempotency_key: str | None = None


class NewFact(Struct, frozen=True, kw_only=True):
    """What is known of a subject. It supersedes the active fact of the same scope, subject and predicate.

    With an `entity_id`, the entity counts in place of the subject. `importance` is 0 to 10. `permanence` says how fast
    it fades unless it is confirmed. The key is as in NewEpisode.
    """

    subject: str
    predicate: str
    content: str
    importance: float = DEFAULT_IMPORTANCE
    permanence: Permanence = "standard"
    scope: str = GLOBAL_SCOPE
    tags: Sequence[str] = ()
    metadata: Mapping[str, object] = {}
    source_butler: str | None = None
    source_episode_id: Id | None = None
    entity_id: Id | None = None
    idempotency_key: str | None = None


class NewRule(Struct, frozen=True, kw_only=True):
    """How to behave. It begins as a candidate, and marks move it on. The key is as in NewEpisode."""

    content: str
    scope: str = GLOBAL_SCOPE
    tags: Sequence[str] = ()
    metadata: Mapping[str, object] = {}
    source_butler: str | None = None
    source_episode_id: Id | None = None
    idempotency_key: str | None = None


def to_send(item: object) -> object:
    """Return what is stored as it is sent: with a key of its own, unless it has one."""
    fields = msgspec.structs.asdict(item) if isinstance(item, Struct) else item
    if not isinstance(fields, Mapping):
        return item  # the service's to refuse
    given = {name: value for name, value in fields.items() if value is not None}
    return {"idempotency_key": str(uuid4()), **given}


def all_to_send(items: object) -> list[object]:
    """Return several as they are sent. Raises InvalidRequest when they are no list."""
    # A text and a mapping can be gone through, too, and give letters and names.
    if isinstance(items, Iterable) and not isinstance(items, str | bytes | Mapping):
        return [to_send(item) for item in items]
    raise InvalidRequest("items: should be a list", fields=["items"])
