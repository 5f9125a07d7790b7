"""Whatever a tenant keeps: what is exported and taken in, however it is cut, is exported again as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.db.knowledge.conftest import TENANT, KnowledgeHouse
from tests.db.knowledge.subjects_kit import Piece, World

pytestmark = pytest.mark.anyio

EXAMPLES: Final = int(os.environ.get("ELF_TEST_EXPORTS", "30"))
SAID: Final = ("the aisle", "é 中 🙂", "'; DROP TABLE --", '{"kind": "fact"}', "\u2028\t\n", "x" * 3_000)
FIRST, LAST = datetime(2000, 1, 1), datetime(2100, 1, 1)
ORDER: Final = ("entity", "episode", "fact", "rule", "supersession", "application", "link", "event")

letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.one_of(st.sampled_from(SAID), st.text(letters, max_size=40))
names = st.text(letters, min_size=1, max_size=12)
moments = st.datetimes(FIRST, LAST, timezones=st.just(UTC)).map(
    lambda one: one.isoformat().replace("+00:00", "Z")
)
counted = st.integers(0, 2**31 - 1)
shares = st.floats(0, 1)
scopes = st.sampled_from(["global", "travel", "user:ana", "user:ben"])
values = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), texts, st.just("ana"))
metadata = st.dictionaries(
    names | st.sampled_from(["user", "user_id", "message_id"]), values | st.lists(values), max_size=3
)
tags = st.lists(names, max_size=3)
ids = st.uuids(version=4).map(str)


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def tenants(draw: st.DrawFn) -> list[Piece]:
    """What a tenant may keep, in the order in which it is exported but for ids: all that it names is there."""
    known = draw(st.lists(ids, min_size=12, max_size=12, unique=True))
    entity_ids, episode_ids, fact_ids, rule_ids = (known[at : at + 3] for at in (0, 3, 6, 9))
    entities = [_entity(draw, id, number) for number, id in enumerate(entity_ids)]
    episodes = [_episode(draw, id) for id in episode_ids]
    facts = [_fact(draw, id, number, entities, episode_ids) for number, id in enumerate(fact_ids)]
    rules = [_rule(draw, id, episode_ids) for id in rule_ids]
    supersessions = [
        {"kind": "supersession", "id": one, "supersedes_id": draw(st.sampled_from(sorted({*fact_ids} - {one})))}
        for one in sorted(draw(st.sets(st.sampled_from(fact_ids))))
    ]  # fmt: skip
    applications = [_application(draw, rule_ids) for _ in range(draw(st.integers(0, 3)))]
    memories = (
        [("episode", id) for id in episode_ids] + [("fact", id) for id in fact_ids] + [("rule", rule_ids[0])]
    )
    links = {_link(draw, memories) for _ in range(draw(st.integers(0, 4)))}
    told = [
        dict(zip(("source_type", "source_id", "target_type", "target_id"), ends, strict=True))
        for ends in links
    ]
    pieces: list[dict[str, Any]] = [
        *entities, *episodes, *facts, *rules, *supersessions, *applications,
        *({"kind": "link", **one, "relation": draw(st.sampled_from(["derived_from", "contradicts", "supports"])),
           "created_at": draw(moments)} for one in told),
        *(_event(draw, memories) for _ in range(draw(st.integers(0, 4)))),
    ]  # fmt: skip
    return [
        {"tenant_id": TENANT, **{name: value for name, value in one.items() if value is not None}}
        for one in pieces
    ]


def _entity(draw: st.DrawFn, id: str, number: int) -> dict[str, Any]:
    return {
        "kind": "entity", "id": id, "canonical_name": f"{number}{draw(names)}",
        "entity_type": draw(st.sampled_from(["person", "place"])), "aliases": draw(st.lists(names, max_size=2)),
        "metadata": draw(metadata), "created_at": draw(moments), "updated_at": draw(moments),
    }  # fmt: skip


def _memory(draw: st.DrawFn, id: str) -> dict[str, Any]:
    has_key = draw(st.booleans())
    return {
        "id": id, "content": draw(texts), "reference_count": draw(counted), "created_at": draw(moments),
        "last_referenced_at": draw(some(moments)), "metadata": draw(metadata),
        "idempotency_key": f"key of {id}" if has_key else None, "request_digest": "AAEC" if has_key else None,
    }  # fmt: skip


def _episode(draw: st.DrawFn, id: str) -> dict[str, Any]:
    return {
        "kind": "episode", **_memory(draw, id), "butler": draw(scopes), "session_id": draw(some(ids)),
        "importance": draw(st.floats(0, 10)), "consolidated": draw(st.booleans()),
        "consolidation_status": draw(st.sampled_from(["pending", "consolidated", "dead_letter"])),
        "retry_count": draw(counted), "last_error": draw(some(texts)), "available_at": draw(some(moments)),
        "expires_at": draw(some(moments)),
    }  # fmt: skip


def _learned(draw: st.DrawFn, episode_ids: list[str]) -> dict[str, Any]:
    return {
        "scope": draw(scopes), "confidence": draw(shares), "decay_rate": draw(st.floats(0, 1)),
        "permanence": draw(st.sampled_from(["permanent", "standard", "ephemeral"])),
        "source_butler": draw(some(names)), "source_episode_id": draw(some(st.sampled_from(episode_ids))),
        "last_confirmed_at": draw(some(moments)), "tags": draw(tags),
    }  # fmt: skip


def _fact(
    draw: st.DrawFn, id: str, number: int, entities: list[dict[str, Any]], episode_ids: list[str]
) -> dict[str, Any]:
    about = draw(some(st.sampled_from(entities)))
    whom = {} if about is None else {
        "entity_id": about["id"], "entity_name": about["canonical_name"], "entity_type": about["entity_type"],
    }  # fmt: skip
    return {
        "kind": "fact", **_memory(draw, id), **_learned(draw, episode_ids), **whom, "subject": draw(names),
        "predicate": f"{number}{draw(names)}", "importance": draw(st.floats(0, 10)),
        "validity": draw(st.sampled_from(["active", "superseded", "expired", "retracted"])),
    }  # fmt: skip


def _rule(draw: st.DrawFn, id: str, episode_ids: list[str]) -> dict[str, Any]:
    memory = _memory(draw, id)
    states = draw(st.fixed_dictionaries({}, optional={
        "forgotten": st.booleans(), "needs_inversion": st.booleans(), "harmful_reasons": st.lists(texts, max_size=2),
    }))  # fmt: skip
    return {
        "kind": "rule", **memory, **_learned(draw, episode_ids), "metadata": memory["metadata"] | states,
        "maturity": draw(st.sampled_from(["candidate", "proven", "anti_pattern"])),
        "effectiveness_score": draw(shares), "applied_count": draw(counted), "success_count": draw(counted),
        "harmful_count": draw(counted), "last_applied_at": draw(some(moments)),
        "last_evaluated_at": draw(some(moments)),
    }  # fmt: skip


def _application(draw: st.DrawFn, rule_ids: list[str]) -> dict[str, Any]:
    return {
        "kind": "application", "id": draw(ids), "rule_id": draw(st.sampled_from(rule_ids)),
        "outcome": draw(st.sampled_from(["helpful", "harmful"])), "context": draw(some(texts)),
        "reason": draw(some(texts)), "actor": draw(some(names)), "created_at": draw(moments),
    }  # fmt: skip


def _link(draw: st.DrawFn, memories: list[tuple[str, str]]) -> tuple[str, str, str, str]:
    source = draw(st.sampled_from(memories))
    return *source, *draw(st.sampled_from([one for one in memories if one != source]))


def _event(draw: st.DrawFn, memories: list[tuple[str, str]]) -> dict[str, Any]:
    kind, id = draw(st.sampled_from([*memories, (None, None)]))
    return {
        "kind": "event", "id": draw(ids), "event_type": draw(st.sampled_from(["fact_created", "consolidation_run"])),
        "actor": draw(some(names)), "memory_type": kind, "memory_id": id, "request_id": draw(some(texts)),
        "payload": {"scope": draw(scopes), "n": draw(counted)}, "created_at": draw(moments),
    }  # fmt: skip


def whole(piece: Piece) -> str:
    """A piece as text, with what is left out where it is nothing, and numbers as Postgres tells them."""
    said = {name: value for name, value in piece.items() if value not in ([], {}, 0, False)}
    return json.dumps(said, sort_keys=True)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(tenants(), st.integers(1, 40))
async def test_what_is_taken_in_is_exported_as_it_was(
    knowledge: KnowledgeHouse, pieces: list[Piece], cut: int
) -> None:
    world = World(knowledge)
    await world.erase()
    assert await world.subjects.take_in(pieces) == len(pieces)
    told = await world.exported()
    assert sorted(map(whole, told)) == sorted(map(whole, pieces))
    assert [ORDER.index(one["kind"]) for one in told] == sorted(ORDER.index(one["kind"]) for one in told)
    for whose in ({}, {"user": "ana"}, {"agent_id": "travel"}):
        part = await world.exported(**whose)
        assert {*map(whole, part)} <= {*map(whole, map(_alone, told))} | {*map(whole, told)}
        await world.erase()
        for start in range(0, len(part), cut):
            await world.subjects.take_in(part[start : start + cut])
        assert await world.exported(**whose) == part
        assert await world.subjects.take_in(part) == 0
        await world.erase()
        await world.subjects.take_in(told)
    await world.life.do_jobs()
    assert await world.life.open_jobs() == []


def _alone(piece: Piece) -> Mapping[str, Any]:
    """A memory whose source does not go along."""
    return {name: value for name, value in piece.items() if name != "source_episode_id"}
