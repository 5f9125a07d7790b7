"""What there is of a tenant, a user or an agent: erased for good, or taken along.

A user's notes are those of the project that has the user's name, unless the subject names another. An agent's are all
that it wrote, in all projects of the tenant, and not only those that nobody else sees: each bears its name, and nothing
of it is to be left. A user and an agent together are what the agent wrote in the user's project.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

import msgspec

from elf.core.clock import Clock
from elf.core.slices import in_slices
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.subjects.erasing import NoteErasure
from elf.families.notes.subjects.exporting import Export
from elf.families.notes.subjects.given import Reading
from elf.families.notes.subjects.intake import Intake
from elf.families.notes.subjects.whose import whose_are
from elf.families.notes.writing.service import NotePolicy
from elf.indexing.writes import CorpusWrites
from elf.offers import Subject

STEP: Final = 500


class NoteSubjects:
    """Erases, exports and takes in; `step` is how many pieces a transaction deals with."""

    def __init__(
        self,
        *,
        database: Database,
        queries: Queries,
        store: NoteStore,
        writes: CorpusWrites,
        policy: NotePolicy,
        clock: Clock,
        ring: Callable[[], None],
        step: int = STEP,
    ) -> None:
        self._erasure = NoteErasure(database, queries, ring=ring, step=step)
        self._export = Export(database, queries, page=step)
        self._reading = Reading(policy)
        self._intake = Intake(database, queries, store, writes, clock=clock, ring=ring, step=step)

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Erase all of a subject; returns how much of each kind went.

        Raises InvalidRequest for an empty name, and Unavailable, after which it may be called again.
        """
        return await self._erasure.erase(whose_are(subject))

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the notes of a subject, page by page, each page with its history and what was decided about it.

        Vectors are not among it, nor which search found what. Raises InvalidRequest for an empty name.
        """
        async with aclosing(self._export.of(whose_are(subject))) as pieces:
            async for piece in pieces:
                yield msgspec.to_builtins(piece)

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Keep what was exported, as far as it is not there; returns how much is new.

        It comes in one call or in several, in the order in which it was exported. Notes keep their ids, unless another
        tenant has them. Raises InvalidRequest for what is not as it is exported or may not be written here, and
        NonEnglishInput; it keeps nothing then.
        """
        return await self._intake.take_in(await in_slices(self._reading.read(exported)))
