"""What is left to be done to memories after they were written: vectors that they lack, and rules to be inverted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from pgvector import Vector

from elf.core.errors import Unavailable
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import MemoryType
from elf.families.knowledge.rules.effectiveness import inverted
from elf.families.knowledge.rules.searchable_text import fact_text, searchable
from elf.families.knowledge.writing.events import WORKER, Event, record
from elf.outbox.leases import Job

KEPT: Final = timedelta(days=1)  # what is done

Vectors: TypeAlias = Mapping[str, Vector | None]


class _Inversion(NamedTuple):
    """A rule to be inverted, and what it says then as far as is known before it is locked."""

    tenant_id: str
    rule_id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class _Lacking:
    """A memory without a vector of the configured model; `text` is what is embedded of its content.

    `former_version` is that of the vector it has of another model, None without one.
    """

    kind: MemoryType
    tenant_id: str
    id: UUID
    content: str
    text: str
    former_version: str | None


class MemoryJobs:
    """Handles jobs of the family's outbox, a batch with one call of the model and one transaction.

    A memory that is gone meanwhile, or that nobody is given any more, just ends its job.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def handle(self, jobs: Sequence[Job]) -> None:
        """Do jobs and end them. Raises as the model does: no job of a vector is done then, but rules are inverted."""
        rows = await self._read(jobs)
        lacking = [_lacking(row) for row in rows if row["kind"] == "vector"]
        inversions = [_inversion(row) for row in rows if row["kind"] == "inversion"]
        try:
            vectors = await self._embed([*lacking, *inversions])
        except Unavailable:
            ended = {row["outbox_id"] for row in rows if row["kind"] == "vector"}
            await self._finish([job for job in jobs if job.outbox_id not in ended], [], inversions, {})
            if lacking:
                raise
        else:
            await self._finish(jobs, lacking, inversions, vectors)

    async def _read(self, jobs: Sequence[Job]) -> list[Mapping[str, Any]]:
        ids = [job.outbox_id for job in jobs]
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["read_jobs"], ids, self._kit.embedder.version, self._kit.now()
            )
        return [row for row in rows if row["content"] is not None]

    async def _embed(self, memories: Sequence[_Lacking | _Inversion]) -> Vectors:
        texts = list(dict.fromkeys(memory.text for memory in memories))
        if not texts:
            return {}
        found_by = [self._kit.indexed(text) for text in texts]
        return dict(zip(texts, await self._kit.embedder.embed(found_by), strict=True))

    async def _finish(
        self,
        jobs: Sequence[Job],
        lacking: Sequence[_Lacking],
        inversions: Sequence[_Inversion],
        vectors: Vectors,
    ) -> None:
        """Keep what was made, and end the jobs with it."""
        if jobs:
            await retrying(lambda: self._finish_once(jobs, lacking, inversions, vectors))

    async def _finish_once(
        self,
        jobs: Sequence[Job],
        lacking: Sequence[_Lacking],
        inversions: Sequence[_Inversion],
        vectors: Vectors,
    ) -> None:
        now = self._kit.now()
        async with self._kit.database.transaction() as connection:
            await self._keep(connection, lacking, vectors, now)
            for inversion in inversions:
                await self._invert(connection, inversion, vectors, now)
            await self._kit.wrote(connection, vectors.values(), now)
            await self._kit.outbox.finish(jobs, connection)

    async def _keep(
        self, connection: Connection, lacking: Sequence[_Lacking], vectors: Vectors, now: datetime
    ) -> None:
        """Give memories their vectors, and tell of those that had one of another model."""
        made = [memory for memory in lacking if vectors[memory.text] is not None]
        if made:
            version = self._kit.embedder.version
            rows = await connection.fetch(
                self._sql["keep_memory_vectors"], version,
                [memory.kind for memory in made], [memory.tenant_id for memory in made],
                [memory.id for memory in made], [memory.content for memory in made],
                [vectors[memory.text] for memory in made],
            )  # fmt: skip
            kept = {row["id"] for row in rows}
            events: dict[str, list[Event]] = {}
            for one in made:
                if one.id in kept and one.former_version is not None:
                    versions = {"from": one.former_version, "to": version}
                    events.setdefault(one.tenant_id, []).append(
                        Event("reembedded", one.kind, one.id, versions)
                    )
            for tenant_id, told in events.items():
                await record(connection, self._sql, told, tenant_id=tenant_id, actor=WORKER, now=now)

    async def _invert(
        self, connection: Connection, inversion: _Inversion, vectors: Vectors, now: datetime
    ) -> None:
        place = inversion.tenant_id, inversion.rule_id
        rule = await connection.fetchrow(self._sql["lock_rule_to_invert"], *place)
        if rule is None:
            return
        text = inverted(rule["content"], rule["reasons"])
        vector = vectors.get(text)  # none where another reason came meanwhile, too
        version = self._kit.embedder.version
        searched = searchable(self._kit.indexed(text))
        await connection.execute(self._sql["invert_rule"], *place, text, searched, vector, version)
        if vector is None:
            connection.after_commit(self._kit.ring)
        states = {
            "from": rule["maturity"],
            "to": "anti_pattern",
            "harmful_count": rule["harmful_count"],
            "effectiveness_score": rule["effectiveness_score"],
        }
        event = Event("rule_inverted", "rule", inversion.rule_id, states)
        await record(connection, self._sql, [event], tenant_id=inversion.tenant_id, actor=WORKER, now=now)

    async def drop_done(self, now: datetime, limit: int) -> int:
        """Remove up to `limit` jobs that were done long ago."""
        async with self._kit.database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_done_jobs"], now - KEPT, limit))


def _lacking(row: Mapping[str, Any]) -> _Lacking:
    content = row["content"]
    is_fact = row["memory_type"] == "fact"
    text = fact_text(row["subject"], row["predicate"], content) if is_fact else content
    return _Lacking(
        row["memory_type"], row["tenant_id"], row["memory_id"], content, text, row["former_version"]
    )


def _inversion(row: Mapping[str, Any]) -> _Inversion:
    return _Inversion(row["tenant_id"], row["memory_id"], inverted(row["content"], row["reasons"]))
