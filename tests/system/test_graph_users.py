"""Users of one tenant who use the memory of one orchestrator: what one of them writes is not there for the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from elf.client import Client
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
project = "{{user}}"
"""
LISTED: Final = {"status": "all", "limit": 200}
TOOL: Final = "tool "
ALL_TIME: Final = {"top_k_vector": 1000, "top_k_text": 1000, "top_n": 100}


@dataclass(frozen=True)
class Somebody:
    """A caller, and how its requests say who it is. `cleo` is a user of an app whose key acts for users."""

    name: str
    fronts: Fronts
    headers: Mapping[str, str]

    def ask(self, operation: str, /, **fields: Any) -> Reply:
        """Ask for an operation or, where its name begins with `tool`, call a tool."""
        name = operation.removeprefix(TOOL)
        front = self.fronts.offering(name)[-1 if operation.startswith(TOOL) else 0]
        return front.ask(name, {"tenant_id": "default", **fields}, headers=self.headers)

    def talk(self) -> str:
        """Begin a conversation, and return its id."""
        created = self.fronts.public.ask("create_conversation", {"title": "Talk"}, headers=self.headers)
        assert created.ok, created.text
        return str(created.body["id"])


@dataclass(frozen=True)
class House:
    """A service with users, an orchestrator that calls for none, and an operator."""

    people: Mapping[str, Somebody]
    service: RunningService


@dataclass
class Memory:
    """The memory of an orchestrator: everybody may ask for it, and `planner` has `office` and `rule` in it."""

    people: Mapping[str, Somebody]
    orchestrator_id: str = field(default_factory=lambda: f"o{uuid4().hex[:12]}")

    def ask(self, who: str, operation: str, /, **fields: Any) -> Reply:
        return self.people[who].ask(operation, orchestrator_id=self.orchestrator_id, **fields)

    def told(self, who: str, operation: str, /, **fields: Any) -> Any:
        reply = self.ask(who, operation, **fields)
        assert reply.ok, reply.text
        return reply.body

    def write(self, who: str, *memories: Mapping[str, Any], **more: Any) -> Any:
        return self.told(who, "graph_write_memories", memories=list(memories), **more)

    def seen(self, who: str) -> dict[str, str]:
        """What of the memory is listed: the contents by their ids."""
        listed = self.told(who, "graph_list_memories", **LISTED)["items"]
        return {one["memoryId"]: one["content"] for one in listed}

    def share(self, memory_id: str, *, shared: bool = True) -> Any:
        return self.told("operator", "graph_share", memory_id=memory_id, shared=shared)["memory"]

    def across(self, who: str, operation: str, /, **fields: Any) -> Reply:
        """Ask over all families, about the agent of this orchestrator's name."""
        agent = {"agent_id": self.orchestrator_id}
        reply = self.people[who].ask(operation, **agent, **fields)
        assert reply.ok or reply.status == 404, reply.text
        return reply


@pytest.fixture(scope="module")
def house(model_folder: Path) -> Iterator[House]:
    issuer, planner, app, operator = Issuer(SigningKey("one", "ES256")), new_key(), new_key(), new_key()
    headers = {name: {"Authorization": f"Bearer {issuer.token(name)}"} for name in ("ana", "ben")}
    headers["cleo"] = {"X-API-Key": app, "X-User-ID": "cleo"}
    headers["planner"] = {"X-API-Key": planner}
    headers["operator"] = {"X-API-Key": operator}
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        (folder / "jwks.json").write_bytes(issuer.jwks())
        bound = {"tenant_id": "default"}
        keys = with_keys(
            config.read_text(),
            {"key": planner, **bound},
            {"key": app, "acts_for_users": True, **bound},
            {"key": operator, "role": "admin", **bound},
        )
        config.write_text(keys + TOKENS.format(issuer=issuer.url))
        with (
            RunningService(config) as service,
            Fronts(
                service.url, service.admin_url, service.mcp_url, ["/mcp/graph"], headers["planner"]
            ) as fronts,
        ):
            yield House({name: Somebody(name, fronts, one) for name, one in headers.items()}, service)


@pytest.fixture
def memory(house: House) -> Memory:
    made = Memory(house.people)
    made.write(
        "planner",
        fact("office", "The office is in Lisbon."),
        fact("rule", "Ask before an order.", type="Decision"),
        edges=[link("rule", "office", edgeId="known")],
    )
    return made


def fact(memory_id: str, content: str, **other: Any) -> dict[str, Any]:
    return {
        "memoryId": memory_id, "type": "Fact", "importance": 50, "content": content, "confidence": 0.8,
        "source": {"sourceType": "manual", "capturedBy": "user"}, **other,
    }  # fmt: skip


def link(start: str, end: str, edge_type: str = "RelatedTo", **other: Any) -> dict[str, Any]:
    return {"fromMemoryId": start, "toMemoryId": end, "edgeType": edge_type, "weight": 0.5, **other}


def settled(memory: Memory, who: str) -> dict[str, str]:
    """Have a user write in each way; every content and reason of it holds `sloth`, which nothing else does."""
    said = f"sloth of {who}"
    memory.write(
        who,
        fact(f"{who}-seat", f"The seat of the {said} is on the aisle."),
        fact(f"{who}-goal", f"Visit the {said}.", type="Goal", importance=100),
        fact(f"{who}-past", f"The seat of the {said} was by the window.", status="superseded"),
        fact(f"{who}-wrong", f"The {said} is fast.", status="retracted"),
        fact(f"{who}-other", f"The seat of the {said} is by the window."),
        edges=[
            link(f"{who}-seat", "office", "PartOf", edgeId=f"{who}-edge", reason=said),
            link(f"{who}-seat", f"{who}-other", "Contradicts", edgeId=f"{who}-dispute"),
            link(f"{who}-goal", "rule", "Contradicts", edgeId=f"{who}-doubt"),
        ],
    )
    transcript = memory.told(
        who,
        "graph_write_transcript",
        message_id="m-1",
        conversation_id=f"{who}-talk",
        text=f"I saw the {said}.",
    )
    output = memory.told(
        who, "graph_write_output", workflow_run_id="r-1", step_id="s-1", outputs={"todo": f"Feed the {said}."}
    )
    finding = memory.told(
        who,
        "graph_write_diagnostics",
        finding_id="f-1",
        text=f"The {said} is slow.",
        related_memory_ids=["office"],
    )
    remembered = memory.told(who, "graph_remember", content=f"A {said} sleeps.", type="Observation")
    written = [transcript, output, finding, remembered]
    assert [one.get("status", "written") for one in written] == ["written"] * 4
    made = [one["memories"][0]["memoryId"] for one in written]
    names = ("seat", "goal", "past", "wrong", "other")
    return {name: f"{who}-{name}" for name in names} | dict(
        zip(("transcript", "output", "finding", "remembered"), made, strict=True)
    )


def reads(word: str) -> list[tuple[str, dict[str, Any]]]:
    """What tells of a memory without being told an id that a user has."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("graph_list_memories", LISTED),
        ("graph_list_memories", {"source_type": "channel_transcript"}),
        ("graph_list_contradictions", {"limit": 200}),
        ("graph_list_ingested", {}),
        ("graph_status", {}),
        ("graph_memory_edges", {"memory_id": "office"}),
        ("graph_memory_edges", {"memory_id": "rule"}),
        ("graph_memory_history", {"memory_id": "office"}),
    ]
    for query in (f"Where is the seat of the {word}?", "office", "What is to be done?"):
        asked += [
            (
                "graph_recall",
                {"query": query, "statuses": ["active", "superseded"], "explain": True, **ALL_TIME},
            ),
            ("graph_recall", {"query": query, "top_k_vector": 0}),
            ("tool graph_recall", {"query": query}),
            ("graph_context", {"purpose": "diagnostics", "prompt": query}),
            ("graph_context", {"purpose": "step", "message_id": "m-1", "message": query, "prompt": query}),
            ("graph_context", {"purpose": "selector", "message_id": f"m-{len(query)}", "message": query}),
            ("graph_bulletin", {"message_id": "m-1", "message": query}),
        ]
    return asked


def steady(text: str) -> str:
    """An answer without what passes with time: when a bulletin was made, and how old a memory is."""
    passing = {"generatedAt", "finalScore", "recencyFactor", "vectors_to_make"}

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key not in passing}
        return [without(one) for one in value] if isinstance(value, list) else value

    return json.dumps(without(json.loads(text)), sort_keys=True)


@pytest.mark.parametrize("owner", ["ana", "cleo"])
def test_what_a_user_writes_is_in_no_answer_to_another(memory: Memory, owner: str) -> None:
    fresh = Memory(memory.people)
    fresh.write(
        "planner", fact("office", "The office is in Lisbon."), fact("rule", "Ask before an order.", type="Decision"),
        edges=[link("rule", "office", edgeId="known")],
    )  # fmt: skip
    ids = settled(memory, owner)
    assert [outcome for outcome in memory.seen(owner) if outcome in ids.values()]
    for operation, fields in reads(f"sloth of {owner}"):
        reply, nothing = memory.ask("ben", operation, **fields), fresh.ask("ben", operation, **fields)
        assert reply.ok, (operation, reply.text)
        assert "sloth" not in reply.text, (operation, fields)
        assert not [id for id in (*ids.values(), owner, f"{owner}-edge") if f'"{id}"' in reply.text], (
            operation
        )
        if operation not in ("graph_list_memories", "graph_memory_history", "graph_recall"):
            told = reply.text.replace(memory.orchestrator_id, fresh.orchestrator_id)
            assert steady(told).count("memoryId") == steady(nothing.text).count("memoryId"), operation
    (rule,) = (
        one for one in memory.told("ben", "graph_recall", query="order")["nodes"]
        if one["memory"]["memoryId"] == "rule"
    )  # fmt: skip
    assert rule["unresolvedContradiction"] is False
    assert memory.told("ben", "graph_status")["counts"]["memories"] == {"active": {"Decision": 1, "Fact": 1}}
    assert memory.told("ben", "graph_status")["counts"]["edges"] == {"RelatedTo": 1}
    assert set(memory.seen("ben")) == {"office", "rule"}


def test_the_user_finds_it_and_so_does_the_orchestrator_that_calls_for_none(memory: Memory) -> None:
    ids = settled(memory, "ana")
    for who in ("ana", "planner"):
        assert set(memory.seen(who)) == {"office", "rule", *ids.values()}
        found = memory.told(who, "graph_recall", query="seat of the sloth", **ALL_TIME)
        assert {ids["seat"], ids["other"]} <= {one["memory"]["memoryId"] for one in found["nodes"]}
        assert {"ana-edge", "ana-dispute"} <= {one["edgeId"] for one in found["edges"]}
        bulletin = memory.told(who, "graph_bulletin", message_id="m-2", message="sloth")["bulletin"]
        assert "Visit the sloth of ana." in bulletin["rendered"]
        assert len(memory.told(who, "graph_list_contradictions")["items"]) == 2
        counts = memory.told(who, "graph_status")["counts"]
        assert counts["memories"]["retracted"] == {"Fact": 1}
        assert (counts["file_bytes"] is None) == (who == "ana")
        assert memory.told(who, "graph_get_memory", memory_id=ids["seat"])["memory"]["userId"] == "ana"
    assert "userId" not in memory.told("ana", "graph_get_memory", memory_id="office")["memory"]


def test_its_ids_are_those_of_nothing(memory: Memory) -> None:
    ids = settled(memory, "ana")
    state = memory.told("planner", "graph_list_memories", **LISTED)
    for hidden, never in [*((id, f"no-{name}") for name, id in ids.items())]:
        for operation, fields in by_id(hidden):
            reply = memory.ask("ben", operation, **fields)
            nothing = memory.ask("ben", operation, **dict(by_id(never))[operation])
            assert (operation, reply.status, nothing.status) == (operation, 404, 404)
            assert (
                reply.text.replace(hidden, never).split("request_id")[0]
                == nothing.text.split("request_id")[0]
            )
    for edge_id in ("ana-dispute", "ana-doubt", "never"):
        for operation in ("graph_resolve_contradiction", "graph_resolve"):
            assert memory.ask("ben", operation, edge_id=edge_id, both_true=True, reason="so").status == 404
    assert memory.told("planner", "graph_list_memories", **LISTED) == state


def by_id(memory_id: str) -> list[tuple[str, dict[str, Any]]]:
    one = {"memory_id": memory_id}
    return [
        ("graph_get_memory", one),
        ("graph_memory_history", one),
        ("graph_memory_edges", one),
        ("graph_update_memory", {**one, "content": "It is mine."}),
        ("graph_supersede_memory", {**one, "by_memory_id": "office"}),
        ("graph_retract_memory", one),
        ("graph_restore_memory", one),
        ("graph_write_edges", {"edges": [link("office", memory_id)]}),
        (
            "graph_remember",
            {
                "content": "It rains.",
                "type": "Fact",
                "links": [{"to_memory_id": memory_id, "edge_type": "PartOf"}],
            },
        ),
        (
            "graph_write_diagnostics",
            {"finding_id": "f-9", "text": "It rains.", "related_memory_ids": [memory_id]},
        ),
    ]


def test_two_users_say_different_things_of_one_matter_under_the_same_ids(memory: Memory) -> None:
    for who, city in (("ana", "Lisbon"), ("ben", "Porto"), ("cleo", "Braga")):
        written = memory.write(
            who, fact("home", f"My city is {city}.", type="Identity"), fact("home-2", "It rains."),
            edges=[link("home", "home-2", edgeId="home-edge")],
        )  # fmt: skip
        assert [one["outcome"] for one in written["memories"]] == ["ADD", "ADD"]
        assert (written["edges"][0]["outcome"], written["contradictions"]) == ("ADD", [])
        message = {"message_id": "m-1", "conversation_id": "c-1", "text": f"I live in {city}."}
        assert memory.told(who, "graph_write_transcript", **message)["status"] == "written"
        assert memory.told(who, "graph_write_transcript", **message)["status"] == "duplicate"
    for who, city in (("ana", "Lisbon"), ("ben", "Porto"), ("cleo", "Braga")):
        assert (
            memory.told(who, "graph_get_memory", memory_id="home")["memory"]["content"]
            == f"My city is {city}."
        )
        edges = memory.told(who, "graph_memory_edges", memory_id="home")["items"]
        assert len(edges) == 1
        updated = memory.told(who, "graph_update_memory", memory_id="home", importance=90)["memories"]
        assert updated[0]["content"] == f"My city is {city}."
        again = memory.write(who, fact("home", f"My city is {city} still.", type="Identity"))
        assert [one["outcome"] for one in again["memories"]] == ["UPDATE"]
        assert sum("city" in content for content in memory.seen(who).values()) == 1
        assert {content for content in memory.seen(who).values() if "live" in content} == {
            f"I live in {city}."
        }
    assert sum("My city" in content for content in memory.seen("planner").values()) == 3
    assert memory.told("planner", "graph_list_contradictions")["items"] == []


def test_a_users_call_does_not_change_what_is_everybodys(memory: Memory) -> None:
    memory.write(
        "planner",
        fact("shop", "The shop is in Faro."),
        edges=[link("shop", "office", "Contradicts", edgeId="c")],
    )
    settled(memory, "ana")
    before = memory.told("planner", "graph_list_memories", **LISTED)
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("graph_update_memory", {"memory_id": "office", "content": "It is mine."}, "$.memory_id"),
        ("graph_supersede_memory", {"memory_id": "office", "by_memory_id": "ana-seat"}, "$.memory_id"),
        (
            "graph_supersede_memory",
            {"memory_id": "office", "memory": fact("x", "It is mine.")},
            "$.memory_id",
        ),
        ("graph_retract_memory", {"memory_id": "office"}, "$.memory_id"),
        ("graph_restore_memory", {"memory_id": "office"}, "$.memory_id"),
        (
            "graph_write_memories",
            {"memories": [fact("n", "New."), fact("office", "Mine.")]},
            "$.memories[1].memoryId",
        ),
        ("graph_remember", {"content": "Mine.", "type": "Fact", "memory_id": "office"}, "$.memory_id"),
        (
            "graph_write_edges",
            {"edges": [link("rule", "office", reason="I say so")]},
            "$.edges[0].fromMemoryId",
        ),
        ("graph_resolve_contradiction", {"edge_id": "c", "both_true": True, "reason": "so"}, "$.edge_id"),
        ("graph_resolve", {"edge_id": "ana-doubt", "keep": "FROM", "reason": "so"}, "$.edge_id"),
        ("graph_resolve", {"edge_id": "ana-doubt", "retract": "BOTH", "reason": "so"}, "$.edge_id"),
    ]
    for operation, fields, path in refused:
        reply = memory.ask("ana", operation, **fields)
        assert (operation, reply.status, reply.body["error_code"]) == (operation, 403, "FORBIDDEN")
        assert reply.body["fields"] == [path]
    assert memory.told("planner", "graph_list_memories", **LISTED) == before
    assert memory.told("ana", "graph_resolve", edge_id="ana-doubt", both_true=True, reason="so")["edges"]
    assert memory.told("ana", "graph_supersede_memory", memory_id="ana-seat", by_memory_id="office")["edges"]
    assert (
        memory.told("ana", "graph_retract_memory", memory_id="ana-goal")["memories"][0]["status"]
        == "retracted"
    )
    assert (
        memory.told("ana", "graph_restore_memory", memory_id="ana-wrong")["memories"][0]["status"] == "active"
    )


def test_an_operator_shares_a_memory_and_takes_that_back(memory: Memory) -> None:
    ids = settled(memory, "ana")
    memory.told(
        "ana",
        "graph_update_memory",
        memory_id=ids["seat"],
        content="The seat of the sloth is 3A.",
        reason="sloth",
    )
    bulletin = {"message_id": "m-7", "message": "seat"}
    assert "sloth" not in memory.ask("ben", "graph_bulletin", **bulletin).text
    assert memory.ask("ben", "graph_share", memory_id=ids["seat"], shared=True).status == 403
    shared = memory.share(ids["seat"])
    assert (shared["userId"], shared["shared"]) == ("ana", True)
    got = memory.told("ben", "graph_get_memory", memory_id=ids["seat"])["memory"]
    assert (got["content"], got.get("userId"), got["shared"]) == ("The seat of the sloth is 3A.", None, True)
    found = memory.told("ben", "graph_recall", query="seat of the sloth")
    assert [one["memory"]["memoryId"] for one in found["nodes"] if "sloth" in one["memory"]["content"]] == [
        ids["seat"]
    ]
    assert [one["edgeId"] for one in found["edges"] if "ana" in one["edgeId"]] == []
    (version,) = memory.told("ben", "graph_memory_history", memory_id=ids["seat"])["items"]
    assert (version["reason"], version["actor"]) == (None, None)
    assert memory.told("ben", "graph_memory_edges", memory_id=ids["seat"])["items"] == []
    after = {"message_id": "m-8", "message": "seat"}
    assert "sloth" in memory.ask("ben", "graph_bulletin", **after).text
    for operation in ("graph_retract_memory", "graph_restore_memory", "graph_update_memory"):
        assert memory.ask("ben", operation, memory_id=ids["seat"]).status == 403
    assert memory.ask("ben", "graph_write_edges", edges=[link("office", ids["seat"])]).status == 403

    assert memory.share(ids["seat"], shared=False).get("shared", False) is False
    assert memory.ask("ben", "graph_get_memory", memory_id=ids["seat"]).status == 404
    assert "sloth" not in memory.ask("ben", "graph_bulletin", **after).text
    assert "sloth" not in memory.ask("ben", "graph_recall", query="seat of the sloth").text
    assert memory.told("ana", "graph_get_memory", memory_id=ids["seat"])["memory"]["userId"] == "ana"
    assert memory.ask("operator", "graph_share", memory_id="none", shared=True).status == 404


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("graph_update_memory", {"content": "Unseen."}),
        ("graph_retract_memory", {"reason": "Unseen."}),
        ("graph_write_memories", {"memories": [fact("mine", "Unseen.")]}),
    ],
)
def test_what_the_owner_changes_of_a_shared_memory_is_shared_no_longer(
    memory: Memory, operation: str, fields: dict[str, Any]
) -> None:
    memory.write("ana", fact("mine", "The sloth sleeps."))
    memory.share("mine")
    memory.write("ana", fact("mine", "The sloth sleeps."))
    assert memory.ask("ben", "graph_get_memory", memory_id="mine").ok, "nothing is different"
    memory.told("ana", operation, **({} if "memories" in fields else {"memory_id": "mine"}), **fields)
    assert memory.ask("ben", "graph_get_memory", memory_id="mine").status == 404
    assert "Unseen" not in memory.ask("ben", "graph_list_memories", **LISTED).text


def test_what_is_from_a_conversation_is_its_owners(memory: Memory, house: House) -> None:
    talk = house.people["ana"].talk()
    for text, fields in (
        ("It rains on ana.", {"message_id": "m-1"}),
        ("It snows on ana.", {"message_id": "m-2"}),
    ):
        memory.told("planner", "graph_write_transcript", conversation_id=talk, text=text, **fields)
    source = {"sourceType": "manual", "capturedBy": "system", "conversationId": talk}
    memory.write("planner", fact("seat", "ana sits in 3A.", source=source))
    memory.told(
        "planner",
        "graph_write_transcript",
        conversation_id="nobody-knows",
        message_id="m-3",
        text="It hails on ana.",
    )
    told = {text for text in memory.seen("ana").values() if "ana" in text}
    assert told == {"It rains on ana.", "It snows on ana.", "ana sits in 3A."}
    assert [text for text in memory.seen("ben").values() if "ana" in text] == []
    assert len([text for text in memory.seen("planner").values() if "ana" in text]) == 4
    assert memory.ask("ben", "graph_retract_memory", memory_id="seat").status == 404
    assert memory.ask("ben", "graph_list_memories", conversation_id="nobody-knows").body["items"] == []
    memory.told(
        "planner", "graph_update_memory", memory_id="office", source=source, content="ana is in Lisbon."
    )
    assert memory.ask("ben", "graph_get_memory", memory_id="office").status == 404
    history = memory.told("ana", "graph_memory_history", memory_id="office")["items"]
    assert [one["memory"]["content"] for one in history] == ["The office is in Lisbon.", "ana is in Lisbon."]


def test_over_all_families_too_a_user_is_told_of_the_users_own_and_of_what_is_shared(
    memory: Memory, house: House
) -> None:
    talk = house.people["ana"].talk()
    memory.told(
        "planner", "graph_write_transcript", conversation_id=talk, message_id="m-1", text="ana saw the sloth."
    )
    memory.write("ana", fact("mine", "The sloth of ana sleeps."))
    kind = {"family": "graph", "kind": memory.orchestrator_id}

    def recalled(who: str) -> set[str]:
        asked = {"query": "sloth", "families": ["graph"]}
        return {one["text"] for one in memory.across(who, "recall_memories", **asked).body["items"]}

    def contextual(who: str) -> str:
        return memory.across(who, "context_of_memory", query="sloth", families=["graph"]).text

    assert recalled("ana") == {"ana saw the sloth.", "The sloth of ana sleeps."}
    assert (recalled("ben"), "sloth sleeps" in contextual("ben"), "ana" in contextual("ben")) == (
        set(),
        False,
        False,
    )
    assert "sleeps" in contextual("ana")
    assert memory.across("ben", "read_item", id="mine", **kind).status == 404
    forget = {"items": [{**kind, "id": "mine"}]}
    assert memory.across("ben", "forget_memories", **forget).body["items"][0]["outcome"] == "not_found"
    memory.share("mine")
    assert recalled("ben") == {"The sloth of ana sleeps."}
    assert "sleeps" in contextual("ben")
    assert memory.across("ben", "read_item", id="mine", **kind).ok
    assert memory.across("ben", "forget_memories", **forget).body["items"][0]["outcome"] == "refused"
    memory.share("mine", shared=False)
    assert recalled("ben") == set()
    assert memory.across("ana", "forget_memories", **forget).body["items"][0]["outcome"] == "forgotten"
    assert recalled("ana") == {"ana saw the sloth."}


def test_each_user_has_a_bulletin_of_a_message(memory: Memory) -> None:
    settled(memory, "ana")
    asked = {"message_id": "m-1", "message": "sloth"}
    first = memory.told("planner", "graph_bulletin", **asked)["bulletin"]
    anas = memory.told("ana", "graph_bulletin", **asked)["bulletin"]
    bens = memory.told("ben", "graph_bulletin", **asked)["bulletin"]
    assert ("sloth" in first["rendered"], "sloth" in anas["rendered"], "sloth" in bens["rendered"]) == (
        True,
        True,
        False,
    )
    for who, known in (("planner", first), ("ana", anas), ("ben", bens)):
        assert memory.told(who, "graph_bulletin", **asked)["bulletin"] == known


def test_a_dropped_file_with_what_is_anothers_is_not_listed_for_a_user(memory: Memory, house: House) -> None:
    talk = house.people["ana"].talk()
    folder = (
        house.service.config.parent
        / ".elf"
        / "graph"
        / "default"
        / memory.orchestrator_id
        / "memory"
        / "ingest"
    )
    source = {"sourceType": "ingest_file", "capturedBy": "extractor", "conversationId": talk}
    told = fact("dropped", "The sloth of ana.", source=source, summary="Sloth", status="active")
    (folder / "talk.json").write_text(json.dumps({"memories": [told], "edges": []}))
    (folder / "all.md").write_text("The sky is blue.\n")
    ended: set[str] = set()
    while len(ended) < 2:
        ended |= {Path(one["sourcePath"]).name for one in memory.told("planner", "graph_ingest_now")["files"]}
    for who, names in (
        ("planner", {"talk.json", "all.md"}),
        ("ana", {"talk.json", "all.md"}),
        ("ben", {"all.md"}),
    ):
        listed = memory.told(who, "graph_list_ingested", limit=1)
        items = listed["items"]
        while listed["next_cursor"]:
            listed = memory.told(who, "graph_list_ingested", limit=1, cursor=listed["next_cursor"])
            items += listed["items"]
        assert {Path(one["sourcePath"]).name for one in items} == names
    assert memory.ask("ben", "graph_get_memory", memory_id="dropped").status == 404
    assert memory.ask("ana", "graph_get_memory", memory_id="dropped").ok


def test_a_user_is_erased_and_taken_along_alone(memory: Memory, house: House) -> None:
    settled(memory, "ana")
    settled(memory, "ben")
    memory.share("ana-seat")
    mine = {one for one in memory.seen("ana") if one not in ("office", "rule")}
    bens = memory.seen("ben").keys() - {"ana-seat"}
    lines = exported(house, user_id="ana")
    of_here = [one["item"] for one in lines if one["item"]["orchestrator_id"] == memory.orchestrator_id]
    taken = {one["memory"]["memoryId"]: one["memory"] for one in of_here if "memory" in one}
    assert taken.keys() == mine
    assert {one["userId"] for one in taken.values()} == {"ana"}
    assert taken["ana-seat"]["shared"] is True
    assert "ben" not in json.dumps(of_here)
    erased = house.people["operator"].ask("erase_memory", user_id="ana")
    assert erased.body["erased"]["graph"]["memories"] >= len(mine)
    assert memory.seen("planner").keys() == bens | {"office", "rule"}
    assert memory.seen("ben").keys() == bens
    reply = house.people["operator"].ask("import_memory", items=lines)
    assert reply.ok, reply.text
    assert memory.seen("ben").keys() == bens | {"ana-seat"}
    assert mine <= memory.seen("ana").keys()
    house.people["operator"].ask("erase_memory", user_id="ana")


def test_an_owner_that_comes_to_be_known_is_told(model_folder: Path) -> None:
    """Where nobody proves who it is, who names a user is one, and the user of the machine is told of everything."""
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"')) as service,
    ):
        talk = str(uuid4())

        def graph(token: str | None = None) -> Client:
            return Client(service.url, tenant_id="default", agent_id="planner", token=token)

        with graph() as machine:
            machine.graph.write_transcript("m-1", talk, "It rains on ana.")
        with graph("ana") as ana:
            assert [*ana.graph.list()] == []
            ana.conversations.append(talk, [{"role": "USER", "text": "It rains."}])
        service.stop()
        service.start()
        with graph("ana") as ana, graph("ben") as ben, graph() as machine:
            wait_for(lambda: [*ana.graph.list()], "the owner is known")
            (memory,) = ana.graph.list()
            assert (memory.content, memory.user_id) == ("It rains on ana.", "ana")
            assert [one.memory.user_id for one in ana.graph.history(memory.memory_id)] == ["ana"]
            assert [*ben.graph.list()] == []
            assert [one.content for one in machine.graph.list()] == ["It rains on ana."]


def exported(house: House, **whose: Any) -> list[Any]:
    """Return the lines of the graph of an export."""
    params = {"tenant_id": "default", **whose}
    with httpx.stream(
        "GET",
        f"{house.service.admin_url}/v1/admin/export",
        params=params,
        headers=dict(house.people["operator"].headers),
    ) as answer:
        assert answer.status_code == 200
        lines = [
            json.loads(line.removeprefix("data: "))
            for line in answer.iter_lines()
            if line.startswith("data: ")
        ]
    return [one for one in lines if one.get("family") == "graph"]
