"""Somebody who knows something alone, and every request by which another could come upon it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from tests.families.fronts import Fronts, Reply
from tests.system.service import wait_for

KINDS: Final = ("fact", "rule", "episode")
TOOL: Final = "knowledge "  # before the name of a tool


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
        (front,) = self.fronts.offering(operation)
        return front.ask(operation, {"tenant_id": "default", **fields})

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
    asked += [(f"{TOOL}memory_get", {"memory_type": kind, "memory_id": id}) for kind, id in memories]
    asked += [
        (f"{TOOL}memory_{what}", {"memory_type": "fact", "memory_id": ids["fact"]})
        for what in ("confirm", "forget")
    ]
    asked += [
        (f"{of}{name}", {"rule_id": ids["rule"]})
        for of in ("", f"{TOOL}memory_")
        for name in ("mark_helpful", "mark_harmful")
    ]
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
        (f"{TOOL}memory_search", {"query": owner.word, **scope}),
        (f"{TOOL}memory_recall", {"topic": owner.word, **scope}),
        (f"{TOOL}memory_context", {"trigger_prompt": owner.word, "butler": owner.scope}),
        (f"{TOOL}memory_stats", scope),
        (f"{TOOL}memory_store_fact", {**fact, **scope}),
        (f"{TOOL}memory_store_rule", {"content": "Ask", **scope}),
        (f"{TOOL}memory_store_episode", {"content": "c", "butler": owner.scope}),
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
    asked += [
        (f"{TOOL}memory_search", {"query": said, "limit": 100}),
        (f"{TOOL}memory_recall", {"topic": said}),
    ]
    asked += [(f"{TOOL}entity_resolve", {"name": "ana lima", "context_hints": hints})]
    asked += [("run_consolidation", {}), ("run_episode_cleanup", {})]
    return asked


def leaked(owner: Somebody, reply: Reply, said: Mapping[str, Any]) -> list[str]:
    """Return what of an owner's stands in an answer; what was said in the request is no secret there."""
    return [
        secret
        for secret in (owner.word, *owner.ids.values())
        if secret in reply.text and secret not in str(said)
    ]
