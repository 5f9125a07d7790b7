"""What is in the scope of a user is that user's alone: whatever another asks for, nothing of it comes or goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from elf.core.api_key import new_key
from tests.families.fronts import Fronts, Reply
from tests.folders import fresh_folder
from tests.issuer import Issuer, SigningKey
from tests.keys_kit import with_keys
from tests.system.service import RunningService, wait_for, write_config

TOKENS: Final = """
[security.auth.jwt]
issuer = "{issuer}"
jwks_file = "jwks.json"
algorithms = ["ES256"]
"""
KINDS: Final = ("fact", "rule", "episode")
PROGRAM: Final = "a program"  # calls with a key, for no user


@dataclass
class Somebody:
    """A caller, and what it knows for itself: everything of it holds the word, which nothing else does."""

    name: str
    fronts: Fronts
    word: str = field(default_factory=lambda: f"w{uuid4().hex[:12]}")
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def scope(self) -> str:
        return f"user:{self.name}"

    def ask(self, operation: str, /, **fields: Any) -> Reply:
        return self.fronts.public.ask(operation, {"tenant_id": "default", **fields})

    def told(self, operation: str, /, **fields: Any) -> Any:
        reply = self.ask(operation, **fields)
        assert reply.ok, reply.text
        return reply.body

    def settle(self, shared: Mapping[str, str]) -> None:
        """Store, link, search, forget and mark in one's own scope; `shared` are a rule and an entity of the tenant."""
        own, said = {"scope": self.scope}, {"subject": "Ana", "predicate": "seat"}
        store = {
            "past": ("store_fact", {**own, **said, "content": f"by the window {self.word}"}),
            "fact": ("store_fact", {**own, **said, "content": f"on the aisle {self.word}"}),
            "wrong": ("store_fact", {**own, **said, "predicate": "meal", "content": f"fish {self.word}"}),
            "known": (
                "store_fact",
                {**own, **said, "predicate": self.word, "content": "Oslo", "entity_id": shared["entity"]},
            ),
            "rule": ("store_rule", {**own, "content": f"Ask about {self.word} first"}),
            "harmful": ("store_rule", {**own, "content": f"Book {self.word} at once"}),
            "episode": ("store_episode", {"butler": self.scope, "content": f"{self.word} lives in Oslo."}),
            "gone": ("store_episode", {"butler": self.scope, "content": f"{self.word} was there."}),
        }
        for key, (name, fields) in store.items():
            self.ids[key] = self.told(name, **fields)["id"]
        self.told("forget_memory", memory_type="fact", memory_id=self.ids["wrong"])
        self.told("mark_harmful", rule_id=self.ids["harmful"], reason=self.word)
        self.told("forget_memory", memory_type="episode", memory_id=self.ids["gone"])
        self.told("run_episode_cleanup")
        for source, target in ((shared["rule"], self.ids["fact"]), (shared["rule"], self.ids["episode"])):
            kind = "fact" if target == self.ids["fact"] else "episode"
            link = {"source_type": "rule", "source_id": source, "target_type": kind, "target_id": target}
            self.told("create_link", **link, relation="supports")
        found = self.told("search_knowledge", query=f"aisle {self.word}", types=["fact"], scope=self.scope)
        self.ids["trace"] = found["trace_id"]
        self.ids["handle"] = found["items"][0]["result_handle"]
        explained = {"result_handle": self.ids["handle"]}
        wait_for(lambda: self.ask("explain_result", **explained).ok, "the search is traced")

    def state(self) -> list[Any]:
        """What one has, but for what reading changes."""
        passing = {"reference_count", "last_referenced_at", "effective_confidence"}
        asked = [
            ("list_facts", {"validity": one}) for one in ("active", "superseded", "expired", "retracted")
        ]
        asked += [("list_rules", {"forgotten": one}) for one in ("false", "true")]  # type: ignore[dict-item]
        pages = [self.told(name, scope=self.scope, **where)["items"] for name, where in asked]
        pages.append(self.told("list_episodes", butler=self.scope)["items"])
        return [
            [{key: value for key, value in item.items() if key not in passing} for item in page]
            for page in pages
        ]


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


def by_id(owner: Somebody) -> list[tuple[str, dict[str, Any]]]:
    """The requests that name what is an owner's by an id; that of what is gone is no longer anybody's."""
    ids = owner.ids
    memories = [(kind, ids[kind]) for kind in KINDS] + [("fact", ids["past"]), ("fact", ids["wrong"])]
    asked = [
        (name, {"memory_type": kind, "memory_id": id})
        for kind, id in memories
        for name in ("get_memory", "memory_history", "memory_links", "confirm_memory", "forget_memory")
        if (name, kind) != ("confirm_memory", "episode")  # which is refused whosever it is
    ]
    asked += [(name, {"rule_id": ids["rule"]}) for name in ("mark_helpful", "mark_harmful")]
    asked.append(("explain_result", {"result_handle": ids["handle"]}))
    return asked


def by_reference(owner: Somebody, shared: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """The requests that would lead from or to what is an owner's."""
    ids = owner.ids
    rule, fact = ("rule", shared["rule"]), ("fact", ids["fact"])
    return [
        (
            "create_link",
            {
                "source_type": source[0], "source_id": source[1], "target_type": target[0], "target_id": target[1],
                "relation": "related_to",
            },
        )
        for source, target in ((rule, fact), (fact, rule), (("episode", ids["episode"]), rule))
    ] + [
        ("store_fact", {"subject": "A", "predicate": "b", "content": "c", "source_episode_id": ids["episode"]}),
        ("store_rule", {"content": "c", "source_episode_id": ids["episode"]}),
    ]  # fmt: skip


def by_scope(owner: Somebody) -> list[tuple[str, dict[str, Any]]]:
    """The requests that name an owner's scope."""
    scope = {"scope": owner.scope}
    fact = {"subject": "Ana", "predicate": "seat", "content": "anywhere"}
    return [
        ("search_knowledge", {"query": owner.word, **scope}),
        ("recall", {"topic": owner.word, **scope}),
        ("memory_context", {"trigger_prompt": owner.word, "butler": owner.scope}),
        ("list_facts", scope),
        ("list_rules", scope),
        ("list_episodes", {"butler": owner.scope}),
        ("knowledge_stats", scope),
        ("store_fact", {**fact, **scope}),
        ("store_facts", {"items": [{**fact, **scope}]}),
        ("store_rule", {"content": "Ask", **scope}),
        ("store_rules", {"items": [{"content": "Ask", **scope}]}),
        ("store_episode", {"content": "c", "butler": owner.scope}),
        ("store_episodes", {"items": [{"content": "c", "butler": owner.scope}]}),
    ]


def by_words(owner: Somebody, shared: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """The requests that could come upon what is an owner's."""
    said = f"on the aisle {owner.word}"
    hints = {"topic": f"{owner.word} Oslo", "mentioned_with": [owner.word]}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("knowledge_traces", {"limit": 200}),  # first: one's own hold the words that one was after
    ]
    asked += [
        ("search_knowledge", {"query": said, "mode": mode, "limit": 100, "min_confidence": 0})
        for mode in ("semantic", "keyword", "hybrid")
    ]
    asked += [("recall", {"topic": said, "limit": 100, "min_confidence": 0})]
    asked += [
        ("memory_context", {"trigger_prompt": said, "butler": butler}) for butler in ("global", "travel")
    ]
    asked += [("list_facts", {"validity": one}) for one in ("active", "superseded", "expired", "retracted")]
    asked += [("list_facts", {"subject": "Ana"}), ("list_facts", {"entity_id": shared["entity"]})]
    asked += [
        ("list_facts", {"predicate": owner.word}),
        ("list_rules", {}),
        ("list_rules", {"forgotten": "true"}),
    ]
    asked += [("list_episodes", {}), ("list_entities", {})]
    asked += [("list_events", {"limit": 200})]
    asked += [("list_events", {"memory_id": id}) for id in owner.ids.values()]
    asked += [
        (name, {"memory_type": "rule", "memory_id": shared["rule"]})
        for name in ("memory_history", "memory_links")
    ]
    asked += [("get_entity", {"entity_id": shared["entity"]})]
    asked += [("resolve_entity", {"name": "ana lima", "context_hints": hints})]
    asked += [("run_consolidation", {}), ("run_episode_cleanup", {})]
    return asked


def leaked(owner: Somebody, reply: Reply, said: Mapping[str, Any]) -> list[str]:
    """Return what of an owner's stands in an answer; what was said in the request is no secret there."""
    return [
        secret
        for secret in (owner.word, *owner.ids.values())
        if secret in reply.text and secret not in str(said)
    ]


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
            if operation == "resolve_entity":
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


def test_counts_do_not_tell_of_another_user(house: House) -> None:
    ana, ben = house.people["ana"], house.people["ben"]
    before = [ben.told("run_episode_cleanup", max_entries=0), ben.told("knowledge_stats")]
    target = ben.told("create_entity", canonical_name="Ben Lima", entity_type="person")["entity_id"]
    source = ben.told("create_entity", canonical_name="B. Lima", entity_type="person")["entity_id"]
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
    assert after[1] == before[1]
    assert after[0] == {"expired_deleted": 0, "capacity_deleted": 0, "remaining": before[0]["remaining"]}
    merged = ben.told("merge_entities", source_entity_id=source, target_entity_id=target)
    assert (merged["facts_repointed"], merged["facts_superseded"]) == (1, 0)
    (kept,) = [
        one for one in ana.told("list_facts", entity_id=target)["items"] if one["predicate"] == "trust"
    ]
    assert kept["scope"] == ana.scope
