"""What memories are looked for, as one value: statements hold all of it as clauses, and nothing is sorted out later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from elf.families.assistant.model import MemoryType, Place, Role

CLAUSES: Final = (
    "m.tenant_id = $1 AND m.user_id = $2 AND m.state = 'active' AND m.category = ANY ($3::text[]) "
    "AND m.type = ANY ($4::text[]) AND ($5::text IS NULL OR m.agent_id = $5) "
    "AND ($6::text IS NULL OR m.run_id = $6) AND ($7::text IS NULL OR m.actor_id = $7) "
    "AND ($8::text IS NULL OR m.role = $8) AND ($9::boolean IS NULL OR m.pinned = $9) "
    "AND ($10::int IS NULL OR m.importance >= $10) AND ($11::int IS NULL OR m.importance <= $11) "
    "AND ($12::timestamptz IS NULL OR m.updated_at > $12) AND ($13::timestamptz IS NULL OR m.updated_at < $13)"
)
"""The clauses on a memory m, which stand for <filters> in statements: the first 13 arguments are those of Filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Active memories of a user, of some categories and types; None lets all through. The moments are exclusive."""

    place: Place
    categories: Sequence[str]
    types: Sequence[MemoryType]
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: Role | None = None
    pinned: bool | None = None
    importance_min: int | None = None
    importance_max: int | None = None
    updated_after: datetime | None = None
    updated_before: datetime | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of a statement that begins with the clauses."""
        return (
            *self.place, list(self.categories), list(self.types), self.agent_id, self.run_id, self.actor_id,
            self.role, self.pinned, self.importance_min, self.importance_max, self.updated_after,
            self.updated_before,
        )  # fmt: skip
