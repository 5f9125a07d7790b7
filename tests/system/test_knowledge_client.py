"""Knowledge by its client and by the commands made from it: everything it can be asked, against the whole service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import assert_type
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import pytest

from elf.client import AsyncClient, Client, InvalidRequest, NotFound, ScopeDenied
from elf.client.families.knowledge import Episode, Fact, KnowledgeClient, NewEpisode, NewFact, NewRule, Rule
from elf.client.families.knowledge.results import Explanation, Findings, StoredFact
from tests.families.command_line import CommandLine
from tests.system.service import RunningService, wait_for, write_config


@pytest.fixture
def known(service: RunningService, tenant: str) -> Iterator[KnowledgeClient[Client]]:
    with Client(service.url, tenant_id=tenant) as client:
        yield client.knowledge


@pytest.fixture
def operated(service: RunningService, tenant: str) -> Iterator[KnowledgeClient[Client]]:
    """The client of an operator, at the admin address."""
    with Client(service.admin_url, tenant_id=tenant) as client:
        yield client.knowledge


@pytest.fixture
def elf(
    service: RunningService, tenant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    binds = {"http_bind": service.url, "admin_bind": service.admin_url}
    lines = {name: f'"{urlsplit(url).netloc}"' for name, url in binds.items()}
    return CommandLine(write_config(tmp_path, **lines), tenant, capsys)


def test_a_fact_takes_the_place_of_what_was_known(known: KnowledgeClient[Client]) -> None:
    first = known.store_fact("Ana", "seat", "by the window", importance=8, tags=["travel"])
    assert_type(first, StoredFact)
    second = known.store_fact("Ana", "seat", "on the aisle", metadata={"ticket": 7})
    assert (first.superseded_id, second.superseded_id, second.degraded) == (None, first.id, [])
    now, before = known.get("fact", second.id), known.get("fact", first.id)
    assert isinstance(now, Fact)
    assert isinstance(before, Fact)
    assert (now.memory_type, now.content, now.validity, now.metadata) == (
        "fact",
        "on the aisle",
        "active",
        {"ticket": 7},
    )
    assert (now.confidence, now.reference_count, before.validity, before.tags) == (
        1.0,
        1,
        "superseded",
        ["travel"],
    )
    history = known.history("fact", first.id)
    assert [fact.id for fact in history.supersession] == [first.id, second.id]
    assert [event.event_type for event in history.events] == ["fact_created", "fact_superseded"]
    (link,) = known.links("fact", second.id, direction="outgoing").items
    assert (link.relation, link.target_id, link.missing) == ("supersedes", first.id, False)
    assert [fact.id for fact in known.facts(subject="Ana", predicate="seat")] == [second.id]
    assert [fact.id for fact in known.facts(validity="superseded", tag="travel")] == [first.id]


def test_a_repeat_with_its_key_gets_the_first_answer(known: KnowledgeClient[Client]) -> None:
    first = known.store_fact("Ana", "home", "Oslo", idempotency_key="k")
    assert known.store_fact("Ana", "home", "Oslo", idempotency_key="k") == first
    with pytest.raises(InvalidRequest) as caught:
        known.store_fact("Ana", "home", "Bergen", idempotency_key="k")
    assert caught.value.fields == ("idempotency_key",)
    assert known.stats().facts.active == 1


def test_many_are_stored_at_once_or_none(known: KnowledgeClient[Client]) -> None:
    facts = known.store_facts(
        [
            NewFact(subject="Ana", predicate="home", content="Oslo", permanence="stable"),
            {"subject": "Ana", "predicate": "home", "content": "Bergen"},
        ]
    )
    assert facts.items[1].superseded_id == facts.items[0].id
    rules = known.store_rules([NewRule(content="Ask first."), NewRule(content="Be brief.", scope="travel")])
    assert [rule.content for rule in known.rules(scope="travel")] == ["Be brief."]
    session = uuid4()
    episodes = known.store_episodes([NewEpisode(content="Ana called.", butler="travel", session_id=session)])
    assert [one.id for one in known.episodes(session_id=session, status="pending")] == [episodes.items[0].id]
    with pytest.raises(InvalidRequest) as caught:
        known.store_rules([NewRule(content="fine"), NewRule(content=" ")])
    assert caught.value.fields == ("items[1].content",)
    assert len(rules.items) == known.stats().rules.candidate == 2


def test_what_is_known_is_found_recalled_and_put_into_words(known: KnowledgeClient[Client]) -> None:
    fact = known.store_fact("Ana", "seat preference", "a window seat on long flights")
    rule = known.store_rule("Ask before a flight is booked.")
    episode = known.store_episode("Ana asked for a seat on the flight to Oslo.", "travel")
    found = known.search("which seat on a flight?")
    assert_type(found, Findings)
    assert {one.memory.memory_type: one.memory.id for one in found.items} == {
        "fact": fact.id, "rule": rule.id, "episode": episode.id,
    }  # fmt: skip
    assert all(one.score == pytest.approx(sum(one.terms.values())) for one in found.items)
    assert [type(one.memory) for one in known.search("seat", types=["fact"], mode="keyword").items] == [Fact]
    (best, _) = recalled = known.recall("a seat on a flight").items
    assert best.memory.id == fact.id
    assert [one.score for one in recalled] == sorted((one.score for one in recalled), reverse=True)
    block = known.context("book a flight for Ana", "travel", token_budget=500)
    assert block.context.startswith("# Memory Context\n")
    assert "- [Ana] [seat preference]: a window seat on long flights (confidence: 1.00)\n" in block.context
    assert (block.facts, block.rules, block.degraded) == ([fact.id], [rule.id], [])


def test_a_result_is_explained_and_searches_are_listed(known: KnowledgeClient[Client]) -> None:
    fact = known.store_fact("Ana", "seat", "by the window")
    (item,) = known.search("window seat").items

    def explained() -> Explanation | None:
        try:
            return known.explain(item.result_handle)
        except NotFound:
            return None

    told = wait_for(explained, "the trace is stored")
    assert (told.item.memory_id, told.item.terms, told.trace.kind) == (fact.id, item.terms, "search")
    (trace,) = known.traces()
    assert (trace.trace_id, trace.query, trace.result_count) == (told.trace.trace_id, "window seat", 1)


def test_a_rule_proves_itself_and_what_is_wrong_is_forgotten(known: KnowledgeClient[Client]) -> None:
    rule = known.store_rule("Ask first.")
    helped = known.mark_helpful(rule.id, context="a flight")
    assert_type(helped, Rule)
    assert (helped.applied_count, helped.effectiveness_score) == (1, 1.0)
    assert known.mark_harmful(rule.id, reason="it was urgent").harmful_count == 1
    assert known.confirm("rule", rule.id).confirmed
    assert known.forget("rule", rule.id).forgotten
    assert [one.id for one in known.rules()] == []
    assert [one.id for one in known.rules(forgotten=True)] == [rule.id]
    with pytest.raises(InvalidRequest, match="rule_id"):
        known.mark_helpful(rule.id)
    with pytest.raises(NotFound):
        known.confirm("fact", uuid4())


def test_a_link_stands_as_it_was_made_first(known: KnowledgeClient[Client]) -> None:
    fact, rule = known.store_fact("Ana", "seat", "by the window"), known.store_rule("Ask first.")
    made = known.link("fact", fact.id, "supports", "rule", rule.id)
    again = known.link("fact", fact.id, "contradicts", "rule", rule.id)
    assert (made.created, again.created, again.relation) == (True, False, "supports")


def test_entities_are_made_found_by_what_they_are_called_and_merged(known: KnowledgeClient[Client]) -> None:
    ana = known.create_entity("Ana Lima", "person", aliases=["Ana"]).entity_id
    other = known.create_entity("A. Lima", "person", metadata={"team": "sales"}).entity_id
    fact = known.store_fact("Ana", "home", "Oslo", entity_id=other)
    (candidate,) = known.resolve_entity("ana", context_hints={"domain_scores": {str(ana): 5}}).items
    assert (candidate.entity_id, candidate.name_match, candidate.score) == (ana, "alias", 85.0)
    assert known.update_entity(ana, canonical_name="Ana Maria Lima").aliases == ["Ana"]
    merged = known.merge_entities(other, ana)
    assert (merged.facts_repointed, merged.target_entity_id) == (1, ana)
    assert [one.id for one in known.facts(entity_id=ana)] == [fact.id]
    assert [one.id for one in known.entities()] == [ana]
    assert [one.id for one in known.entities(merged=True)] == [other]
    assert known.get_entity(ana).metadata == {"team": "sales"}
    with pytest.raises(InvalidRequest):
        known.create_entity("Ana Maria Lima", "person")


def test_episodes_become_facts_and_what_happened_is_told(known: KnowledgeClient[Client]) -> None:
    episode = known.store_episode("Ana lives in Oslo.", "travel")
    done = known.run_consolidation(timeout_s=60)
    assert (done.groups, done.episodes_consolidated, done.errors, done.remaining) == ({"travel": 1}, 1, [], 0)
    read = known.get("episode", episode.id)
    assert isinstance(read, Episode)
    assert read.consolidated
    assert done.facts_created == len([*known.facts()]) == 1
    pages = known.events(memory_type="episode", limit=1)
    assert {event.event_type for event in pages} == {"episode_created", "episode_consolidated"}
    assert known.run_episode_cleanup(max_entries=0).capacity_deleted == 1


def test_a_scope_of_a_user_is_not_for_others(known: KnowledgeClient[Client]) -> None:
    with pytest.raises(ScopeDenied) as caught:
        known.store_fact("Ana", "seat", "by the window", scope="user:ana")
    assert caught.value.fields == ("scope",)


def test_operators_sweep_requeue_and_erase(
    known: KnowledgeClient[Client], operated: KnowledgeClient[Client], tenant: str
) -> None:
    fact = known.store_fact("Ana", "seat", "by the window")
    ana = known.create_entity("Ana", "person").entity_id
    known.store_episode("Ana called.", "travel")
    assert operated.decay_sweep().facts_checked == 1
    assert operated.clean_up().remaining == 1
    assert operated.requeue().requeued == 0
    assert [*operated.dead_letters()] == []
    assert operated.reembed(dry_run=True).outdated == {"episode": 0, "fact": 0, "rule": 0}
    assert {one.chore for one in operated.schedules().items} == {
        "consolidation",
        "decay_sweep",
        "episode_cleanup",
    }
    assert operated.consolidate().butlers_processed == 1
    assert operated.erase_memory("fact", fact.id).erased["facts"] == 1
    with pytest.raises(NotFound):
        known.get("fact", fact.id)
    assert operated.erase_entity(ana).erased["entities"] == 1
    assert operated.erase_tenant(tenant).erased["episodes"] == 1
    assert known.stats().episodes.total == 0
    with pytest.raises(NotFound):
        known.decay_sweep()


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_same_client_serves_async_code(service: RunningService, tenant: str) -> None:
    async with AsyncClient(service.url, tenant_id=tenant) as client:
        known = client.knowledge
        stored = await known.store_fact("Ana", "seat", "by the window")
        assert [one.memory.id for one in (await known.search("a window seat")).items] == [stored.id]
        assert [fact.id async for fact in known.facts(limit=1)] == [stored.id]
        await known.forget("fact", stored.id)
        assert [fact.id async for fact in known.facts()] == []


def test_there_is_a_command_for_each_call(elf: CommandLine) -> None:
    first = elf.data(
        KnowledgeClient, "store-fact", "Ana", "seat", "by the window", "--tags", "travel", "--tags", "a"
    )
    second = elf.data(KnowledgeClient, "store-fact", "Ana", "seat", "on the aisle")
    assert second["superseded_id"] == first["id"]
    (fact,) = elf.data(KnowledgeClient, "facts", "--validity", "superseded")["items"]
    assert (fact["id"], fact["tags"]) == (first["id"], ["travel", "a"])
    many = [json.dumps({"content": content}) for content in ("Ask first.", "Be brief.")]
    assert len(elf.data(KnowledgeClient, "store-rules", *many)["items"]) == 2
    assert elf(KnowledgeClient, "confirm", "fact", second["id"]).out == "confirmed  true\n"
    shown = elf(KnowledgeClient, "context", "a seat for Ana", "travel", "--token-budget", "200").out
    assert "- [Ana] [seat]: on the aisle (confidence: 1.00)" in shown
    found = elf.data(KnowledgeClient, "search", "seat", "--types", "fact", "--mode", "keyword")["items"]
    assert [UUID(item["id"]) for item in found] == [UUID(second["id"])]
    gone = elf(KnowledgeClient, "get", "fact", str(uuid4()))
    assert (gone.code, gone.err.startswith("elf: NOT_FOUND: ")) == (1, True)


def test_a_command_for_operators_finds_the_admin_address(elf: CommandLine, tenant: str) -> None:
    elf.data(KnowledgeClient, "store-rule", "Ask first.")
    assert elf.data(KnowledgeClient, "decay-sweep")["rules_checked"] == 1
    assert {one["chore"] for one in elf.data(KnowledgeClient, "schedules")["items"]} >= {"decay_sweep"}
    assert elf.data(KnowledgeClient, "dead-letters")["items"] == []
    assert elf.data(KnowledgeClient, "erase-tenant", tenant)["erased"]["rules"] == 1
    assert elf.data(KnowledgeClient, "stats")["rules"]["candidate"] == 0
