"""What a search of notes looks for, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from elf.core.scopes import AGENT_PRIVATE
from elf.families.notes.model import Context
from elf.families.notes.reading.note_filter import EVERYTHING, NoteFilter
from elf.index.port import IndexFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteAsk:
    """A query, the scopes it may read as it runs at `now`, and of those notes which."""

    query: str
    context: Context
    scopes: Sequence[str]
    now: datetime
    candidate_k: int
    filter: NoteFilter = EVERYTHING

    @property
    def where(self) -> IndexFilter | None:
        """The points of the notes that it may read; None when it may read none."""
        if not self.scopes:
            return None
        shared = [scope for scope in self.scopes if scope != AGENT_PRIVATE]
        any_of: list[Mapping[str, Sequence[str]]] = []
        if shared:
            any_of.append({"scope": shared})
        if AGENT_PRIVATE in self.scopes:
            any_of.append({"scope": [AGENT_PRIVATE], "agent_id": [self.context.agent_id]})
        must = {
            "tenant_id": self.context.tenant_id,
            "project_id": self.context.project_id,
            "status": "active",
        }
        return self.filter.narrowing(IndexFilter(must=must, any_of=any_of))
