"""Storing episodes, facts, rules and links."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import anyio
import numpy as np
import pytest

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound, ScopeDenied
from elf.families.knowledge import model as m
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.api import writing as w
from tests.db.knowledge.conftest import ANA, TENANT, KnowledgeHouse

pytestmark = pytest.mark.anyio

BEN = Caller(user="ben")


async def test_episode_schema_and_defaults(knowledge: KnowledgeHouse) -> None:
    id = await knowledge.episode("Ana flew.")
    row = await knowledge.row("episode", id)
    assert row["importance"] == 5.0
    assert row["reference_count"] == 0
    assert row["retry_count"] == 0
    assert row["consolidated"] is False
    assert row["consolidation_status"] == "pending"
    assert row["last_error"] is None
    assert row["session_id"] is None
    assert row["last_referenced_at"] is None
    assert row["metadata"] == {}
    assert row["butler"] == "travel"
    assert row["content"] == "Ana flew."
    assert row["created_at"] == knowledge.clock.moment


async def test_store_episode_with_embedding_and_search_vector(knowledge: KnowledgeHouse) -> None:
    session = uuid4()
    request = w.StoreEpisode(
        tenant_id=TENANT, content="Ana\x00 flew home.", butler="travel", session_id=session
    )
    stored = await knowledge.writing.store_episode(request, ANA)
    row = await knowledge.row("episode", stored.id)
    assert stored.expires_at == row["expires_at"] == knowledge.clock.moment + timedelta(days=7)
    assert row["content"] == "Ana flew home."
    assert row["session_id"] == session
    assert row["embedding_version"] == knowledge.model.version
    assert np.linalg.norm(row["embedding"].to_numpy()) == pytest.approx(1.0, abs=1e-5)
    assert "'flew':2" in row["search_vector"]
    assert await knowledge.events(stored.id) == ["episode_created"]


async def test_fact_schema_and_defaults(knowledge: KnowledgeHouse) -> None:
    row = await knowledge.row("fact", (await knowledge.fact()).id)
    assert (row["importance"], row["confidence"], row["decay_rate"]) == (5.0, 1.0, 0.008)
    assert (row["permanence"], row["validity"], row["scope"]) == ("standard", "active", "global")
    assert row["last_confirmed_at"] == row["created_at"] == knowledge.clock.moment
    assert row["tags"] == []
    assert row["metadata"] == {}
    assert row["reference_count"] == 0
    assert (
        row["entity_id"] is row["supersedes_id"] is row["source_episode_id"] is row["source_butler"] is None
    )


async def test_fact_starts_as_active(knowledge: KnowledgeHouse) -> None:
    row = await knowledge.row("fact", (await knowledge.fact()).id)
    assert (row["validity"], row["confidence"]) == ("active", 1.0)


async def test_fact_stored_event(knowledge: KnowledgeHouse) -> None:
    assert await knowledge.events((await knowledge.fact()).id) == ["fact_created"]


@pytest.mark.parametrize("permanence", m.DECAY_RATES)
async def test_permanence_levels_and_their_decay_rates(knowledge: KnowledgeHouse, permanence: str) -> None:
    rates = {"permanent": 0.0, "stable": 0.002, "standard": 0.008, "volatile": 0.03, "ephemeral": 0.1}
    stored = await knowledge.fact(permanence=permanence)
    assert (await knowledge.row("fact", stored.id))["decay_rate"] == rates[permanence]


async def test_store_fact_with_supersession_check(knowledge: KnowledgeHouse) -> None:
    old = await knowledge.fact(content="by the window")
    new = await knowledge.fact(content="on the aisle")
    assert new.superseded_id == old.id
    assert (await knowledge.row("fact", old.id))["validity"] == "superseded"
    row = await knowledge.row("fact", new.id)
    assert (row["validity"], row["supersedes_id"]) == ("active", old.id)
    links = await knowledge.rows("SELECT source_id, target_id, relation FROM knowledge_links")
    assert [tuple(link.values()) for link in links] == [(new.id, old.id, "supersedes")]
    assert await knowledge.events(old.id) == ["fact_created", "fact_superseded"]


async def test_fact_transitions_to_superseded(knowledge: KnowledgeHouse) -> None:
    """The key of a fact is its scope, subject and predicate, or its scope, entity and predicate."""
    entity = await _entity(knowledge)
    plain = await knowledge.fact()
    others = [
        await knowledge.fact(scope="travel"),
        await knowledge.fact(predicate="meal"),
        await knowledge.fact(subject="Ben"),
        await knowledge.fact(tenant_id="other"),
        await knowledge.fact(entity_id=entity),
    ]
    assert all(one.superseded_id is None for one in others)
    assert (await knowledge.fact(entity_id=entity, subject="Ana Lima")).superseded_id == others[-1].id
    assert (await knowledge.fact()).superseded_id == plain.id


async def test_an_equal_fact_supersedes_too(knowledge: KnowledgeHouse) -> None:
    old = await knowledge.fact()
    assert (await knowledge.fact()).superseded_id == old.id


async def test_store_fact_with_entity_id_validation(knowledge: KnowledgeHouse) -> None:
    with pytest.raises(InvalidRequest, match="there is no entity") as error:
        await knowledge.fact(entity_id=uuid4())
    assert error.value.fields == ("$.entity_id",)
    with pytest.raises(InvalidRequest, match="there is no entity"):
        await knowledge.fact(entity_id=await _entity(knowledge, tenant_id="other"))
    merged = await _entity(knowledge, name="Old", merged_into="somebody")
    with pytest.raises(InvalidRequest, match="merged into somebody"):
        await knowledge.fact(entity_id=merged)
    assert await knowledge.events() == []


async def test_a_fact_from_an_episode_that_is_not_there_is_refused(knowledge: KnowledgeHouse) -> None:
    others = await knowledge.episode(butler="user:ben", caller=BEN)
    for episode in (uuid4(), others, await knowledge.episode(tenant_id="other")):
        with pytest.raises(InvalidRequest) as error:
            await knowledge.fact(source_episode_id=episode)
        assert error.value.fields == ("$.source_episode_id",)
    own = await knowledge.episode()
    row = await knowledge.row("fact", (await knowledge.fact(source_episode_id=own)).id)
    assert row["source_episode_id"] == own


async def test_rule_schema_and_defaults(knowledge: KnowledgeHouse) -> None:
    row = await knowledge.row("rule", await knowledge.rule("Ask first", tags=["care"]))
    assert (row["permanence"], row["scope"], row["tags"], row["metadata"]) == (
        "standard",
        "global",
        ["care"],
        {},
    )
    assert row["last_confirmed_at"] == row["created_at"]
    assert row["last_applied_at"] is None


async def test_store_rule_as_candidate(knowledge: KnowledgeHouse) -> None:
    id = await knowledge.rule()
    row = await knowledge.row("rule", id)
    assert (row["maturity"], row["confidence"], row["decay_rate"]) == ("candidate", 0.5, 0.01)
    assert (
        row["effectiveness_score"]
        == row["applied_count"]
        == row["success_count"]
        == row["harmful_count"]
        == 0
    )
    assert await knowledge.events(id) == ["rule_created"]


async def test_tenant_scoped_fact_storage(knowledge: KnowledgeHouse) -> None:
    stored = await knowledge.fact(tenant_id="other")
    assert (await knowledge.row("fact", stored.id))["tenant_id"] == "other"
    with pytest.raises(NotFound):
        await knowledge.read("fact", stored.id)


async def test_a_users_scope_is_that_users_alone(knowledge: KnowledgeHouse) -> None:
    own = await knowledge.fact(scope="user:ana")
    assert (await knowledge.read("fact", own.id)).scope == "user:ana"
    with pytest.raises(NotFound):
        await knowledge.read("fact", own.id, BEN)
    with pytest.raises(ScopeDenied):
        await knowledge.fact(BEN, scope="user:ana")
    with pytest.raises(ScopeDenied):
        await knowledge.episode(butler="user:ana", caller=BEN)
    with pytest.raises(ScopeDenied):
        await knowledge.rule(scope="user:ana", caller=BEN)
    listed = await knowledge.listing.facts(a.ListFacts(tenant_id=TENANT), BEN)
    told = await knowledge.listing.events(a.ListEvents(tenant_id=TENANT), BEN)
    assert listed.items == []
    assert told.items == []


async def test_credentials_are_blanked_before_anything_else_sees_them(knowledge: KnowledgeHouse) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    id = await knowledge.episode(f"The key is {key}.", metadata={"note": key})
    row = await knowledge.row("episode", id)
    assert key not in row["content"]
    assert key not in str(row["metadata"])
    assert key not in row["search_vector"]
    assert not any(key in text for text in knowledge.model.texts)


async def test_a_batch_is_stored_in_its_order(knowledge: KnowledgeHouse) -> None:
    said = [w.NewFact(subject="Ana", predicate="seat", content=f"row {row}") for row in range(40)]
    answer = await knowledge.writing.store_facts(w.StoreFacts(tenant_id=TENANT, items=said), ANA)
    ids: list[UUID | None] = [one.id for one in answer.items]
    assert [one.superseded_id for one in answer.items] == [None, *ids[:-1]]
    last = ids[-1]
    assert last is not None
    history = await knowledge.history("fact", last)
    assert [fact.id for fact in history.supersession] == ids
    assert [fact.validity for fact in history.supersession] == ["superseded"] * 39 + ["active"]


async def test_a_batch_with_one_fault_stores_nothing(knowledge: KnowledgeHouse) -> None:
    said = [w.NewFact(subject="Ana", predicate=str(number), content="x") for number in range(3)]
    said[2] = said[2].model_copy(update={"entity_id": uuid4()})
    with pytest.raises(InvalidRequest) as error:
        await knowledge.writing.store_facts(w.StoreFacts(tenant_id=TENANT, items=said), ANA)
    assert error.value.fields == ("$.items[2].entity_id",)
    assert await knowledge.rows("SELECT FROM knowledge_facts") == []
    assert await knowledge.events() == []


async def test_a_repeat_is_answered_as_the_first_time(knowledge: KnowledgeHouse) -> None:
    before = await knowledge.fact(content="before")
    first = await knowledge.fact(idempotency_key="one")
    await knowledge.fact(content="after")
    again = await knowledge.fact(idempotency_key="one")
    assert (again.id, again.superseded_id) == (first.id, before.id)
    with pytest.raises(InvalidRequest, match="another request") as error:
        await knowledge.fact(idempotency_key="one", content="else")
    assert error.value.fields == ("$.idempotency_key",)
    assert await knowledge.rule(idempotency_key="one") == await knowledge.rule(idempotency_key="one")
    assert await knowledge.episode(idempotency_key="one") == await knowledge.episode(idempotency_key="one")
    assert len(await knowledge.rows("SELECT FROM knowledge_facts")) == 3


async def test_repeats_within_a_batch(knowledge: KnowledgeHouse) -> None:
    one = w.NewEpisode(content="Ana flew.", butler="travel", idempotency_key="one")
    request = w.StoreEpisodes(tenant_id=TENANT, items=[one, one])
    first, second = (await knowledge.writing.store_episodes(request, ANA)).items
    assert first == second
    other = one.model_copy(update={"content": "Ana slept."})
    with pytest.raises(InvalidRequest) as error:
        await knowledge.writing.store_episodes(w.StoreEpisodes(tenant_id=TENANT, items=[one, other]), ANA)
    assert error.value.fields == ("$.items[1].idempotency_key",)


async def test_many_writers_of_one_key_make_one_chain(knowledge: KnowledgeHouse) -> None:
    async def store(number: int) -> None:
        await knowledge.fact(content=f"seat {number}")

    async with anyio.create_task_group() as writers:
        for number in range(32):
            writers.start_soon(store, number)
    (active,) = await knowledge.rows("SELECT id FROM knowledge_facts WHERE validity = 'active'")
    assert len((await knowledge.history("fact", active["id"])).supersession) == 32
    assert len(await knowledge.rows("SELECT FROM knowledge_links WHERE relation = 'supersedes'")) == 31


async def test_many_repeats_at_once_store_one(knowledge: KnowledgeHouse) -> None:
    found: list[UUID] = []

    async def store() -> None:
        found.append(await knowledge.episode(idempotency_key="one"))

    async with anyio.create_task_group() as writers:
        for _ in range(16):
            writers.start_soon(store)
    assert len(set(found)) == 1
    assert len(await knowledge.rows("SELECT FROM knowledge_episodes")) == 1


async def test_what_is_stored_while_the_model_is_away_gets_its_vector_later(
    knowledge: KnowledgeHouse,
) -> None:
    knowledge.model.away = True
    stored = await knowledge.fact()
    assert stored.degraded == ["embedding"]
    assert knowledge.rings == 1
    row = await knowledge.row("fact", stored.id)
    assert row["embedding"] is None
    assert row["embedding_version"] is None
    assert row["search_vector"]
    (job,) = await knowledge.rows("SELECT memory_type, memory_id, kind, status FROM knowledge_outbox")
    assert tuple(job.values()) == ("fact", stored.id, "vector", "PENDING")


async def test_memory_link_creation_with_validation(knowledge: KnowledgeHouse) -> None:
    rule, fact = ("rule", await knowledge.rule()), ("fact", (await knowledge.fact()).id)
    link = await knowledge.link(rule, fact)
    assert link.created
    assert link.relation == "supports"
    with pytest.raises(InvalidRequest) as error:
        await knowledge.link(rule, ("fact", uuid4()))
    assert error.value.fields == ("$.target_id",)
    with pytest.raises(InvalidRequest) as error:
        await knowledge.link(("episode", rule[1]), fact)
    assert error.value.fields == ("$.source_id",)
    with pytest.raises(InvalidRequest, match="not linked to itself"):
        await knowledge.link(rule, rule)


async def test_idempotent_link_creation(knowledge: KnowledgeHouse) -> None:
    rule, fact = ("rule", await knowledge.rule()), ("fact", (await knowledge.fact()).id)
    first = await knowledge.link(rule, fact)
    again = await knowledge.link(rule, fact, "contradicts")
    assert not again.created
    assert again.relation == "supports"
    assert again.created_at == first.created_at
    assert await knowledge.events(rule[1]) == ["rule_created", "link_created"]


async def test_link_query_by_direction(knowledge: KnowledgeHouse) -> None:
    rule, fact = ("rule", await knowledge.rule()), ("fact", (await knowledge.fact()).id)
    await knowledge.link(rule, fact)

    async def links(kind: str, id: UUID, direction: str) -> list[UUID]:
        request = a.Links.model_validate(
            {"tenant_id": TENANT, "memory_type": kind, "memory_id": id, "direction": direction}
        )
        return [link.source_id for link in (await knowledge.listing.links(request, ANA)).items]

    assert await links(*rule, "outgoing") == [rule[1]]
    assert await links(*rule, "incoming") == []
    assert await links(*fact, "incoming") == [rule[1]]
    assert await links(*fact, "outgoing") == []
    assert await links(*fact, "both") == await links(*rule, "both") == [rule[1]]


async def test_a_link_to_an_episode_that_is_gone_is_told_as_missing(knowledge: KnowledgeHouse) -> None:
    episode, fact = ("episode", await knowledge.episode()), ("fact", (await knowledge.fact()).id)
    await knowledge.link(fact, episode, "derived_from")
    await knowledge.rows("DELETE FROM knowledge_episodes")
    request = a.Links(tenant_id=TENANT, memory_type="fact", memory_id=fact[1])
    (link,) = (await knowledge.listing.links(request, ANA)).items
    assert link.missing
    assert link.target_id == episode[1]


async def test_pages_hold_everything_once(knowledge: KnowledgeHouse) -> None:
    for number in range(7):
        await knowledge.fact(predicate=str(number))
        await knowledge.rule(f"rule {number}")
        await knowledge.episode(f"episode {number}")
    lists: list[tuple[Any, Any, int]] = [
        (knowledge.listing.facts, a.ListFacts, 7),
        (knowledge.listing.rules, a.ListRules, 7),
        (knowledge.listing.episodes, a.ListEpisodes, 7),
        (knowledge.listing.events, a.ListEvents, 21),
    ]
    for read, request, count in lists:
        seen: list[UUID] = []
        cursor = None
        while True:
            page = await read(request(tenant_id=TENANT, limit=3, cursor=cursor), ANA)
            seen += [item.id for item in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(seen) == len(set(seen)) == count


async def _entity(
    knowledge: KnowledgeHouse,
    *,
    name: str = "Ana Lima",
    tenant_id: str = TENANT,
    merged_into: str | None = None,
) -> UUID:
    id = uuid4()
    metadata = {} if merged_into is None else {"merged_into": merged_into}
    await knowledge.rows(
        "INSERT INTO knowledge_entities (id, tenant_id, canonical_name, entity_type, metadata)"
        " VALUES ($1, $2, $3, 'person', $4)",
        id, tenant_id, name, metadata,
    )  # fmt: skip
    return id


async def test_embedding_model_version_recorded(knowledge: KnowledgeHouse) -> None:
    knowledge.model.away = True
    await knowledge.fact()
    assert await knowledge.rows("SELECT FROM knowledge_embedding_versions") == []
    knowledge.model.away = False
    for _ in range(2):
        await knowledge.episode()
    (row,) = await knowledge.rows("SELECT * FROM knowledge_embedding_versions")
    assert tuple(row.values()) == ("fake:hash:384", "fake", "hash", 384, knowledge.clock.moment)
