"""What is in the scope of a user is that user's alone: whatever another asks for, nothing of it comes or goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from elf.core.api_key import new_key
from tests.families.fronts import Fronts
from tests.folders import fresh_folder
from tests.issuer import Issuer, SigningKey
from tests.keys_kit import with_keys
from tests.system.knowledge_users import TOOL, Somebody, by_id, by_reference, by_scope, by_words, leaked
from tests.system.service import RunningService, write_config

TOKENS: Final = """
[security.auth.jwt]
issuer = "{issuer}"
jwks_file = "jwks.json"
algorithms = ["ES256"]
"""
PROGRAM: Final = "a program"  # calls with a key, for no user


@dataclass(frozen=True)
class House:
    """Three callers of one tenant, and what is of all: an entity, another to be merged into it, and a rule."""

    people: Mapping[str, Somebody]
    shared: Mapping[str, str]

    def pairs(self) -> list[tuple[Somebody, Somebody]]:
        """Each user with somebody who is not that user."""
        users = [one for one in self.people.values() if one.name != PROGRAM]
        return [(owner, other) for owner in users for other in self.people.values() if other is not owner]


@pytest.fixture(scope="module")
def house(model_folder: Path) -> Iterator[House]:
    issuer, key = Issuer(SigningKey("one", "ES256")), new_key()
    headers = {name: {"Authorization": f"Bearer {issuer.token(name)}"} for name in ("ana", "ben")}
    headers[PROGRAM] = {"X-API-Key": key}
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        (folder / "jwks.json").write_bytes(issuer.jwks())
        keys = with_keys(config.read_text(), {"key": key, "tenant_id": "default"})
        config.write_text(keys + TOKENS.format(issuer=issuer.url))
        with RunningService(config) as service, ExitStack() as opened:
            fronts = {
                name: opened.enter_context(
                    Fronts(service.url, service.admin_url, service.mcp_url, ["/mcp/knowledge"], one)
                )
                for name, one in headers.items()
            }
            people = {name: Somebody(name, one) for name, one in fronts.items()}
            entity = {"canonical_name": "Ana Lima", "entity_type": "person"}
            shared = {
                "entity": people[PROGRAM].told("create_entity", **entity)["entity_id"],
                "rule": people[PROGRAM].told("store_rule", content="Ask first")["id"],
            }
            for name in ("ana", "ben"):
                people[name].settle(shared)
            yield House(people, shared)


def test_what_is_another_users_is_unknown_by_its_id(house: House) -> None:
    for owner, other in house.pairs():
        before = owner.state()
        for name, fields in by_id(owner):
            reply = other.ask(name, **fields)
            assert (name, reply.status) == (name, 404)
            assert leaked(owner, reply, fields) == []
        for name, fields in by_reference(owner, house.shared):
            reply = other.ask(name, **fields)
            assert (name, reply.status) == (name, 400), reply.text
            assert leaked(owner, reply, fields) == []
        assert owner.state() == before


def test_another_users_scope_is_refused_by_its_name(house: House) -> None:
    for owner, other in house.pairs():
        before = owner.state()
        for name, fields in by_scope(owner):
            reply = other.ask(name, **fields)
            assert (name, reply.status, reply.body["error_code"]) == (name, 403, "SCOPE_DENIED")
            assert reply.body["fields"][0].rpartition(".")[2] in ("scope", "butler")
        assert owner.state() == before


def test_whatever_is_asked_for_nothing_of_another_user_comes(house: House) -> None:
    for owner, other in house.pairs():
        before = owner.state()
        for name, fields in by_words(owner, house.shared):
            reply = other.ask(name, **fields)
            assert reply.ok, (name, reply.text)
            assert (name, fields, leaked(owner, reply, fields)) == (name, fields, [])
            assert owner.scope not in reply.text
        assert owner.state() == before


def test_a_user_finds_what_is_the_users_own(house: House) -> None:
    """Or else those who find nothing of it would prove nothing."""
    silent = ("list_entities", "get_entity", "memory_context", "run_episode_cleanup", "run_consolidation")
    for name in ("ana", "ben"):
        one = house.people[name]
        for operation, fields in by_words(one, house.shared):
            of_no_memory = fields.get("memory_id") in (one.ids["trace"], one.ids["handle"])
            is_empty = fields.get("validity") == "expired" or fields.get("forgotten") == "true"
            if operation in silent or of_no_memory or is_empty:
                continue
            reply = one.ask(operation, **fields)
            if operation in ("resolve_entity", f"{TOOL}entity_resolve"):
                assert reply.body["items"][0]["score"] > 100
            else:
                assert leaked(one, reply, {}), (operation, fields, reply.text)
        for operation, fields in by_id(one):
            if operation in ("get_memory", "memory_history", "memory_links", "explain_result"):
                assert one.ask(operation, **fields).ok, operation
        for operation, fields in by_scope(one)[:6]:
            assert leaked(one, one.ask(operation, **fields), {}), operation


def test_what_becomes_of_a_users_episodes_is_that_users_own(house: House) -> None:
    """Facts of a shard are in its scope, and so unknown to others, as what they were."""
    ana, ben = house.people["ana"], house.people["ben"]
    ana.told("store_episode", butler=ana.scope, content="Ana lives in Bergen.")
    assert ana.scope not in ben.told("run_consolidation")["groups"]
    assert ana.told("run_consolidation")["groups"] == {ana.scope: 1}
    made = [
        one for one in ana.told("list_facts", scope=ana.scope, limit=200)["items"] if one["source_butler"]
    ]
    assert [one["content"] for one in made if "Bergen" in one["content"]]
    assert {one["scope"] for one in made} == {ana.scope}
    assert not {one["id"] for one in made} & {one["id"] for one in ben.told("list_facts", limit=200)["items"]}
    assert ben.told("search_knowledge", query="Who lives in Bergen?", mode="keyword")["items"] == []


def test_what_a_user_says_alone_does_not_change_what_all_know(house: House) -> None:
    ana, ben = house.people["ana"], house.people["ben"]
    shared = {"subject": "Zed", "predicate": "lives in"}
    known = house.people[PROGRAM].told("store_fact", **shared, content="Oslo")["id"]
    ana.told("store_episode", butler=ana.scope, content="Zed lives in Bergen now.")
    assert ana.told("run_consolidation")["facts_updated"] == 1
    assert [one["id"] for one in ben.told("list_facts", **shared)["items"]] == [known]
    told = {one["scope"]: one["content"] for one in ana.told("list_facts", **shared)["items"]}
    assert told == {"global": "Oslo", ana.scope: "Bergen"}


def test_counts_do_not_tell_of_another_user(house: House) -> None:
    ana, ben = house.people["ana"], house.people["ben"]
    before = [ben.told("run_episode_cleanup", max_entries=0), ben.told("knowledge_stats")]
    program = house.people[PROGRAM]
    target = program.told("create_entity", canonical_name="Ben Lima", entity_type="person")["entity_id"]
    source = program.told("create_entity", canonical_name="B. Lima", entity_type="person")["entity_id"]
    for entity in (source, target):
        ana.told(
            "store_fact",
            subject="Ben",
            predicate="trust",
            content="little",
            entity_id=entity,
            scope=ana.scope,
        )
        ana.told("store_rule", content=f"Doubt {entity}", scope=ana.scope)
        ana.told("store_episode", butler=ana.scope, content="Ben was late.")
    ben.told("store_fact", subject="Ben", predicate="home", content="Oslo", entity_id=source, scope=ben.scope)
    after = [ben.told("run_episode_cleanup", max_entries=0), ben.told("knowledge_stats")]
    after[1]["facts"]["active"] -= 1
    for told in (before[1], after[1]):
        told["episodes"].pop("backlog_age_hours")  # what is of all grows older meanwhile
    assert after[1] == before[1]
    assert after[0] == {"expired_deleted": 0, "capacity_deleted": 0, "remaining": before[0]["remaining"]}
    merged = program.told("merge_entities", source_entity_id=source, target_entity_id=target)
    assert (merged["facts_repointed"], merged["facts_superseded"]) == (0, 0)
    (own,) = [one for one in ben.told("list_facts", entity_id=target)["items"] if one["scope"] == ben.scope]
    assert own["predicate"] == "home"
    (kept,) = [
        one for one in ana.told("list_facts", entity_id=target)["items"] if one["predicate"] == "trust"
    ]
    assert kept["scope"] == ana.scope
