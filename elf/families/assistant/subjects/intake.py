"""Taking in what was exported, by the rules of everything that is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID, uuid4

from pgvector import Vector

from elf.db.errors import retrying
from elf.families.assistant.api import subjects as a
from elf.families.assistant.consent.proposing import LOCK, Consents
from elf.families.assistant.files.intake import Became, FileIntake
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.model import COMPARED_TYPES, Evidence, Memory, Place
from elf.families.assistant.rules.user_context import ContextField, Signal
from elf.families.assistant.rules.validators import Rejected, accepted
from elf.families.assistant.store.changes import Changes

IMPORT: Final = "import"


@dataclass
class Taken:
    """What became of lines so far; `ids` are the new ids of memories whose own are taken."""

    new: int = 0
    known: int = 0
    proposed: int = 0
    left: int = 0
    rejected: list[a.RejectedLine] = field(default_factory=list)
    ids: dict[tuple[str, UUID], UUID] = field(default_factory=dict)

    def count(self, became: Became) -> None:
        """Count a line of which that became."""
        self.new += became == "new"
        self.known += became == "known"
        self.left += became == "left"


class Intake:
    """Writes lines one after the other; what was written stays when a later one fails, and is known the next time."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._given = Given(kit)
        self._writer = kit.writer
        self._embedder = kit.embedder
        self._files = FileIntake(kit)
        self._consents = Consents(kit.queries, version=kit.embedder.version)

    async def take_in(
        self, tenant_id: str, user_id: str | None, items: Sequence[a.ExportedLine], *, actor: str | None
    ) -> Taken:
        """Take lines in for a user, or each for its own.

        Memories are normalised, and have to pass as if they were new, whoever wrote them. What a user has to agree to
        is proposed. History, decisions, older versions of files, and what was deleted are left.
        """
        taken = Taken()
        memories = await self._memories(tenant_id, user_id, items, taken)
        embedded = await self._embedder.embed_if_there([one.embedded_text for one in memories.values()])
        vectors = dict(zip(memories, embedded.vectors, strict=True))
        for place, line in enumerate(items):
            whose = Place(tenant_id, user_id or line.user_id)
            if place in memories:
                await self._add(memories[place], vectors[place], taken, actor)
            elif line.source is not None:
                await self._add_source(whose, line.source, taken, actor)
            elif line.relation is not None:
                await self._relate(whose, line.relation, taken, actor)
            elif line.user_context is not None:
                await self._agree(whose, line.user_context, taken, actor)
            elif line.thread is not None and not line.thread.by_saver:
                await self._keep(whose, line.thread, taken)
            elif line.file is not None:
                taken.count(await self._files.take_in(whose, line.file))
            elif line.memory is None or line.memory.state != "active":
                taken.left += 1
        return taken

    async def _memories(
        self, tenant_id: str, user_id: str | None, items: Sequence[a.ExportedLine], taken: Taken
    ) -> Mapping[int, Memory]:
        """Return the memories among lines by their place, but for those that are rejected or deleted."""
        memories = {}
        for place, line in enumerate(items):
            if line.memory is None or line.memory.state != "active":
                continue
            memory = await self._memory(Place(tenant_id, user_id or line.user_id), line.memory)
            if isinstance(memory, Rejected):
                taken.rejected.append(a.RejectedLine(place=place, reason_code=memory.reason))
            else:
                memories[place] = memory
        return memories

    async def _memory(self, place: Place, told: a.ExportedMemory) -> Memory | Rejected:
        text = await self._given.text(told.text)
        verdict = accepted(text, told.type)
        if isinstance(verdict, Rejected):
            return verdict
        text = verdict.text
        evidence = await self._quotes(told.evidence)
        return Memory(
            tenant_id=place.tenant_id, user_id=place.user_id, memory_id=told.id, type=told.type,
            category=told.category, text=text, steps_text=await self._given.steps(told.steps_text), tags=told.tags,
            importance=told.importance, pinned=told.pinned, state="active", source=told.source,
            agent_id=told.agent_id, run_id=told.run_id, actor_id=told.actor_id, thread_id=told.thread_id,
            role=told.role, evidence=evidence, created_at=told.created_at, updated_at=told.updated_at,
            last_accessed=told.last_accessed, hit_count=told.hit_count,
            unchecked=told.type in COMPARED_TYPES, imported_at=self._kit.now(),
        )  # fmt: skip

    async def _quotes(self, told: Sequence[a.ExportedQuote]) -> list[Evidence]:
        return [
            Evidence(quote=await self._given.quote(one.quote), role=one.role, turn_id=one.turn_id)
            for one in told
        ]

    async def _add(self, memory: Memory, vector: Vector | None, taken: Taken, actor: str | None) -> None:
        async def once() -> UUID | None:
            async with self._writer.changing(memory.place, {memory.category}, actor=actor) as changes:
                if await changes.equal_to(memory) is not None:
                    return None
                is_taken = await changes.read(memory.memory_id) is not None
                stored = replace(memory, memory_id=uuid4()) if is_taken else memory
                return (await changes.add(stored, vector)).memory_id

        memory_id = await retrying(once)
        if memory_id is None:
            taken.known += 1
            return
        taken.new += 1
        taken.ids[memory.user_id, memory.memory_id] = memory_id

    async def _add_source(
        self, whose: Place, told: a.ExportedSource, taken: Taken, actor: str | None
    ) -> None:
        """Keep that a memory was said in another thread, too, where the memory is there."""
        quotes = await self._quotes(told.evidence)

        async def once() -> bool | None:
            async with self._writer.changing(whose, (), actor=actor) as changes:
                memory = await self._end(changes, taken, told.memory_id)
                return None if memory is None else await changes.said_in(memory, told.thread_id, quotes)

        match await retrying(once):
            case None:
                taken.left += 1
            case True:
                taken.new += 1
            case False:
                taken.known += 1

    async def _relate(self, whose: Place, told: a.ExportedRelation, taken: Taken, actor: str | None) -> None:
        """Keep that two memories contradict one another, where both are there; likeness is found anew."""
        if told.relation_type != "contradicts":
            taken.left += 1
            return

        async def once() -> bool:
            async with self._writer.changing(whose, (), actor=actor) as changes:
                ends = [await self._end(changes, taken, one) for one in (told.from_id, told.to_id)]
                if None in ends or ends[0] == ends[1]:
                    return False
                one, other = (end for end in ends if end is not None)
                return await changes.contradict(one, other, told.strength)

        if await retrying(once):
            taken.new += 1
        else:
            taken.known += 1

    async def _end(self, changes: Changes, taken: Taken, memory_id: UUID) -> Memory | None:
        return await changes.read(taken.ids.get((changes.place.user_id, memory_id), memory_id))

    async def _agree(self, whose: Place, told: a.ExportedContext, taken: Taken, actor: str | None) -> None:
        """Have the user known by what needs no agreement, and propose the rest; what is there stays."""
        value = await self._given.value(told.value)

        async def once() -> tuple[int, int]:
            async with self._writer.changing(whose, {LOCK}, actor=actor) as changes:
                return await self._consents.take_in(changes, _signals(told.field, value))

        applied, proposed = await retrying(once)
        taken.new += applied
        taken.proposed += proposed
        taken.known += not applied and not proposed

    async def _keep(self, whose: Place, told: a.ExportedThread, taken: Taken) -> None:
        async with self._kit.database.transaction() as connection:
            await connection.execute(self._sql["lock_saver_threads_alone"], *whose, [told.thread_id])
            is_new = await connection.fetchval(
                self._sql["import_supervisor_checkpoint"], *whose, told.thread_id, told.checkpoint_data
            )
        if is_new:
            taken.new += 1
        else:
            taken.known += 1


def _signals(field: ContextField, value: str | list[str]) -> list[Signal]:
    return [Signal(field, one) for one in (value if isinstance(value, list) else [value])]
