"""The parts of an answer, as they were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from elf.families.assistant.model import Memory
from elf.families.assistant.query.candidates import Neighbour
from elf.families.assistant.rules.delta import Delta
from elf.families.assistant.rules.ranking import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What changed, what comes whole, what was ranked, and what is related to it; `used` is how many tokens that is.

    `updates` is None outside of threads. `recalls_often` tells that the agent looks things up in too many turns of the
    thread, `is_tracked` that it is kept what the thread has seen.
    """

    updates: Delta | None
    context: Sequence[Memory]
    items: Sequence[Ranked]
    related: Sequence[Neighbour]
    used: int
    recalls_often: bool
    is_tracked: bool = True

    @property
    def given(self) -> list[UUID]:
        """The ids of all memories in the answer."""
        return [
            *(memory.memory_id for memory in self.context),
            *(one.memory.memory_id for one in self.items),
            *(one.memory.memory_id for one in self.related),
        ]
