"""Changes of memories in one transaction, and what is told of them when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final
from uuid import UUID

import msgspec
from pgvector import Vector

from elf.core.same_fact import contains_fact, same_fact
from elf.core.structs import read_value
from elf.db.database import Connection
from elf.db.queries import Queries
from elf.families.assistant import model as m
from elf.families.assistant.model import Job, Memory, Place, Tracked
from elf.families.assistant.rules.delta import INTO, RECREATED
from elf.families.assistant.store.rows import BLANK, inserted, memory_of, snapshot, updated

VECTOR_JOB: Final = "vector"
MOST_COMPARED: Final = 200
"""So many memories are looked at for one that says the same as a text."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What the history keeps of a change."""

    memory_id: UUID
    event: m.HistoryEvent
    old: Memory | None = None
    new: Memory | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a thread is told of a change."""

    thread_id: str | None
    memory: Memory
    event: m.ChangeEvent
    more: Mapping[str, Any] = field(default_factory=dict)


class Changes:
    """Reads and changes memories of a user within the transaction of a Writer.

    Each change is kept in the history, told in threads, and tracked as an event, with `finish`.
    """

    def __init__(
        self,
        connection: Connection,
        queries: Queries,
        place: Place,
        *,
        version: str,
        link_min: float,
        actor: str | None,
        thread_id: str | None,
        now: datetime,
    ) -> None:
        self.connection = connection
        self.place = place
        self.now = now
        self._sql = queries
        self._version = version
        self._link_min = link_min
        self._actor = actor
        self._thread_id = thread_id
        self._told: list[_Told] = []
        self._shown: list[_Shown] = []
        self._events: list[Tracked] = []
        self._jobs: list[Job] = []
        self._spoken_in: str | None = None

    @property
    def has_jobs(self) -> bool:
        """Whether work is left to be done after the transaction."""
        return bool(self._jobs)

    async def read(self, memory_id: UUID) -> Memory | None:
        """Return a memory as it is, and keep it so for others until the transaction ends."""
        row = await self.connection.fetchrow(self._sql["lock_memory"], *self.place, memory_id)
        return None if row is None else memory_of(row)

    async def equal_to(self, memory: Memory) -> Memory | None:
        """Return an active memory of the same category and type that says the same, letter for letter."""
        row = await self.connection.fetchrow(
            self._sql["find_equal_memory"], *self.place, memory.category, memory.type, memory.text,
            memory.steps_text,
        )  # fmt: skip
        return None if row is None else memory_of(row)

    async def said_in(self, known: Memory, thread_id: str | None, evidence: Sequence[m.Evidence]) -> bool:
        """Keep that a memory was said in a thread, too, which changes nothing of it. Tells whether that is new."""
        if thread_id is None:
            return False
        proof = [msgspec.to_builtins(one) for one in evidence]
        key = (*self.place, known.memory_id)
        added = await self.connection.fetchval(self._sql["add_source"], *key, thread_id, proof, self.now)
        return added is not None

    async def move_sources(self, old: Memory, new: Memory) -> None:
        """Keep with a new memory in which threads the old one, which says the same, was said."""
        await self.connection.execute(self._sql["move_sources"], *self.place, old.memory_id, new.memory_id)
        await self.said_in(new, old.thread_id, old.evidence)

    async def forget_source(self, memory: Memory, thread_id: str) -> Memory | None:
        """Forget that a memory was said in a thread. Returns it as it is then; None where that was its last source.

        Raises LookupError where it was not said there.
        """
        key = (*self.place, memory.memory_id)
        if await self.connection.fetchval(self._sql["drop_source"], *key, thread_id) is not None:
            return memory
        if memory.thread_id != thread_id:
            raise LookupError("it was not said in this thread")
        other = await self.connection.fetchrow(self._sql["take_source"], *key)
        if other is None:
            return None
        evidence = [read_value(one, m.Evidence) for one in other["evidence"]]
        await self.connection.execute(self._sql["move_to_thread"], *key, other["thread_id"])
        left = replace(memory, thread_id=other["thread_id"], evidence=evidence)
        return await self.update(memory, left, None)

    async def is_known(self, text: str, *, but_of: m.MemoryType) -> bool:
        """Tell whether a memory of another type, in any category, says the same as a text, or more: one of the
        newest.
        """
        rows = await self.connection.fetch(self._sql["newest_texts"], *self.place, but_of, MOST_COMPARED)
        return any(
            row["text"] == text or same_fact(text, row["text"]) or contains_fact(row["text"], text)
            for row in rows
        )

    async def add(
        self,
        memory: Memory,
        vector: Vector | None,
        *,
        node: m.Node = "hotpath",
        sim: float | None = None,
        reason: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Add a memory, and return it as it is stored: `unchecked`, and with a job for it, without a vector."""
        stored = replace(memory, unchecked=memory.unchecked or vector is None)
        await self.connection.execute(self._sql["insert_memory"], *inserted(stored))
        self._tell(stored, "ADD", "created", new=stored, meta=meta)
        self._track("create", stored, node, sim=sim, reason=reason)
        await self._put_or_leave_vector(stored, vector)
        return stored

    async def update(
        self,
        old: Memory,
        new: Memory,
        vector: Vector | None,
        *,
        node: m.Node = "hotpath",
        sim: float | None = None,
        reason: str | None = None,
        meta: Mapping[str, Any] | None = None,
        by_hand: bool = False,
    ) -> Memory:
        """Write what changed of a memory; `vector` is of the new text, where that is another one.

        What somebody writes `by_hand` nobody has compared with what is like it.
        """
        says_else = old.embedded_text != new.embedded_text
        unchecked = (by_hand or vector is None) if says_else else new.unchecked
        stored = replace(new, updated_at=self.now, unchecked=unchecked)
        await self.connection.execute(self._sql["update_memory"], *updated(stored))
        self._tell(stored, "UPDATE", "updated", old=old, new=stored, meta=meta)
        self._track("update", stored, node, sim=sim, reason=reason)
        if says_else:
            await self._put_or_leave_vector(stored, vector)
        return stored

    async def recreate(
        self,
        old: Memory,
        new: Memory,
        vector: Vector | None,
        *,
        node: m.Node = "hotpath",
        sim: float | None = None,
        reason: str | None = None,
    ) -> Memory:
        """Put a new memory in the place of one that it is one with: it gets its relations, and the old one goes."""
        stored = replace(new, unchecked=vector is None)
        gone = replace(old, state="soft_deleted", purge_at=self.now + m.PURGED_AFTER, updated_at=self.now)
        await self.connection.execute(self._sql["insert_memory"], *inserted(stored))
        await self.connection.execute(self._sql["update_memory"], *updated(gone))
        await self.connection.execute(
            self._sql["move_relations"], *self.place, old.memory_id, stored.memory_id
        )
        thread_id = self._thread_id or stored.thread_id
        for memory, meta in ((stored, {RECREATED: True}), (gone, {INTO: str(stored.memory_id)})):
            self._told.append(_Told(memory.memory_id, "MERGE", old, stored))
            self._shown.append(_Shown(thread_id, memory, "merged", meta))
        self._track("merge", stored, node, sim=sim, reason=reason)
        await self._put_or_leave_vector(stored, vector)
        return stored

    async def repeat(self, memory: Memory) -> None:
        """Note that a memory was said again."""
        await self.connection.execute(self._sql["repeat_memory"], *self.place, memory.memory_id, self.now)

    async def fold(self, memory: Memory, into: Memory) -> None:
        """Take a memory out of sight that is one with another, which was written for both and gets its relations."""
        gone = replace(memory, state="soft_deleted", purge_at=self.now + m.PURGED_AFTER, updated_at=self.now)
        await self.connection.execute(self._sql["update_memory"], *updated(gone))
        await self.connection.execute(
            self._sql["move_relations"], *self.place, memory.memory_id, into.memory_id
        )
        self._told += [_Told(one.memory_id, "MERGE", memory, into) for one in (into, gone)]
        thread_id = self._thread_id or memory.thread_id
        self._shown.append(_Shown(thread_id, gone, "merged", {INTO: str(into.memory_id)}))

    async def contradict(self, memory: Memory, other: Memory, cosine: float) -> bool:
        """Keep that two memories cannot both be so; both stay. Returns whether that is new."""
        is_new = await self.connection.fetchval(
            self._sql["contradict"], *self.place, memory.memory_id, other.memory_id, cosine, self.now
        )
        if is_new:
            self._link_told(memory.memory_id, other.memory_id, "contradicts", cosine)
        return bool(is_new)

    def tell_decision(self, subject_id: UUID, consent: Mapping[str, Any]) -> None:
        """Keep in the history what was decided about what a user agreed to; it names fields and no values."""
        self._told.append(_Told(subject_id, "UPDATE", meta={"consent": dict(consent)}))

    def speak_in(self, thread_id: str) -> None:
        """Count a turn of a thread when the transaction ends."""
        self._spoken_in = thread_id

    async def delete_softly(self, memory: Memory, *, aged: bool = False) -> Memory:
        """Take a memory out of sight until it is restored or purged: at a user's wish, or because it has aged."""
        gone = replace(memory, state="soft_deleted", purge_at=self.now + m.PURGED_AFTER, updated_at=self.now)
        await self.connection.execute(self._sql["update_memory"], *updated(gone))
        self._tell(gone, *(("TTL", "soft_deleted") if aged else ("DELETE", "deleted")), old=memory, new=gone)
        self._track("delete", gone, "worker" if aged else "hotpath")
        return gone

    async def restore(self, memory: Memory) -> Memory:
        """Bring back a memory that was deleted softly. It counts as read now, so that it does not age at once."""
        back = replace(memory, state="active", purge_at=None, updated_at=self.now, last_accessed=self.now)
        await self.connection.execute(self._sql["update_memory"], *updated(back))
        self._tell(back, "RESTORE", "restored", old=memory, new=back)
        self._track("update", back, "hotpath", reason="restored")
        return back

    async def purge(self, memory: Memory, *, node: m.Node = "hotpath") -> None:
        """Remove a memory for good, with its vector, its relations, and its words wherever they are told.

        So are the memories that were merged into it, and are only there to be restored.
        """
        merged = await self.connection.fetch(self._sql["lock_merged_into"], *self.place, memory.memory_id)
        for one in (memory, *map(memory_of, merged)):
            await self._purge(one)
        self._track("delete", memory, node, reason="purged")

    async def _purge(self, memory: Memory) -> None:
        where = (*self.place, memory.memory_id)
        await self.connection.execute(self._sql["purge_memory"], *where)
        await self.connection.execute(self._sql["blank_history"], *where, dict(BLANK))
        await self.connection.execute(self._sql["blank_changes"], *where)
        quotes = [one.quote for one in memory.evidence if one.quote]
        turns = [one.turn_id for one in memory.evidence if one.turn_id is not None]
        await self.connection.execute(self._sql["forget_recent"], *self.place, quotes, turns)
        await self.connection.execute(self._sql["forget_proposals"], *self.place, quotes, memory.thread_id)
        await self.connection.execute(
            self._sql["forget_signals"], *self.place, memory.thread_id, turns, memory.text
        )
        blank = replace(memory, text="", steps_text=None, tags=(), evidence=())
        if memory.state == "active":
            self._shown.append(_Shown(self._thread_id or memory.thread_id, blank, "deleted"))
        self._told.append(_Told(memory.memory_id, "DELETE", blank, None, {"purged": True}))

    def track(self, event: Tracked) -> None:
        """Keep an event to be counted."""
        self._events.append(replace(event, thread_id=event.thread_id or self._thread_id))

    def leave(self, job: Job) -> None:
        """Leave work to be done after the transaction."""
        self._jobs.append(job)

    async def finish(self) -> None:
        """Write what tells of the changes."""
        await self._log_changes()
        if (
            self._spoken_in is not None
        ):  # threads are locked in one order, and this one may be among those above
            await self.connection.execute(
                self._sql["speak_in_thread"], *self.place, self._spoken_in, self.now
            )
        await self._write_history()
        await self._write_events()
        await self._write_jobs()

    def _tell(
        self,
        memory: Memory,
        history: m.HistoryEvent,
        change: m.ChangeEvent,
        *,
        old: Memory | None = None,
        new: Memory | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self._told.append(_Told(memory.memory_id, history, old, new, meta or {}))
        self._shown.append(_Shown(self._thread_id or memory.thread_id, memory, change))

    def _track(
        self, op: m.Op, memory: Memory, node: m.Node, *, sim: float | None = None, reason: str | None = None
    ) -> None:
        self.track(
            Tracked(
                node=node, op=op, thread_id=self._thread_id or memory.thread_id, memory_id=memory.memory_id,
                category=memory.category, sim=sim, reason=reason,
            )
        )  # fmt: skip

    async def _put_or_leave_vector(self, memory: Memory, vector: Vector | None) -> None:
        """Write the vector of a memory and link it to its neighbours, or leave that to a job."""
        where = (*self.place, memory.memory_id)
        if vector is None:
            await self.connection.execute(self._sql["drop_vector"], *where)
            self.leave(Job(kind=VECTOR_JOB, subject_id=memory.memory_id))
        else:
            await self.put_vector(memory, vector)

    async def put_vector(self, memory: Memory, vector: Vector) -> None:
        """Write the vector of a memory, and link it to those that are near it."""
        where = (*self.place, memory.memory_id)
        await self.connection.execute(self._sql["put_vector"], *where, self._version, vector)
        if memory.state == "active":
            await self._link(memory, vector)

    async def _link(self, memory: Memory, vector: Vector) -> None:
        links = await self.connection.fetch(
            self._sql["link_neighbours"], *self.place, memory.memory_id, vector, self._version, self._link_min,
            m.MOST_NEIGHBOURS, memory.type == "procedural", self.now,
        )  # fmt: skip
        for link in links:
            if link["is_new"]:
                self._link_told(link["from_id"], link["to_id"], "related_to", link["strength"])

    def _link_told(self, from_id: UUID, to_id: UUID, relation_type: m.RelationType, strength: float) -> None:
        meta = {"to_id": str(to_id), "relation_type": relation_type, "strength": strength}
        self._told.append(_Told(from_id, "LINK", meta=meta))

    async def _log_changes(self) -> None:
        for thread_id, shown in groupby(self._shown, key=lambda one: one.thread_id):
            told = list(shown)
            if thread_id is not None:
                await self.connection.execute(self._sql["begin_thread"], *self.place, thread_id)
            await self.connection.fetch(
                self._sql["log_changes"], *self.place, thread_id, self.now - m.SEEN_WITHIN, m.MOST_THREADS,
                m.MOST_CHANGES, [one.memory.memory_id for one in told], [one.event for one in told],
                [_meta(one) for one in told], self.now,
            )  # fmt: skip

    async def _write_history(self) -> None:
        if not self._told:
            return
        told = self._told
        await self.connection.execute(
            self._sql["write_history"], *self.place, [one.memory_id for one in told], [one.event for one in told],
            [None if one.old is None else snapshot(one.old) for one in told],
            [None if one.new is None else snapshot(one.new) for one in told],
            [None if one.old is None else one.old.memory_id for one in told],
            [None if one.new is None else one.new.memory_id for one in told],
            self._actor, self.now, [dict(one.meta) for one in told],
        )  # fmt: skip

    async def _write_events(self) -> None:
        if not self._events:
            return
        events = self._events
        await self.connection.execute(
            self._sql["track_events"], *self.place, self.now, [one.node for one in events],
            [one.op for one in events], [one.status for one in events], [one.thread_id for one in events],
            [one.memory_id for one in events], [one.category for one in events], [one.sim for one in events],
            [one.reason for one in events],
        )  # fmt: skip

    async def _write_jobs(self) -> None:
        if not self._jobs:
            return
        await self.connection.execute(
            self._sql["leave_jobs"], *self.place, [one.kind for one in self._jobs],
            [one.subject_id for one in self._jobs], [dict(one.payload) for one in self._jobs],
        )  # fmt: skip


def _meta(shown: _Shown) -> dict[str, Any]:
    """Return what a thread is told of a change."""
    memory = shown.memory
    text = f"Combined 2 notes: {memory.text}" if shown.event == "merged" else memory.text
    return {"category": memory.category, "text": text, "importance": memory.importance, **shown.more}
