"""The client of knowledge: it can ask for all that is offered, a repeat stores nothing twice, and a host goes on."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, assert_type
from uuid import UUID

import httpx
import msgspec
import pytest
from answering import URL, Script, failure
from family_calls import call_of, taken

from elf.client import (
    NO_RETRIES,
    AsyncClient,
    Client,
    InternalError,
    InvalidRequest,
    Retries,
    Unreachable,
    fail_open,
)
from elf.client.call import Call
from elf.client.families.knowledge import KnowledgeClient, NewEpisode, NewFact, NewRule, results
from elf.client.family import methods_of
from elf.families.knowledge.api import rows
from elf.families.knowledge.manifest import KNOWLEDGE

pytestmark = pytest.mark.anyio

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
FAST = Retries(patience_s=60.0, first_pause_s=0.001, longest_pause_s=0.002)
AWAY = failure(503, "UNAVAILABLE", headers={"Retry-After": "0"})
STORED = httpx.Response(200, json={"id": ID, "superseded_id": None, "degraded": []})

# Values for every parameter that the methods have; what is none of these is left to its default.
SAMPLES: Mapping[str, Any] = {
    "content": "by the window", "butler": "travel", "subject": "Ana", "predicate": "seat", "session_id": ID,
    "importance": 7, "permanence": "stable", "scope": "travel", "tags": ["seat"], "metadata": {"a": 1},
    "source_butler": "travel", "source_episode_id": ID, "entity_id": ID, "idempotency_key": "k",
    "source_type": "fact", "source_id": ID, "relation": "supports", "target_type": "rule", "target_id": ID,
    "memory_type": "fact", "memory_id": ID, "rule_id": ID, "context": "a flight", "reason": "too late",
    "query": "seat", "types": ["fact"], "mode": "keyword", "limit": 5, "min_confidence": 0.1, "topic": "seat",
    "trigger_prompt": "book", "token_budget": 100, "result_handle": ID, "cursor": "c", "direction": "incoming",
    "status": "pending", "validity": "superseded", "tag": "seat", "maturity": "proven", "forgotten": True,
    "merged": True, "entity_type": "person", "event_type": "fact_created", "canonical_name": "Ana Lima",
    "aliases": ["Ana"], "name": "Ana", "context_hints": {"topic": "seat"}, "enable_fuzzy": True,
    "source_entity_id": ID, "target_entity_id": ID, "max_entries": 3, "episode_id": ID, "dry_run": True,
    "tenant_id": "t",
}  # fmt: skip
ITEMS: Mapping[str, list[Any]] = {
    "store_episodes": [NewEpisode(content="x", butler="travel")],
    "store_facts": [
        NewFact(subject="Ana", predicate="seat", content="x"),
        {"subject": "Ana", "predicate": "home", "content": "Oslo"},
    ],
    "store_rules": [NewRule(content="x")],
}  # fmt: skip


def knowing(network: Script, *, retries: Retries = NO_RETRIES) -> KnowledgeClient[Client]:
    return Client(URL, transport=network, retries=retries, tenant_id="t", agent_id="a").knowledge


def asked_of(name: str) -> Call[Any]:
    """Make the call of a method with a sample for each of its parameters."""
    build = methods_of(KnowledgeClient)[name].build
    parameters = [*inspect.signature(build).parameters][1:]
    given = {
        one: ITEMS[name] if one == "items" else SAMPLES[one]
        for one in parameters
        if one in {*SAMPLES, "items"}
    }
    return call_of(build(knowing(Script(STORED)), **given))


def test_every_operation_has_a_method_whose_arguments_it_takes() -> None:
    everything = {*KNOWLEDGE.operations, *KNOWLEDGE.admin_operations}
    assert taken(map(asked_of, methods_of(KnowledgeClient)), KNOWLEDGE) == everything


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (rows.Episode, results.Episode), (rows.Fact, results.Fact), (rows.Rule, results.Rule),
        (rows.Entity, results.Entity),
    ],
)  # fmt: skip
def test_memories_are_read_with_all_that_is_told_of_them(told: Any, read: Any) -> None:
    fields = {field.name for field in msgspec.structs.fields(read)}
    assert fields == told.model_fields.keys() - {"memory_type"}


STORES: Mapping[str, Callable[[KnowledgeClient[Client]], object]] = {
    "episode": lambda known: known.store_episode("x", "travel"),
    "fact": lambda known: known.store_fact("Ana", "seat", "by the window"),
    "rule": lambda known: known.store_rule("x"),
    "facts": lambda known: known.store_facts(ITEMS["store_facts"]),
}


def keys_of(body: Mapping[str, Any]) -> list[str]:
    return [item["idempotency_key"] for item in body.get("items", [body])]


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_a_store_that_is_tried_again_has_the_same_key_and_the_next_has_another(
    store: Callable[[KnowledgeClient[Client]], object],
) -> None:
    answer = httpx.Response(
        200, json={"id": ID, "expires_at": None, "superseded_id": None, "items": [], "degraded": []}
    )
    network = Script(AWAY, httpx.ReadTimeout("too slow"), answer)
    known = knowing(network, retries=FAST)
    store(known)
    store(known)
    first, again, at_last, other = network.bodies
    assert first == again == at_last
    keys = [*keys_of(first), *keys_of(other)]
    assert all(UUID(key).version == 4 for key in keys)
    assert len({*keys}) == len(keys)


def test_a_key_of_the_caller_is_kept() -> None:
    network = Script(STORED, httpx.Response(200, json={"items": [], "degraded": []}))
    known = knowing(network)
    known.store_fact("Ana", "seat", "by the window", idempotency_key="mine")
    known.store_rules(
        [NewRule(content="x", idempotency_key="first"), {"content": "y", "idempotency_key": "second"}]
    )
    assert [keys_of(body) for body in network.bodies] == [["mine"], ["first", "second"]]


@pytest.mark.parametrize("items", ["x", {"content": "x"}, 3, None])
def test_what_is_no_list_is_refused_before_it_is_sent(items: Any) -> None:
    network = Script(STORED)
    with pytest.raises(InvalidRequest, match=r"^items: should be a list$") as caught:
        knowing(network).store_facts(items)
    assert (caught.value.fields, network.requests) == (("items",), [])


def test_an_item_that_is_none_is_the_services_to_refuse() -> None:
    network = Script(failure(400, "INVALID_REQUEST", fields=["$.items[0]"]))
    with pytest.raises(InvalidRequest) as caught:
        knowing(network).store_rules(["x"])  # type: ignore[list-item]
    assert caught.value.fields == ("items[0]",)
    assert network.bodies == [{"tenant_id": "t", "items": ["x"]}]


def test_only_the_tenant_of_the_context_goes_out() -> None:
    network = Script(STORED)
    knowing(network).store_rule("x")
    (body,) = network.bodies
    assert body.keys() == {"tenant_id", "content", "scope", "tags", "idempotency_key"}


@pytest.mark.parametrize(
    "name", ["mark_helpful", "mark_harmful", "create_entity", "merge_entities", "run_consolidation"]
)
def test_what_counts_each_time_is_not_sent_twice(name: str) -> None:
    assert asked_of(name).repeat == "undone"


def test_all_tenants_are_those_of_nobody_and_one_is_erased_by_its_name_alone() -> None:
    build = {name: method.build for name, method in methods_of(KnowledgeClient).items()}
    known = knowing(Script(STORED))
    bodies = [
        json.loads(call.content)
        for call in (
            build["decay_sweep"](known),
            build["decay_sweep"](known, all_tenants=True),
            build["erase_tenant"](known, "other"),
        )
    ]
    assert bodies == [{"tenant_id": "t"}, {}, {"tenant_id": "other", "what": "tenant"}]


OUTAGES = {
    "away": AWAY,
    "unreachable": httpx.ConnectError("refused"),
    "proxy": httpx.Response(502, text="<html>"),
}


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
async def test_a_host_goes_on_while_the_service_is_away(
    outage: httpx.Response | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    known = knowing(Script(outage))
    assert_type(fail_open(known.store_fact)("Ana", "seat", "by the window"), results.StoredFact | None)
    assert fail_open(known.store_episode)("Ana asked for a seat.", "travel") is None
    assert fail_open(known.context)("book a flight", "travel") is None
    async with AsyncClient(URL, transport=Script(outage), retries=NO_RETRIES, tenant_id="t") as client:
        assert await fail_open(client.knowledge.store_rule)("Ask first.") is None
    said = [record.getMessage() for record in caplog.records if record.name == "elf.client"]
    names = ["store_fact", "store_episode", "context", "store_rule"]
    assert [
        re.match(r"gone on without (\w+): .*; request [0-9a-f-]{36}$", line)[1] for line in said[-4:]
    ] == names  # type: ignore[index]
    assert not re.search("window|seat|flight|Ask", " ".join(said))
    assert {record.levelno for record in caplog.records if record.name == "elf.client"} == {logging.WARNING}


WRITES = (
    "store_episode", "store_fact", "store_rule", "store_episodes", "store_facts", "store_rules", "confirm", "forget",
    "mark_helpful", "mark_harmful", "link", "create_entity", "update_entity", "merge_entities",
)  # fmt: skip


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES)
@pytest.mark.parametrize("name", WRITES)
async def test_every_write_may_be_gone_on_without(
    name: str, outage: httpx.Response | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    parameters = [*inspect.signature(methods_of(KnowledgeClient)[name].build).parameters][1:]
    given = {
        one: ITEMS[name] if one == "items" else SAMPLES[one]
        for one in parameters
        if one in {*SAMPLES, "items"}
    }
    assert fail_open(getattr(knowing(Script(outage)), name))(**given) is None
    async with AsyncClient(URL, transport=Script(outage), retries=NO_RETRIES, tenant_id="t") as client:
        assert await fail_open(getattr(client.knowledge, name))(**given) is None
    said = [record.getMessage() for record in caplog.records if record.name == "elf.client"]
    assert [line.split(":")[0] for line in said] == [f"gone on without {name}"] * 2


def test_these_are_all_writes() -> None:
    writes = {name for name in methods_of(KnowledgeClient) if not asked_of(name).for_operators}
    reads = {
        "get", "history", "links", "episodes", "facts", "rules", "entities", "events", "search", "recall", "context",
        "explain", "traces", "stats", "resolve_entity", "run_consolidation",
        "run_episode_cleanup", "get_entity",
    }  # fmt: skip
    assert writes - reads == set(WRITES)


async def test_an_answer_comes_through_and_what_is_wrong_is_still_raised() -> None:
    stored = fail_open(knowing(Script(STORED)).store_fact)("Ana", "seat", "by the window")
    assert stored is not None
    assert stored.id == UUID(ID)
    async with AsyncClient(URL, transport=Script(STORED), tenant_id="t") as client:
        assert await fail_open(client.knowledge.store_rule)("x") == results.StoredRule(UUID(ID))
    for answer, kind in (
        (failure(400, "INVALID_REQUEST"), InvalidRequest),
        (failure(500, "INTERNAL_ERROR"), InternalError),
    ):
        with pytest.raises(kind):
            fail_open(knowing(Script(answer)).store_rule)("x")
        async with AsyncClient(URL, transport=Script(answer), tenant_id="t") as client:
            with pytest.raises(kind):
                await fail_open(client.knowledge.store_rule)("x")
    with pytest.raises(Unreachable):
        knowing(Script(httpx.ConnectError("refused"))).store_rule("x")
