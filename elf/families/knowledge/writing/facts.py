"""Facts, as they are written: each takes the place of the active one of its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from elf.families.knowledge import model as m
from elf.families.knowledge.rules.searchable_text import fact_text


@dataclass(frozen=True, slots=True, kw_only=True)
class FactToStore:
    """A fact before it has an id. `path` is that of the request, or of the answer of a model, for its errors."""

    subject: str
    predicate: str
    content: str
    importance: float = m.DEFAULT_IMPORTANCE
    permanence: m.Permanence = "standard"
    scope: str = m.GLOBAL_SCOPE
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] | None = None
    source_butler: str | None = None
    source_episode_id: UUID | None = None
    entity_id: UUID | None = None
    idempotency_key: str | None = None
    request_digest: bytes | None = None
    path: str = "$"

    @property
    def text(self) -> str:
        """What is embedded and searched."""
        return fact_text(self.subject, self.predicate, self.content)
