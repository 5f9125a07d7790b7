"""What is exported is all there is, and can be taken in by an empty service as it was."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID, uuid4, uuid5

import anyio
import pytest

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest
from tests.conftest import run_sql
from tests.db.knowledge.conftest import ANA, EMPTY, TENANT, KnowledgeHouse
from tests.db.knowledge.subjects_kit import Piece, World

pytestmark = pytest.mark.anyio

WORD: Final = "Zanzibarqx"
ONE: Final = str(UUID(int=1))


@pytest.fixture
def world(knowledge: KnowledgeHouse) -> World:
    return World(knowledge)


@pytest.fixture
def empty(knowledge_dsn: str) -> Any:
    """Empties the database, as that of another service."""
    return lambda: run_sql(knowledge_dsn, EMPTY)


async def kept(world: World) -> None:
    """Something of a tenant in every state there is."""
    await world.remember("ana", WORD)
    await world.remember("ben", "Timbuktuqx")
    house, life = world.house, world.life
    house.clock.turn(days=1)
    fact = await life.fact(
        "retracted", importance=7.5, tags=["a", "b"], metadata={"z": [1.5, None], "a": "é 中"}
    )
    await life.forget("fact", fact)
    rule = await house.rule("Forget me")
    await life.helpful(rule, context="at sea")
    await life.forget("rule", rule)
    await life.confirm("fact", (await house.fact(permanence="permanent")).id)
    expired = await house.episode("long ago", session_id=uuid4())
    await life.forget("episode", expired)
    failed = await house.episode("failed", importance=1.0)
    await house.rows(
        "UPDATE knowledge_episodes SET consolidation_status = 'dead_letter', retry_count = 5, last_error = 'model' "
        "WHERE id = $1 RETURNING 1",
        failed,
    )


def by_kind(pieces: list[Piece]) -> Mapping[str, int]:
    return Counter(one["kind"] for one in pieces)


@pytest.mark.parametrize("whose", [{}, {"user": "ana"}, {"agent_id": "travel"}])
async def test_what_an_empty_service_takes_in_it_exports_again_as_it_was(
    world: World, empty: Any, whose: dict[str, str]
) -> None:
    await kept(world)
    pieces = await world.exported(**whose)
    assert len(pieces) == len({str(one) for one in pieces})
    assert {one["tenant_id"] for one in pieces} == {TENANT}
    await empty()
    assert await world.exported(**whose) == []
    assert await world.subjects.take_in(pieces) == len(pieces)
    assert await world.exported(**whose) == pieces
    assert await world.subjects.take_in(pieces) == 0
    assert await world.exported(**whose) == pieces
    await world.erase(**whose)
    assert await world.exported(**whose) == []


async def test_all_of_a_tenant_is_exported_and_of_a_user_what_is_theirs(world: World) -> None:
    await kept(world)
    assert by_kind(await world.exported()) == {
        "entity": 4, "episode": 6, "fact": 8, "rule": 5, "supersession": 2, "application": 7, "link": 6,
        "event": len(await world.house.events()),
    }  # fmt: skip
    told = str(await world.exported(user="ana"))
    assert WORD in told
    assert "Timbuktuqx" not in told
    assert "user:ben" not in told
    counted = by_kind(await world.exported(user="ana"))
    assert {name: count for name, count in counted.items() if name != "event"} == {
        "entity": 2, "episode": 4, "fact": 5, "rule": 3, "supersession": 1, "application": 4, "link": 3,
    }  # fmt: skip


async def test_what_was_taken_in_goes_on_as_if_it_had_always_been_there(world: World, empty: Any) -> None:
    ids = await world.remember("ana", WORD)
    house, life = world.house, world.life
    found = {one["id"] for one in await world.finder.search(WORD, mode="semantic")}
    key = await house.fact(subject="key", idempotency_key="one")
    pieces = await world.exported()
    await empty()
    for one in pieces:  # however it is cut
        assert await world.subjects.take_in([one]) == 1
    assert house.rings > 0
    assert await world.finder.search(WORD, mode="semantic") == []
    await life.do_jobs()  # the vectors, and the rule that is to be inverted
    assert {one["id"] for one in await world.finder.search(WORD, mode="semantic")} - {key.id} == found | {
        ids["waiting"]
    }
    assert (await house.row("rule", ids["rule"]))["maturity"] == "anti_pattern"
    assert (await house.fact(subject="key", idempotency_key="one")).id == key.id
    third = await house.fact(subject=WORD, predicate="trip", scope="user:ana", entity_id=ids["entity"])
    assert third.superseded_id == ids["second"]
    chain = (await house.history("fact", third.id)).supersession
    assert [one.id for one in chain] == [ids["first"], ids["second"], third.id]
    assert "fact_created" in [one.event_type for one in (await house.history("fact", ids["first"])).events]


async def test_what_is_there_already_stays_as_it_is(world: World, empty: Any) -> None:
    house = world.house
    about = await world.entity("Ana Lima", ANA)
    old = await house.fact(entity_id=about, content="the aisle", idempotency_key="one")
    pieces = await world.exported()
    await empty()
    here = await world.entity("Ana Lima", ANA)
    new = await house.fact(entity_id=here, content="the window", idempotency_key="one")
    await world.subjects.take_in(pieces)
    assert await world.subjects.take_in(pieces) == 0
    assert (await house.row("fact", new.id))["validity"] == "active"
    row = await house.row("fact", old.id)
    assert (row["validity"], row["entity_id"], row["idempotency_key"]) == ("superseded", here, None)
    (link,) = await house.rows("SELECT source_id, target_id, relation FROM knowledge_links")
    assert tuple(link.values()) == (new.id, old.id, "supersedes")
    assert [row["id"] for row in await house.rows("SELECT id FROM knowledge_entities")] == [here]


def _changed(piece: Piece, **fields: Any) -> Piece:
    return {**piece, **fields}


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("fact", {"content": 5}),
        ("fact", {"importance": 11}),
        ("fact", {"confidence": float("nan")}),
        ("fact", {"subject": "a\x00b"}),
        ("fact", {"scope": ""}),
        ("fact", {"embedding": [1.0]}),
        ("fact", {"kind": "note"}),
        ("fact", {"id": "no id"}),
        ("fact", {"created_at": "2026-01-01T00:00:00"}),
        ("fact", {"metadata": {"it": object()}}),
        ("fact", {"content": "\ud800"}),
        ("rule", {"metadata": {"forgotten": "yes"}}),
        ("rule", {"metadata": {"harmful_reasons": [1]}}),
        ("rule", {"harmful_count": 2**31}),
        (
            "link",
            dict.fromkeys(["source_type", "target_type"], "fact")
            | dict.fromkeys(["source_id", "target_id"], ONE),
        ),
        ("event", {"payload": {"target_id": "no id"}}),
        ("event", {"event_type": "fact_invented"}),
        ("entity", {"metadata": {"merged_into": 5}}),
        ("supersession", {"supersedes_id": None}),
    ],
)
async def test_what_is_not_as_it_is_exported_is_refused_and_nothing_of_it_kept(
    world: World, empty: Any, kind: str, wrong: dict[str, Any]
) -> None:
    await kept(world)
    pieces = await world.exported()
    await empty()
    first = next(one for one in pieces if one["kind"] == kind)
    with pytest.raises(InvalidRequest) as refused:
        await world.subjects.take_in([*pieces, _changed(first, **wrong)])
    assert [*refused.value.fields] == [f"$[{len(pieces)}]"]
    assert await world.exported() == []


async def test_a_tenant_takes_in_nothing_that_is_anothers(world: World) -> None:
    fact = await world.house.fact(tenant_id="another", content="elsewhere")
    episode = await world.house.episode(tenant_id="another")
    await world.house.fact(caller=Caller(user="ana"), content="here")
    pieces = await world.exported()
    (own,) = [one for one in pieces if one["kind"] == "fact"]
    await world.erase()
    stolen = _changed(own, source_episode_id=str(episode))
    taken = _changed(own, id=str(fact.id), subject="Ben", content="mine")
    for new in (2, 0):
        assert await world.subjects.take_in([stolen, taken]) == new
    assert (await world.house.row("fact", UUID(own["id"])))["source_episode_id"] is None
    assert (await world.house.row("fact", fact.id))["content"] == "elsewhere"
    mine = await world.house.row("fact", uuid5(fact.id, TENANT))
    assert (mine["content"], mine["tenant_id"]) == ("mine", TENANT)


async def test_another_tenant_of_the_service_takes_in_all_of_it(world: World) -> None:
    await kept(world)
    pieces = [dict(one) for one in await world.exported()]
    counts = by_kind(pieces)
    moved = [one | {"tenant_id": "another"} for one in pieces]
    assert await world.subjects.take_in(moved) == len(moved)
    assert await world.subjects.take_in(moved) == 0
    back = await world.exported(tenant_id="another")
    assert by_kind(back) == counts
    ids = {one["id"]: str(uuid5(UUID(one["id"]), "another")) for one in pieces if "id" in one}
    assert _told(_renamed(pieces, ids)) == _told([one | {"tenant_id": TENANT} for one in back])
    await world.erase()
    assert by_kind(await world.exported(tenant_id="another")) == counts
    assert await world.subjects.take_in(moved) == 0  # what another tenant has no more is what it was here
    assert await world.subjects.take_in(pieces) == len(pieces)
    assert _told(await world.exported()) == _told(pieces)


async def test_two_tenants_take_the_same_in_at_once(world: World, empty: Any) -> None:
    await kept(world)
    pieces = [dict(one) for one in await world.exported()]
    for _ in range(5):
        await empty()
        new: dict[str, int] = {}

        async def take(tenant: str, new: dict[str, int] = new) -> None:
            new[tenant] = await world.subjects.take_in([one | {"tenant_id": tenant} for one in pieces])

        async with anyio.create_task_group() as group:
            for tenant in ("one", "two", "three"):
                group.start_soon(take, tenant)
        assert new == dict.fromkeys(("one", "two", "three"), len(pieces))


async def test_nobody_learns_from_an_import_what_others_have(world: World) -> None:
    await kept(world)
    pieces = [dict(one) for one in await world.exported()]
    ids = {one["id"]: str(uuid4()) for one in pieces if "id" in one}
    nobodys = [one | {"tenant_id": "third"} for one in _renamed(pieces, ids)]
    others = [one | {"tenant_id": "fourth"} for one in pieces]
    assert await world.subjects.take_in(others) == await world.subjects.take_in(nobodys) == len(pieces)


async def test_secrets_are_blanked_as_in_what_is_written(world: World) -> None:
    about = await world.entity("Ana", ANA)
    episode = await world.house.episode("Sails home.", ANA)
    await world.house.fact(caller=ANA, entity_id=about, source_episode_id=episode)
    await world.life.harmful(
        await world.house.rule("Ask first", ANA), ANA, times=3, reason="why", context="when"
    )
    await world.life.forget("episode", episode)
    pieces = await world.exported()
    assert {"entity", "episode", "fact", "rule", "application", "event"} <= by_kind(pieces).keys()
    planted = [
        _changed(
            one,
            **{name: f"{one[name]} {SECRET}" for name in ("content", "context", "reason") if one.get(name)},
            **{
                name: {**one.get(name, {}), "said": SECRET}
                for name in ("metadata", "payload")
                if name in NAMED[one["kind"]]
            },
        )
        for one in pieces
    ]
    await world.erase()
    assert await world.subjects.take_in(planted) == len(pieces)
    assert SECRET not in json.dumps(await world.exported(), default=str)
    assert "Sails home." in json.dumps(await world.exported(), default=str)


SECRET: Final = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
NAMED: Final[Mapping[str, set[str]]] = {
    **{kind: {"metadata"} for kind in ("entity", "episode", "fact", "rule")},
    "event": {"payload"}, "application": set(), "link": set(), "supersession": set(),
}  # fmt: skip


def _renamed(pieces: list[Piece], ids: Mapping[str, str]) -> list[Piece]:
    """Return pieces with other ids, wherever these stand."""
    text = json.dumps(pieces, default=str)
    for old, new in ids.items():
        text = text.replace(old, new)
    renamed: list[Piece] = json.loads(text)
    return renamed


def _told(pieces: list[Piece]) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True, default=str) for one in pieces)
