"""Races of knowledge: many write the same at one moment, and what is there is what some order would have left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

import anyio
import msgspec

from elf.api.caller import Caller
from elf.config.tables.knowledge import KnowledgeTable
from elf.core.errors import InvalidRequest
from elf.db.database import Database
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.api import lifecycle as lc
from elf.families.knowledge.api import writing as w
from elf.families.knowledge.consolidation.batches import Shard
from elf.families.knowledge.consolidation.prompt import shown
from elf.families.knowledge.consolidation.service import Consolidation
from elf.families.knowledge.entities.merging import EntityMerging
from elf.families.knowledge.entities.registry import EntityRegistry
from elf.families.knowledge.keeping.sweep import DecaySweep
from elf.families.knowledge.lifecycle.marks import RuleMarks
from elf.families.knowledge.lifecycle.states import MemoryStates
from elf.families.knowledge.rules.effectiveness import harmful_score, helpful_score
from elf.outbox.chores import Due
from elf.providers.port import Prompt
from tests.chaos.races import Races
from tests.db.knowledge.conftest import KnowledgeHouse
from tests.notes_kit import TurnedClock

T = TypeVar("T")

ANA: Final = Caller(user="ana")
BATCH: Final = 4
SPREAD_S: Final = 0.02
BUTLER: Final = "travel"
# After how many days a volatile fact is in which state while nobody confirms it.
FADING: Final = ((40, ("active", None)), (80, ("active", "fading")), (200, ("expired", None)))


class OneFactEach:
    """Answers the prompt of consolidation with a fact for each episode."""

    async def text(self, prompt: Prompt) -> str:
        await anyio.sleep(0.01)  # so that another worker comes meanwhile
        facts = [
            {"subject": episode.content, "predicate": "told", "content": "once"}
            for episode in shown(prompt).episodes
        ]
        return msgspec.json.encode({"new_facts": facts}).decode()

    async def ask(self, prompt: Prompt, answer: Any) -> Any:
        raise NotImplementedError("consolidation asks for text")


class Process:
    """The services of knowledge as one process has them, with connections of its own."""

    def __init__(self, database: Database, clock: TurnedClock) -> None:
        config = KnowledgeTable.model_validate({"consolidation": {"batch_episodes": BATCH}})
        self.house = KnowledgeHouse(database, config=config, clock=clock)
        kit = self.house.kit
        self.marks, self.states, self.sweep = RuleMarks(kit), MemoryStates(kit), DecaySweep(kit, page=5)
        self.merging, self.registry = EntityMerging(kit), EntityRegistry(kit)
        self.consolidation = Consolidation(kit, OneFactEach())


@dataclass
class KnowledgeRaces(Races):
    """Races of knowledge."""

    writers: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        clock = TurnedClock()
        self.processes = [Process(database, clock) for database in self.databases]
        self.house = self.processes[0].house

    @property
    def process(self) -> Process:
        """Any of the processes."""
        return self._rng.choice(self.processes)

    def loosen(self, query: str, was: str, instead: str) -> None:
        """Plant a fault: have a statement say something else, in every process."""
        for process in self.processes:
            statements = process.house.kit.queries._statements
            assert was in statements[query]
            statements[query] = statements[query].replace(was, instead)

    async def run(self, rounds: int) -> list[str]:
        """Run so many rounds of every race; returns the faults."""
        return await self.run_all(RACES, rounds)

    async def at_once(self, calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T | InvalidRequest]:
        """Make calls at about one moment, in any order; returns what each came to. Any other error is a fault."""
        return await self.meet(calls, spread_s=SPREAD_S, refusals=(InvalidRequest,))

    def choice(self, of: Sequence[T]) -> T:
        return self._rng.choice(of)

    async def fact(self, **fields: Any) -> w.OneStoredFact:
        said = {"tenant_id": self.tenant, "subject": "Ana", "predicate": "seat", "content": "by the window"}
        return await self.process.house.writing.store_fact(w.StoreFact(**(said | fields)), ANA)

    async def rows(self, sql: str) -> list[Any]:
        return await self.house.rows(sql, self.tenant)

    async def events_of(self, id: UUID) -> list[str]:
        return [
            row["event_type"]
            for row in await self.house.rows(
                "SELECT event_type FROM knowledge_events WHERE tenant_id = $1 AND memory_id = $2 ORDER BY seq",
                self.tenant,
                id,
            )
        ]


async def one_fact_key(races: KnowledgeRaces) -> None:
    """All write under one key: one fact is active, behind it an unbroken chain of all others."""

    def writer(number: int) -> Callable[[], Awaitable[Any]]:
        return lambda: races.fact(content=f"seat {number}")

    results = await races.at_once([writer(number) for number in range(races.writers)])
    facts = await races.rows("SELECT id, validity, supersedes_id FROM knowledge_facts WHERE tenant_id = $1")
    links = await races.rows("SELECT relation FROM knowledge_links WHERE tenant_id = $1")
    by_id = {fact["id"]: fact for fact in facts}
    active = [fact for fact in facts if fact["validity"] == "active"]
    races.expect(not any(isinstance(one, InvalidRequest) for one in results), "a writer of a key was refused")
    races.expect(len(facts) == races.writers, f"{len(facts)} facts of {races.writers} writers")
    races.expect(len(active) == 1, f"{len(active)} facts of one key are active")
    chain, at = 0, active[0]["id"] if active else None
    while at is not None and chain <= len(facts):
        chain, at = chain + 1, by_id[at]["supersedes_id"]
    races.expect(chain == races.writers, f"the chain of a key has {chain} facts")
    supersedes = sum(link["relation"] == "supersedes" for link in links)
    races.expect(supersedes == races.writers - 1, f"{supersedes} links of a chain")
    for fact in facts:
        told = await races.events_of(fact["id"])
        wanted = {"fact_created"} | ({"fact_superseded"} if fact["validity"] == "superseded" else set())
        races.expect(wanted <= {*told}, f"a fact tells {told}")


async def marks_of_a_rule(races: KnowledgeRaces) -> None:
    """All mark one rule: every mark counts once, and the rule is as the last mark left it."""
    rule = (await races.house.writing.store_rule(w.StoreRule(tenant_id=races.tenant, content="Ask"), ANA)).id
    harmful = races.writers // 4
    good = lc.MarkHelpful(tenant_id=races.tenant, rule_id=rule)
    bad = lc.MarkHarmful(tenant_id=races.tenant, rule_id=rule)
    calls: list[Callable[[], Awaitable[Any]]] = [lambda: races.process.marks.mark_harmful(bad, ANA)] * harmful
    calls += [lambda: races.process.marks.mark_helpful(good, ANA)] * (races.writers - harmful)
    results = await races.at_once(calls)
    row = await races.house.row("rule", rule)
    applied = await races.rows("SELECT outcome FROM knowledge_rule_applications WHERE tenant_id = $1")
    counts = (row["applied_count"], row["success_count"], row["harmful_count"])
    races.expect(len(results) == races.writers, "a mark was refused")
    races.expect(counts == (races.writers, races.writers - harmful, harmful), f"a rule counts {counts}")
    outcomes = Counter(one["outcome"] for one in applied)
    races.expect(
        outcomes == {"helpful": races.writers - harmful, "harmful": harmful}, f"applications are {outcomes}"
    )
    last = {helpful_score(counts[1], counts[0]), harmful_score(counts[1], counts[2])}
    races.expect(row["effectiveness_score"] in last, f"an effectiveness of {row['effectiveness_score']}")
    told = Counter(await races.events_of(rule))
    races.expect(
        told["rule_helpful"] + told["rule_harmful"] == races.writers, f"{told} of {races.writers} marks"
    )


async def two_entities(races: KnowledgeRaces) -> tuple[UUID, UUID]:
    made = [
        (
            await races.process.registry.create(
                e.CreateEntity(tenant_id=races.tenant, canonical_name=name, entity_type="person"), ANA
            )
        ).entity_id
        for name in ("Ana Lima", "Ana Lina")
    ]
    return made[0], made[1]


async def merge_against_facts(races: KnowledgeRaces) -> None:
    """An entity is merged while facts of it are stored: none is lost on it, none is doubled on the other."""
    source, target = await two_entities(races)
    for entity in (source, target):
        await races.fact(entity_id=entity, predicate="seat 0", content=f"of {entity}")
    merge = e.MergeEntities(tenant_id=races.tenant, source_entity_id=source, target_entity_id=target)

    def writer(number: int) -> Callable[[], Awaitable[Any]]:
        return lambda: races.fact(
            entity_id=source, predicate=f"seat {number % 5}", content=f"number {number}"
        )

    calls = [writer(number) for number in range(races.writers - 1)]
    results = await races.at_once([*calls, lambda: races.process.merging.merge(merge, ANA)])
    refused = sum(isinstance(one, InvalidRequest) for one in results)
    facts = await races.rows(
        "SELECT entity_id, scope, predicate FROM knowledge_facts WHERE tenant_id = $1 AND validity = 'active'"
    )
    every = await races.rows("SELECT count(*) AS n FROM knowledge_facts WHERE tenant_id = $1")
    races.expect(all(fact["entity_id"] == target for fact in facts), "a fact is active on a merged entity")
    keys = Counter((fact["scope"], fact["predicate"]) for fact in facts)
    races.expect(max(keys.values(), default=0) == 1, "a key of an entity is doubled")
    races.expect(every[0]["n"] == 2 + races.writers - 1 - refused, "a fact that was acknowledged is gone")
    races.counts["writers refused by a merge"] += refused


async def opposite_merges(races: KnowledgeRaces) -> None:
    """Two entities are merged into each other: one merge is done, the other refused."""
    one, other = await two_entities(races)

    def merge(source: UUID, target: UUID) -> Callable[[], Awaitable[Any]]:
        request = e.MergeEntities(tenant_id=races.tenant, source_entity_id=source, target_entity_id=target)
        return lambda: races.process.merging.merge(request, ANA)

    calls = [merge(one, other), merge(other, one)] * (races.writers // 2)
    results = await races.at_once(calls)
    done = [result for result in results if not isinstance(result, InvalidRequest)]
    races.expect(len(results) == len(calls), "a merge failed")
    merged = await races.rows(
        "SELECT id FROM knowledge_entities WHERE tenant_id = $1 AND metadata ? 'merged_into'"
    )
    races.expect(len(merged) == 1, f"{len(merged)} of two entities are merged")
    races.expect(len(done) >= 1, "no merge was done")
    events = await races.rows(
        "SELECT 1 FROM knowledge_events WHERE tenant_id = $1 AND event_type = 'entity_merge'"
    )
    races.expect(len(events) == 1, f"{len(events)} merges are told")


async def sweep_against_confirm(races: KnowledgeRaces) -> None:
    """Facts are confirmed while sweeps let them fade and expire: who was confirmed in time is as new, and no change is
    told twice.
    """
    days, unconfirmed = races.choice(FADING)
    ids = []
    for number in range(races.writers):
        stored = await races.fact(predicate=f"seat {number}", permanence="volatile")
        ids.append(stored.id)
    await races.house.rows(
        "UPDATE knowledge_facts SET last_confirmed_at = last_confirmed_at - make_interval(days => $2)"
        " WHERE tenant_id = $1 RETURNING id",
        races.tenant,
        days,
    )
    due = Due(subject=races.tenant, at=races.house.kit.now(), attempt=1)

    def confirm(id: UUID) -> Callable[[], Awaitable[Any]]:
        request = lc.OneMemory(tenant_id=races.tenant, memory_type="fact", memory_id=id)
        return lambda: races.process.states.confirm(request, ANA)

    calls: list[Callable[[], Awaitable[Any]]] = [confirm(id) for id in ids]
    calls += [lambda: races.process.sweep.run(due)] * 3
    await races.at_once(calls)
    for fact in await races.rows("SELECT id, validity, metadata FROM knowledge_facts WHERE tenant_id = $1"):
        told = await races.events_of(fact["id"])
        is_confirmed = "fact_confirmed" in told
        state = (fact["validity"], fact["metadata"].get("status"))
        races.counts[f"{state[0]}, {'confirmed' if is_confirmed else 'not in time'}"] += 1
        wanted = ("active", None) if is_confirmed else unconfirmed
        races.expect(state == wanted, f"a fact that tells {told} is {state}")
        races.expect(told.count("fact_expired") == (state[0] == "expired"), f"a fact tells {told}")
        races.expect(told.count("fact_fading") <= 1, f"a fact tells {told}")


async def two_workers_of_a_shard(races: KnowledgeRaces) -> None:
    """Two workers consolidate one shard: each episode once, in order."""
    wanted = BATCH * 3
    for number in range(wanted):
        request = w.StoreEpisode(tenant_id=races.tenant, butler=BUTLER, content=f"Thing {number}")
        await races.house.writing.store_episode(request, ANA)
        races.house.clock.turn(microseconds=1)
    due = Due(subject=Shard(races.tenant, BUTLER, ANA.user).name, at=races.house.kit.now(), attempt=1)
    workers = [process.consolidation for process in races.processes]

    async def drained(worker: Consolidation) -> None:
        for _ in range(200):
            await worker.drain(due)
            if not await pending():
                return
            await anyio.sleep(0.005)

    async def pending() -> int:
        rows = await races.rows(
            "SELECT 1 FROM knowledge_episodes WHERE tenant_id = $1 AND consolidation_status = 'pending'"
        )
        return len(rows)

    await races.at_once([lambda one=worker: drained(one) for worker in workers])
    facts = await races.rows("SELECT subject FROM knowledge_facts WHERE tenant_id = $1")
    told = await races.rows(
        "SELECT v.memory_id, e.created_at FROM knowledge_events AS v JOIN knowledge_episodes AS e ON e.id = v.memory_id"
        " WHERE v.tenant_id = $1 AND v.event_type = 'episode_consolidated' ORDER BY v.seq"
    )
    races.expect(await pending() == 0, "episodes are left")
    races.expect(len(facts) == wanted == len({fact["subject"] for fact in facts}), f"{len(facts)} facts")
    races.expect(len(told) == wanted, f"{len(told)} episodes were consolidated of {wanted}")
    moments = [row["created_at"] for row in told]
    races.expect(moments == sorted(moments), "episodes were consolidated out of their order")


RACES: Final = (
    one_fact_key,
    marks_of_a_rule,
    merge_against_facts,
    opposite_merges,
    sweep_against_confirm,
    two_workers_of_a_shard,
)
