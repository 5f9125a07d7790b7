"""What there is of a tenant, a user or an agent: erased for good, or taken along.

A user's are the trees that the user owns, as a whole, and the names that the user has for places in whatever tree; in
those of others it is what the user said there and the place among their members. An agent's is what it remembers: what
it said to others stays with those who read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from elf.core.errors import InvalidRequest
from elf.core.slices import in_slices
from elf.db.database import Database
from elf.db.queries import Queries
from elf.erasing import erasing, named
from elf.families.conversations.api.fields import STANDARD
from elf.families.conversations.subjects.blanking import EntryBlanking
from elf.families.conversations.subjects.erasing import TreeErasure
from elf.families.conversations.subjects.exported import as_json, given_of
from elf.families.conversations.subjects.exporting import Export
from elf.families.conversations.subjects.forgetting import SessionErasure
from elf.families.conversations.subjects.intake import Intake
from elf.families.conversations.subjects.leaving import Leaving
from elf.indexing.writes import CorpusWrites
from elf.offers import Subject

STEP: Final = 1000


class ConversationSubjects:
    """Erases, exports and takes in; `step` is how many pieces a transaction deals with.

    What is taken in is found by the first `indexed_chars` of its texts.
    """

    def __init__(
        self,
        database: Database,
        queries: Queries,
        writes: CorpusWrites,
        *,
        step: int = STEP,
        indexed_chars: int = STANDARD.indexed_content_chars,
    ) -> None:
        self._database = database
        self._sessions = SessionErasure(database, queries, step=step)
        self._trees = TreeErasure(database, queries, writes, step=step)
        self._leaving = Leaving(database, queries, writes, step=step)
        self._blanking = EntryBlanking(database, queries, writes, step=step)
        self._export = Export(database, queries, page=step)
        self._intake = Intake(database, queries, writes, step=step, indexed_chars=indexed_chars)

    async def erase_alone(self, subject: Subject) -> Mapping[str, int]:
        """Do as `erase`, while nobody writes what is the subject's. Raises Conflict while somebody else erases it."""
        _refuse(subject)
        async with erasing(self._database, named(subject)):
            return await self.erase(subject)

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Remove all of a subject; returns how much of each kind went.

        It goes on for as long as it finds something: what is written meanwhile goes, too. Raises InvalidRequest for a
        user and an agent at once, and Unavailable, after which it may be called again.
        """
        _refuse(subject)
        erased: Counter[str] = Counter()
        while gone := +await self._erase_once(subject):
            erased.update(gone)
        return dict(erased)

    async def _erase_once(self, subject: Subject) -> Counter[str]:
        tenant_id = subject.tenant_id
        if subject.agent_id is not None:
            return await self._blanking.of_client(tenant_id, subject.agent_id)
        gone = await self._sessions.erase(tenant_id, subject.user)
        gone.update(await self._trees.erase(tenant_id, owner=subject.user))
        await self._sessions.erase_names(tenant_id, subject.user)
        if subject.user is not None:
            gone.update(await self._leaving.leave(tenant_id, subject.user))
            gone.update(await self._blanking.of_user(tenant_id, subject.user))
        return gone

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield all of a subject: trees, each with its conversations, each with its entries, and then sessions.

        Of a user also what is the user's in the trees of others; what was said there is taken in where these are.
        Raises InvalidRequest for a user and an agent at once.
        """
        _refuse(subject)
        async with aclosing(self._export.of(subject)) as pieces:
            async for piece in pieces:
                yield as_json(piece)

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Keep what was exported, as far as it is not there; returns how much is new.

        It comes in one call or in several, in the order in which it was exported. Entries keep their ids, unless
        another tenant has their tree. Raises InvalidRequest for what is not as it is exported, and keeps nothing then.
        """
        return await self._intake.take_in(await in_slices(given_of(exported)))


def _refuse(subject: Subject) -> None:
    """Raise InvalidRequest for a name that is empty, as nobody's is, and for a user and an agent at once.

    Nothing is kept here of what both have in common.
    """
    names = {"$.tenant_id": subject.tenant_id, "$.user": subject.user, "$.agent_id": subject.agent_id}
    if empty := [path for path, name in names.items() if name == ""]:
        raise InvalidRequest(f"{', '.join(empty)}: is empty", fields=empty)
    if subject.user is not None and subject.agent_id is not None:
        fields = ["$.user", "$.agent_id"]
        raise InvalidRequest(f"{', '.join(fields)}: a user or an agent, not both at once", fields=fields)
