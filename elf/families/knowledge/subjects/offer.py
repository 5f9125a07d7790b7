"""What there is of a tenant, a user or an agent: erased for good, or taken along.

A user's is what is in the user's own scope, episodes that name the user as theirs, and what rests on these alone; an
agent's is what is in its scope, its episodes, and what rests on these alone.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from elf.core.slices import in_slices
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.subjects.erasing import Erasure
from elf.families.knowledge.subjects.exported import as_json, given_of
from elf.families.knowledge.subjects.exporting import Export
from elf.families.knowledge.subjects.intake import Intake
from elf.families.knowledge.subjects.whose import Whose
from elf.offers import Subject


class KnowledgeSubjects:
    """Erases, exports and takes in. Each raises Unavailable, after which it may be called again."""

    def __init__(self, kit: Kit) -> None:
        self._erasure = Erasure(kit)
        self._export = Export(kit.database, kit.queries)
        self._intake = Intake(kit)

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Remove all of a subject; returns how much of each kind went.

        Facts and rules of others that rest on it stay, without naming it. Raises InvalidRequest for a user and an agent
        at once.
        """
        return await self._erasure.erase(Whose.of(subject))

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield all of a subject: entities, memories, what they have to do with one another, and their events.

        Raises InvalidRequest for a user and an agent at once.
        """
        async with aclosing(self._export.of(Whose.of(subject))) as pieces:
            async for piece in pieces:
                yield as_json(piece)

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Keep what was exported, as far as it is not there; returns how much is new.

        It comes in one call or in several, in the order in which it was exported. Raises InvalidRequest for what is not
        as it is exported, and keeps nothing then.
        """
        return await self._intake.take_in(await in_slices(given_of(exported)))
