"""What became of memories and entities, written in the transaction of each change and never changed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

import structlog

from elf.db.database import Connection
from elf.db.queries import Queries

EventType: TypeAlias = Literal[
    "episode_created", "episode_consolidated", "episode_failed", "episode_dead_letter", "episode_requeued",
    "episode_discarded",
    "episode_forgotten", "episode_deleted",
    "fact_created", "fact_superseded", "fact_confirmed", "fact_retracted",
    "fact_fading", "fact_recovered", "fact_expired",
    "rule_created", "rule_confirmed", "rule_helpful", "rule_harmful", "rule_promoted", "rule_demoted", "rule_inverted",
    "rule_forgotten", "rule_fading", "rule_recovered", "rule_expired",
    "link_created", "entity_created", "entity_updated", "entity_merge",
    "consolidation_run", "reembedded", "memory_erased", "memory_shared",
]  # fmt: skip

WORKER: Final = "worker"  # the actor of what the service does by itself


@dataclass(frozen=True, slots=True)
class Event:
    """One change. `kind` is episode, fact, rule or entity, with its id; `payload` holds ids, numbers and states.

    `user` is whose it is, None for the one whose call it is of.
    """

    type: EventType
    kind: str | None = None
    id: UUID | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    user: str | None = None


async def record(
    connection: Connection,
    queries: Queries,
    events: Sequence[Event],
    *,
    tenant_id: str,
    actor: str | None,
    user: str | None = None,
    now: datetime,
) -> None:
    """Write events with the transaction of what they tell, in their order; `user` is the one whose call it is of."""
    if not events:
        return
    await connection.execute(
        queries["record_events"],
        tenant_id,
        actor,
        structlog.contextvars.get_contextvars().get("request_id"),
        now,
        [event.type for event in events],
        [event.kind for event in events],
        [event.id for event in events],
        [dict(event.payload) for event in events],
        [event.user or user for event in events],
    )
