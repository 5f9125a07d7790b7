"""Memories as whoever stands above all families is told of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from elf.core.nobody import agent_of
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.assistant.model import Memory, Place
from elf.families.assistant.rules.aging import has_aged
from elf.offers import Item

MEMORY: Final = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What else is known of a memory: whether another one says what it cannot both be, what it was made of, and
    in which threads it was said, too.
    """

    is_contradicted: bool
    made_of: Sequence[str]
    threads: Sequence[str] = ()


async def standing_of(
    connection: Connection,
    queries: Queries,
    place: Place,
    memory_ids: Sequence[UUID],
    categories: Collection[str] | None,
) -> Mapping[UUID, Standing]:
    """Return how memories stand among those of some categories; None: of all."""
    rows = await connection.fetch(
        queries["standing_of"], *place, memory_ids, None if categories is None else list(categories)
    )
    return {
        row["memory_id"]: Standing(
            is_contradicted=row["is_contradicted"], made_of=row["made_of"], threads=row["threads"]
        )
        for row in rows
    }


def item_of(
    memory: Memory, standing: Standing, now: datetime, terms: Mapping[str, float] | None = None
) -> Item:
    """Return a memory as an item; `terms` are those of its score."""
    states = {"fading": has_aged(memory, now), "contradicted": standing.is_contradicted}
    turns = dict.fromkeys(one.turn_id for one in memory.evidence if one.turn_id is not None)
    return Item(
        kind=MEMORY,
        id=str(memory.memory_id),
        text=memory.text,
        terms=terms or {},
        provenance=[
            *(f"turn:{turn_id}" for turn_id in turns),
            *([] if memory.thread_id is None else [f"thread:{memory.thread_id}"]),
            *(f"thread:{thread_id}" for thread_id in standing.threads),
            *(f"{MEMORY}:{memory_id}" for memory_id in standing.made_of),
        ],
        at=memory.updated_at,
        quotes=[one.quote for one in memory.evidence],
        states=[name for name, is_so in states.items() if is_so],
        agent_id=agent_of(memory.agent_id),
        thread=memory.thread_id,
    )
