"""What the family offers to whoever stands above all families: memories as candidates for an answer, and as items.

The kind of a memory is the orchestrator whose it is, which is the agent of a subject; a subject without one has no
candidates here. A user is told of what is the user's own, of what is shared, and of what is no user's, as far as is
known, where it is from a conversation or from a file of a shared workspace. Whoever stands above leaves out what is
from a conversation that the user may not read.
"""

from __future__ import annotations

import os.path
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from elf.api.caller import Caller
from elf.config.tables.graph import Recall as RecallRules
from elf.core.clock import Clock
from elf.core.errors import Forbidden, NotFound
from elf.families.graph.errors import GraphDisabled, NoSuchMemory
from elf.families.graph.model import MAX_QUERY_CHARS, MemoryNode
from elf.families.graph.places import Places
from elf.families.graph.recall.finding import Found, contradicted_among
from elf.families.graph.recall.grants import Grants, tell_denied
from elf.families.graph.recall.legs import Where
from elf.families.graph.recall.place import Place, Vector
from elf.families.graph.recall.recaller import Question as Asked
from elf.families.graph.recall.recaller import Recaller
from elf.families.graph.rules.provenance import is_granted
from elf.families.graph.scope import actor_of
from elf.families.graph.store.changes import retract
from elf.families.graph.store.edges import superseding
from elf.families.graph.store.nodes import need_memory
from elf.families.graph.store.rows import VersionedMemory
from elf.families.graph.store.statements import Change, Snapshot, Viewer
from elf.offers import Item, Question, Subject, user_named

FORGOTTEN: Final = "it was to be forgotten"
CONTRADICTED: Final = "contradicted"


class GraphRecall:
    """Finds memories of an orchestrator for an answer, as a recall does."""

    def __init__(
        self, places: Places, rules: RecallRules, clock: Clock, *, version: str, is_local: bool
    ) -> None:
        """`version` is that of the model, which `is_local` when this process has it."""
        self._places = places
        self._rules = rules
        self._clock = clock
        self._version = version
        self._is_local = is_local

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        """Return the best memories; none where there is no such orchestrator."""
        whose, query = question.subject.agent_id, question.text.replace("\0", " ").strip()
        if whose is None or not _may_ask(whose, question.subject, caller) or not query:
            return []
        if question.kinds is not None and whose not in question.kinds:
            return []
        vectors = _ComingVector(self._version, question, is_quick=self._is_local)
        recaller = Recaller(vectors, self._clock)
        try:
            async with self._places.known(question.subject.tenant_id, whose) as place:
                view = _View(place, question.subject, caller)
                recalled = await recaller.recall(view.place, self._asked(query, question, view), view.of)
        except (NotFound, GraphDisabled):
            return []
        return [view.told(_candidate(one), one.memory) for one in recalled.beside]

    def _asked(self, query: str, question: Question, view: _View) -> Asked:
        rules = self._rules
        return Asked(
            query=query[:MAX_QUERY_CHARS],
            where=Where(
                since=question.since,
                until=question.until,
                shared=view.prefixes if view.is_of_a_user else None,
            ),
            top_n=question.limit,
            rrf_k=rules.rrf_k,
            top_k_text=rules.top_k_text and max(rules.top_k_text, question.limit),
            top_k_vector=rules.top_k_vector and max(rules.top_k_vector, question.limit),
        )


class GraphItems:
    """Reads memories, and retracts those that are to be forgotten. What the caller may not see is not there."""

    def __init__(self, places: Places) -> None:
        self._places = places

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        """Read a memory of the orchestrator that is its kind, unless it is retracted. Raises NotFound."""
        async with self._looking(kind, item_id, subject, caller) as view:

            def look(snapshot: Snapshot) -> Item:
                found = view.need(snapshot, item_id)
                return view.told(_item(snapshot, found), found.memory)

            return await view.place.read(look)

    async def forget(
        self, kind: str, item_id: str, subject: Subject, caller: Caller, conversation: str | None = None
    ) -> None:
        """Retract a memory, which is never recalled again.

        Raises NotFound, and Forbidden where a user asks for what is not that user's alone.
        """
        async with self._looking(kind, item_id, subject, caller) as view:

            def change(change: Change) -> None:
                memory = view.need(change, item_id).memory
                if view.is_of_all(memory):
                    raise Forbidden("it is from a shared file, and not forgotten for one user")
                retract(change, item_id, reason=FORGOTTEN)

            await view.place.write(change, actor=actor_of(caller))

    @asynccontextmanager
    async def _looking(
        self, kind: str, item_id: str, subject: Subject, caller: Caller
    ) -> AsyncGenerator[_View]:
        """Open the memory of an orchestrator for one who may ask, and log what that one may not see."""
        if not _may_ask(kind, subject, caller):
            raise NoSuchMemory(item_id)
        async with self._places.known(subject.tenant_id, kind) as place:
            view = _View(place, subject, caller)
            try:
                yield view
            finally:
                await tell_denied(place, view.grants.denied)


class _View:
    """What may be shown of a memory to whoever asks: by the files that are granted, and to users by whose it is and by
    shared folders.
    """

    def __init__(self, place: Place, subject: Subject, caller: Caller) -> None:
        self.grants = Grants(place.is_granted)
        self.is_of_a_user = subject.user is not None or caller.user is not None
        self._user = user_named(subject, caller)
        self.place = place.seen_by(None if self._user is None else Viewer(self._user, sees_unknown=True))

    @cached_property
    def shared(self) -> Sequence[str]:
        """The folders that are shared. Blocks."""
        return self.place.shared_folders()

    def prefixes(self) -> list[str]:
        """Return what the paths of shared files begin with. Blocks."""
        return [f"{folder.rstrip('/')}/" for folder in self.shared]

    def of(self, snapshot: Snapshot, found: Sequence[Found], grants: Grants) -> list[Found]:
        """Return those of what was found that may be shown. Blocks."""
        return [one for one in found if self.shows(one.memory)]

    def shows(self, memory: MemoryNode) -> bool:
        """Tell whether a memory whose file is granted may be shown. Blocks."""
        path = memory.source.source_path
        if not self.is_of_a_user or memory.shared or self._is_own(memory):
            return True
        if memory.source.conversation_id is not None:
            return True
        return path is not None and is_granted(path, real=os.path.realpath(path), folders=self.shared)

    def is_of_all(self, memory: MemoryNode) -> bool:
        """Tell whether a memory is another's, too, than the user's for whom it is asked."""
        return self.is_of_a_user and memory.source.conversation_id is None and not self._is_own(memory)

    def told(self, item: Item, memory: MemoryNode) -> Item:
        """Return an item as it is told: of what others share, nobody has to be able to read the conversation."""
        if not memory.shared or self._is_own(memory):
            return item
        return msgspec.structs.replace(item, conversation=None)

    def _is_own(self, memory: MemoryNode) -> bool:
        return self._user is not None and memory.user_id == self._user

    def need(self, snapshot: Snapshot, memory_id: str) -> VersionedMemory:
        """Return a memory that may be shown and is not retracted. Blocks. Raises NoSuchMemory."""
        found = need_memory(snapshot, memory_id)
        is_there = found.memory.status != "retracted" and self.shows(found.memory)
        if not (is_there and self.grants.allow(found.memory)):
            raise NoSuchMemory(memory_id)
        return found


class _ComingVector:
    """The vector of a query that somebody else makes: QueryVectors."""

    def __init__(self, version: str, question: Question, *, is_quick: bool) -> None:
        self.version = version
        self.is_quick = is_quick
        self._question = question

    async def of(self, query: str) -> Vector | None:
        """Return the vector, of length 1."""
        vector = await self._question.embedded()
        if vector is None:
            return None
        unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


def _may_ask(orchestrator_id: str, subject: Subject, caller: Caller) -> bool:
    """Tell whether a subject has the memory of an orchestrator, and a caller may ask for what the subject has."""
    return (
        subject.agent_id in (None, orchestrator_id)
        and caller.bound.get("agent_id") in (None, orchestrator_id)
        and caller.bound.get("tenant_id") in (None, subject.tenant_id)
        and (subject.user is None or caller.user in (None, subject.user))
    )


def _candidate(found: Found) -> Item:
    states = [CONTRADICTED] if found.contradicted else []
    return _told(
        VersionedMemory(found.memory, found.version), states, {"relevance": found.ranked.terms.final}
    )


def _item(snapshot: Snapshot, found: VersionedMemory) -> Item:
    memory_id = found.memory.memory_id
    states = [CONTRADICTED] if contradicted_among(snapshot, [memory_id]) else []
    if found.memory.status == "superseded":
        by = superseding(snapshot, memory_id)
        states.append("superseded" if by is None else f"superseded_by:{by}")
    quoted = snapshot.row("quote_of_memory", memory_id=memory_id)
    quotes = [found.memory.content] if quoted is None else [quoted[0], found.memory.content]
    return msgspec.structs.replace(_told(found, states, {}), quotes=list(dict.fromkeys(quotes)))


def _told(found: VersionedMemory, states: Sequence[str], terms: dict[str, float]) -> Item:
    memory = found.memory
    return Item(
        kind=memory.orchestrator_id,
        id=memory.memory_id,
        text=memory.content,
        terms=terms,
        provenance=_provenance(memory),
        at=found.said_at,
        states=states,
        conversation=memory.source.conversation_id,
        agent_id=memory.orchestrator_id,
    )


def _provenance(memory: MemoryNode) -> list[str]:
    source = memory.source
    named = {
        "file": source.source_path, "conversation": source.conversation_id, "run": source.workflow_run_id,
        "step": source.step_id,
    }  # fmt: skip
    return [f"{kind}:{name}" for kind, name in named.items() if name is not None]
