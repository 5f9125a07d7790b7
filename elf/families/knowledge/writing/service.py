"""Storing episodes, facts and rules on request: one or many, all or none, and a repeat once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Generic, TypeAlias, TypeVar

from elf.api.caller import Caller
from elf.core.digests import digest_of_json
from elf.core.errors import InvalidRequest
from elf.core.secrets import redacting, redacting_json
from elf.core.slices import Slices, in_slices
from elf.db.database import Connection
from elf.db.errors import Retryable, UniqueViolation, retrying
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import writing as w
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.writing.episodes import EpisodeToStore, EpisodeWriter
from elf.families.knowledge.writing.facts import FactToStore, FactWriter
from elf.families.knowledge.writing.rules import RuleToStore, RuleWriter
from elf.families.knowledge.writing.to_store import MemoryToStore, MemoryWriter, Stored, ToStore, Writing
from elf.memory_embedding import Embedded

Item = TypeVar("Item")

Also: TypeAlias = Callable[[Connection, Sequence[Any]], Awaitable[None]]
"""Is told what is stored now, with the transaction that stores it."""

# Who loses a race for one of these runs again, and then finds what the winner stored.
RACED: Final = frozenset(
    {
        "idx_knowledge_episodes_idempotency", "idx_knowledge_facts_idempotency", "idx_knowledge_rules_idempotency",
        "idx_knowledge_facts_entity_key", "idx_knowledge_facts_subject_key",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Written(Generic[Stored]):
    """What was stored, in the order in which it was given, and what was away."""

    items: Sequence[Stored]
    degraded: list[str]


class MemoryWriting:
    """Carries out the operations that store memories."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._episodes = EpisodeWriter(
            kit.queries,
            ttl_days=kit.config.default_ttl_days,
            indexed_chars=kit.config.indexed_content_chars,
        )
        self._facts = FactWriter(kit.queries)
        self._rules = RuleWriter(kit.queries)

    async def store_episode(
        self, request: w.StoreEpisode, caller: Caller, *, also: Also | None = None
    ) -> w.OneStoredEpisode:
        """Store an episode; `also` is told of it with the transaction that stores it."""
        stored = await self._store_episodes(request.tenant_id, caller, {"$": request}, also)
        (one,) = stored.items
        return w.OneStoredEpisode(
            id=one.id,
            expires_at=one.expires_at,
            indexed_chars=one.indexed_chars,
            degraded=stored.degraded,
        )

    async def store_episodes(self, request: w.StoreEpisodes, caller: Caller) -> w.StoredEpisodes:
        stored = await self._store_episodes(request.tenant_id, caller, _by_path(request.items))
        items = [
            w.StoredEpisode(id=one.id, expires_at=one.expires_at, indexed_chars=one.indexed_chars)
            for one in stored.items
        ]
        return w.StoredEpisodes(items=items, degraded=stored.degraded)

    async def store_fact(self, request: w.StoreFact, caller: Caller) -> w.OneStoredFact:
        stored = await self._store_facts(request.tenant_id, caller, {"$": request})
        (one,) = stored.items
        return w.OneStoredFact(id=one.id, superseded_id=one.superseded_id, degraded=stored.degraded)

    async def store_facts(self, request: w.StoreFacts, caller: Caller) -> w.StoredFacts:
        stored = await self._store_facts(request.tenant_id, caller, _by_path(request.items))
        items = [w.StoredFact(id=one.id, superseded_id=one.superseded_id) for one in stored.items]
        return w.StoredFacts(items=items, degraded=stored.degraded)

    async def store_rule(self, request: w.StoreRule, caller: Caller) -> w.OneStoredRule:
        stored = await self._store_rules(request.tenant_id, caller, {"$": request})
        return w.OneStoredRule(id=stored.items[0].id, degraded=stored.degraded)

    async def store_rules(self, request: w.StoreRules, caller: Caller) -> w.StoredRules:
        stored = await self._store_rules(request.tenant_id, caller, _by_path(request.items))
        return w.StoredRules(
            items=[w.StoredRule(id=one.id) for one in stored.items], degraded=stored.degraded
        )

    async def _store_episodes(
        self, tenant_id: str, caller: Caller, given: Mapping[str, w.NewEpisode], also: Also | None = None
    ) -> Written[Any]:
        reach = reach_of(tenant_id, caller)
        for path, episode in given.items():
            reach.allow(episode.butler, f"{path}.butler")
        episodes = [
            EpisodeToStore(
                content=one.content, butler=one.butler, session_id=one.session_id, importance=one.importance,
                metadata=one.metadata, user_id=reach.owner(one.butler, one.metadata, path),
                idempotency_key=one.idempotency_key, path=path,
            )
            for path, one in given.items()
        ]  # fmt: skip
        return await self._store(self._episodes, reach, episodes, also)

    async def _store_facts(
        self, tenant_id: str, caller: Caller, given: Mapping[str, w.NewFact]
    ) -> Written[Any]:
        reach = reach_of(tenant_id, caller)
        for path, fact in given.items():
            reach.allow(fact.scope, f"{path}.scope")
        facts = [
            FactToStore(
                subject=one.subject, predicate=one.predicate, content=one.content, importance=one.importance,
                permanence=one.permanence, scope=one.scope, tags=one.tags, metadata=one.metadata,
                source_butler=one.source_butler, source_episode_id=one.source_episode_id, entity_id=one.entity_id,
                user_id=reach.owner(one.scope, one.metadata, path), idempotency_key=one.idempotency_key, path=path,
            )
            for path, one in given.items()
        ]  # fmt: skip
        return await self._store(self._facts, reach, facts)

    async def _store_rules(
        self, tenant_id: str, caller: Caller, given: Mapping[str, w.NewRule]
    ) -> Written[Any]:
        reach = reach_of(tenant_id, caller)
        for path, rule in given.items():
            reach.allow(rule.scope, f"{path}.scope")
        rules = [
            RuleToStore(
                content=one.content, scope=one.scope, tags=one.tags, metadata=one.metadata,
                source_butler=one.source_butler, source_episode_id=one.source_episode_id,
                user_id=reach.owner(one.scope, one.metadata, path), idempotency_key=one.idempotency_key, path=path,
            )
            for path, one in given.items()
        ]  # fmt: skip
        return await self._store(self._rules, reach, rules)

    async def _store(
        self,
        writer: MemoryWriter[ToStore, Stored],
        reach: Reach,
        given: Sequence[ToStore],
        also: Also | None = None,
    ) -> Written[Stored]:
        """Store memories, but for those that were stored by the same request before.

        Raises InvalidRequest, naming the path, for an idempotency key that came with another request.
        """
        memories = await in_slices(self._prepared(given))
        once, places = _each_once(memories)
        embedded = await self._kit.embedder.embed_if_there([self._kit.indexed(one.text) for one in once])
        stored = await retrying(lambda: self._write(writer, reach, once, embedded, also))
        return Written([stored[place] for place in places], embedded.degraded)

    def _prepared(self, given: Sequence[ToStore]) -> Slices[list[ToStore]]:
        """Blank credentials where that is wanted, and take the digests of what is to be stored once."""
        memories = []
        for one in given:
            memory = one
            if self._kit.redact:
                content = yield from redacting(one.content)
                metadata = yield from redacting_json(dict(one.metadata))
                memory = replace(one, content=content, metadata=metadata)
            memories.append(replace(memory, digest=_digest(memory)) if memory.idempotency_key else memory)
            yield
        return memories

    async def _write(
        self,
        writer: MemoryWriter[ToStore, Stored],
        reach: Reach,
        memories: Sequence[ToStore],
        embedded: Embedded,
        also: Also | None,
    ) -> list[Stored]:
        now = self._kit.now()
        rivals = writer.competes_for(reach.tenant_id, memories)
        with _meeting_writers():
            async with self._kit.database.transaction(competing_for=rivals) as connection:
                known = await _known(connection, writer, reach, memories)
                new = [place for place in range(len(memories)) if place not in known]
                if not new:
                    return [known[place] for place in range(len(memories))]
                writing = Writing(
                    reach=reach, now=now, vectors=[embedded.vectors[place] for place in new],
                    version=self._kit.embedder.version, is_model_away=embedded.is_away,
                )  # fmt: skip
                fresh, events = await writer.write(connection, writing, [memories[place] for place in new])
                await self._kit.wrote(connection, writing.vectors, now)
                await self._kit.record(connection, reach, events, now=now)
                if embedded.is_away:
                    connection.after_commit(self._kit.ring)
                if also is not None:
                    await also(connection, fresh)
        stored = known | dict(zip(new, fresh, strict=True))
        return [stored[place] for place in range(len(memories))]


async def _known(
    connection: Connection, writer: MemoryWriter[ToStore, Stored], reach: Reach, memories: Sequence[ToStore]
) -> dict[int, Stored]:
    """Return what is stored already of memories, by their places."""
    keyed = {
        one.idempotency_key: place for place, one in enumerate(memories) if one.idempotency_key is not None
    }
    rows = await writer.repeats(connection, reach.tenant_id, list(keyed)) if keyed else []
    known = {}
    for row in rows:
        place = keyed[row["idempotency_key"]]
        memory = memories[place]
        # Where no user calls, a memory may have become that of the user whose episode it is from.
        if row["user_id"] == memory.user_id or (
            memory.user_id is None and row["request_digest"] == memory.digest
        ):
            _refuse_other(memory, row["request_digest"])
            known[place] = writer.repeated(row)
    return known


def _each_once(memories: Sequence[ToStore]) -> tuple[list[ToStore], list[int]]:
    """Return memories without those that repeat one before them, and of each its place among these."""
    once: list[ToStore] = []
    first: dict[str, int] = {}
    places: list[int] = []
    for memory in memories:
        key = memory.idempotency_key
        place = len(once) if key is None else first.setdefault(key, len(once))
        if place == len(once):
            once.append(memory)
        else:
            _refuse_other(memory, once[place].digest)
        places.append(place)
    return once, places


def _refuse_other(memory: MemoryToStore, digest: bytes | None) -> None:
    if memory.digest != digest:
        path = f"{memory.path}.idempotency_key"
        raise InvalidRequest(f"{path}: came with another request before", fields=[path])


def _digest(memory: MemoryToStore) -> bytes:
    """Return the digest of all that a memory says."""
    said = {**asdict(memory), "path": None, "digest": None}
    return digest_of_json(said)


def _by_path(items: Sequence[Item]) -> dict[str, Item]:
    return {f"$.items[{place}]": item for place, item in enumerate(items)}


@contextmanager
def _meeting_writers() -> Iterator[None]:
    """Make the loser of a race run again."""
    try:
        yield
    except UniqueViolation as error:
        if error.constraint not in RACED:
            raise
        raise Retryable("another writer stored the same at this moment") from error
