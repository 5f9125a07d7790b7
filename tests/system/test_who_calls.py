"""Two callers of one tenant: whatever one asks for, by HTTP or as a tool, it gets nothing that is the other's alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import grpc
import pytest

from elf.core.api_key import hash_of, new_key
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc import memory_service_pb2_grpc as rpc
from tests.families.fronts import Fronts, Reply
from tests.folders import fresh_folder
from tests.issuer import Issuer, SigningKey
from tests.keys_kit import without_auth
from tests.system.service import RunningService, note, wait_for, write_config

AUTH = """
[security.auth]
mode = "required"

[security.auth.jwt]
issuer = "{issuer}"
jwks_file = "jwks.json"
algorithms = ["ES256"]
project = "{{user}}"
"""
KEY = """
[[security.auth.keys]]
name = "program-{agent}"
hash = "{hash}"
tenant_id = "default"
project_id = "team"
agent_id = "{agent}"
"""
PRIVATE, SHARED = "agent_private", "project_shared"
NAMES = ("tenant_id", "project_id", "agent_id")


@dataclass
class Kept:
    """What somebody has after writing and searching; `words` are of its notes and queries, and of nothing else."""

    words: dict[str, str]
    notes: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    trace: str = ""
    handles: dict[str, str] = field(default_factory=dict)
    cursors: dict[str, str] = field(default_factory=dict)


class Somebody:
    """A caller with the fields that it has to say with every request, and the place that it gets to by them."""

    def __init__(self, fronts: Fronts, said: Mapping[str, str], place: Mapping[str, str]) -> None:
        self.fronts = fronts
        self.said = dict(said)
        self.place = dict(place)
        self.kept = Kept({name: f"{name}{uuid4().hex[:10]}" for name in ("private", "shared", "query")})

    def ask(self, name: str, **fields: Any) -> Reply:
        return self.fronts.public.ask(name, {**self.said, **fields})

    def told(self, name: str, **fields: Any) -> Any:
        reply = self.ask(name, **fields)
        assert reply.ok, reply.text
        return reply.body

    def settle(self) -> None:
        """Write a note that nobody else reads and one that the project shares, and search for them."""
        kept = self.kept
        for kind, scope in (("private", PRIVATE), ("shared", SHARED)):
            written = note(
                f"Fact: the {kept.words[kind]} key lies under a stone.", key=f"key_{kept.words[kind]}"
            )
            (result,) = self.told("add_note", scope=scope, notes=[written])["results"]
            kept.notes[kind] = result["note_id"]
            self.told("update_note", note_id=result["note_id"], importance=0.6)
            history = self.told("note_history", note_id=result["note_id"], limit=1)
            kept.versions[kind] = history["items"][0]["version_id"]
            kept.cursors[f"versions of {kind}"] = history["next_cursor"]
        query = f"Which key lies under a stone, {kept.words['query']}?"
        found = wait_for(lambda: self._found(query), "both notes are found")
        kept.trace = found["trace_id"]
        for item in found["items"]:
            kind = next((kind for kind, note_id in kept.notes.items() if note_id == item["note_id"]), None)
            if kind is not None:
                kept.handles[kind] = item["result_handle"]
        wait_for(lambda: self.ask("search_trace", trace_id=kept.trace).ok, "the trace is stored")
        kept.cursors["notes"] = self.told("list_notes", read_profile="all_scopes", limit=1)["next_cursor"]
        self.told("search", query=query, read_profile="all_scopes")
        kept.cursors["searches"] = wait_for(
            lambda: self.told("search_traces", limit=1)["next_cursor"], "both searches are traced"
        )

    def _found(self, query: str) -> Any:
        found = self.told("search", query=query, read_profile="all_scopes")
        return found if {*self.kept.notes.values()} <= {one["note_id"] for one in found["items"]} else None

    def secrets(self, kinds: tuple[str, ...]) -> list[str]:
        """What nobody else may be told: of these kinds of notes, and of the searches."""
        kept = self.kept
        of_notes = [own[kind] for kind in kinds for own in (kept.notes, kept.versions, kept.words)]
        return [*of_notes, kept.trace, *kept.handles.values(), kept.words["query"]]

    def state(self) -> list[Any]:
        return [
            [self.told("get_note", note_id=one), self.told("note_history", note_id=one)]
            for one in self.kept.notes.values()
        ]


@dataclass(frozen=True)
class Pair:
    """Two callers, and the kinds of notes that each has for itself."""

    first: Somebody
    second: Somebody
    hidden: tuple[str, ...]

    def both_ways(self) -> list[tuple[Somebody, Somebody]]:
        return [(self.first, self.second), (self.second, self.first)]


@pytest.fixture(scope="module", params=["users", "agents"])
def pair(
    request: pytest.FixtureRequest, house: tuple[RunningService, Mapping[str, Mapping[str, str]]]
) -> Iterator[Pair]:
    """Two users, each bound to a project of its own; or the keys of two agents of one project."""
    service, headers = house
    people = []
    for name in ("ana", "bob") if request.param == "users" else ("a", "b"):
        fronts = Fronts(service.url, service.admin_url, service.mcp_url, ["/mcp"], headers[name])
        is_user = request.param == "users"
        place = {
            "tenant_id": "default",
            "project_id": name if is_user else "team",
            "agent_id": "x" if is_user else name,
        }
        people.append(Somebody(fronts, {"agent_id": "x"} if is_user else {}, place))
    with people[0].fronts, people[1].fronts:
        for one in people:
            one.settle()
        yield Pair(*people, hidden=("private", "shared") if request.param == "users" else ("private",))


@pytest.fixture(scope="module")
def house(model_folder: Path) -> Iterator[tuple[RunningService, Mapping[str, Mapping[str, str]]]]:
    """A service that asks who calls, and what proves its callers, by name."""
    issuer = Issuer(SigningKey("one", "ES256"))
    keys = {agent: new_key() for agent in ("a", "b")}
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        (folder / "jwks.json").write_bytes(issuer.jwks())
        tables = [KEY.format(agent=agent, hash=hash_of(key)) for agent, key in keys.items()]
        config.write_text(
            "".join([without_auth(config.read_text()), AUTH.format(issuer=issuer.url), *tables])
        )
        headers: dict[str, Mapping[str, str]] = {agent: {"X-API-Key": key} for agent, key in keys.items()}
        headers |= {user: {"Authorization": f"Bearer {issuer.token(user)}"} for user in ("ana", "bob")}
        with RunningService(config) as service:
            yield service, headers


def by_id(owner: Kept, own: Kept, hidden: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    """The requests for what is an owner's alone that name it by an id."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search_trace", {"trace_id": owner.trace}),
        ("memory_search_explain", {"trace_id": owner.trace}),
        *(("search_explain", {"result_handle": handle}) for handle in owner.handles.values()),
    ]
    for kind in hidden:
        note_id = {"note_id": owner.notes[kind]}
        asked += [
            (name, note_id)
            for name in ("get_note", "memory_get", "note_history", "delete_note", "restore_note")
        ]
        asked += [(name, {**note_id, "importance": 0.1}) for name in ("update_note", "memory_update")]
        asked += [("memory_delete", note_id)]
        asked += [("restore_note", {"note_id": own.notes[kind], "version_id": owner.versions[kind]})]
    return asked


def by_words(owner: Kept, hidden: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    """The requests that could come upon what is an owner's alone."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("list_notes", {"read_profile": "all_scopes"}),
        ("memory_list", {"read_profile": "all_scopes"}),
        ("search_traces", {}),
        ("find_ids", {"kind": "search", "prefix": owner.trace[:8]}),
        *(("find_ids", {"kind": "result", "prefix": handle[:8]}) for handle in owner.handles.values()),
    ]
    for kind in hidden:
        text = f"Fact: the {owner.words[kind]} key lies under a stone."
        asked += [
            ("search", {"query": text, "read_profile": "all_scopes", "top_k": 100}),
            (
                "search",
                {
                    "query": "key",
                    "read_profile": "all_scopes",
                    "filters": {"key_prefix": f"key_{owner.words[kind]}"},
                },
            ),
            ("memory_search", {"query": text, "read_profile": "all_scopes"}),
            ("find_ids", {"kind": "note", "prefix": owner.notes[kind][:8]}),
            ("find_ids", {"kind": "version", "prefix": owner.versions[kind][:8]}),
        ]
    return asked


def behind(owner: Kept, own: Kept) -> list[tuple[str, dict[str, Any]]]:
    """The requests for a page behind a cursor of an owner."""
    cursors = owner.cursors
    notes = {"read_profile": "all_scopes", "cursor": cursors["notes"]}
    return [
        ("list_notes", notes),
        ("memory_list", notes),
        ("search_traces", {"cursor": cursors["searches"]}),
        *(
            ("note_history", {"note_id": own.notes[kind], "cursor": cursors[f"versions of {kind}"]})
            for kind in own.notes
        ),
    ]


def asked_at(somebody: Somebody, name: str, fields: Mapping[str, Any]) -> Reply:
    (front,) = somebody.fronts.offering(name)
    return front.ask(name, {**somebody.said, **fields})


def leaked(reply: Reply, secrets: list[str], fields: Mapping[str, Any]) -> list[str]:
    asked = json.dumps(fields)
    return [one for one in secrets if one in reply.text and one not in asked]


def test_what_one_caller_has_does_not_exist_for_the_other(pair: Pair) -> None:
    for asker, owner in pair.both_ways():
        before = owner.state()
        secrets = owner.secrets(pair.hidden)
        unknown = Kept(
            owner.kept.words,
            notes={kind: str(uuid4()) for kind in owner.kept.notes},
            versions={kind: str(uuid4()) for kind in owner.kept.versions},
            trace=str(uuid4()),
            handles={kind: str(uuid4()) for kind in owner.kept.handles},
        )
        requests = by_id(owner.kept, asker.kept, pair.hidden)
        twins = by_id(unknown, asker.kept, pair.hidden)
        for (name, fields), (_, other) in zip(requests, twins, strict=True):
            reply, twin = asked_at(asker, name, fields), asked_at(asker, name, other)
            assert reply.status in (400, 404), (name, reply.text)
            assert leaked(reply, secrets, fields) == []
            assert _without(reply, fields) == _without(twin, other)
        assert owner.state() == before


def test_nothing_of_one_caller_is_come_upon_by_the_other(pair: Pair) -> None:
    for asker, owner in pair.both_ways():
        secrets = owner.secrets(pair.hidden)
        for name, fields in by_words(owner.kept, pair.hidden):
            reply = asked_at(asker, name, fields)
            assert reply.ok, (name, reply.text)
            assert leaked(reply, secrets, fields) == [], name


def test_a_cursor_of_one_caller_is_none_for_the_other(pair: Pair) -> None:
    for asker, owner in pair.both_ways():
        for name, fields in behind(owner.kept, asker.kept):
            reply = asked_at(asker, name, fields)
            assert (reply.status, reply.body["fields"]) == (400, ["$.cursor"]), name
        for name, fields in behind(owner.kept, owner.kept):
            assert asked_at(owner, name, fields).ok, name


def test_naming_the_place_of_the_other_is_refused_by_its_path(pair: Pair) -> None:
    for asker, owner in pair.both_ways():
        differs = [name for name in NAMES if owner.place[name] != asker.place[name]]
        own = by_id(owner.kept, asker.kept, pair.hidden)
        for name, fields in (*own, *by_words(owner.kept, pair.hidden)):
            reply = asked_at(asker, name, {**fields, **owner.place})
            assert reply.status == 403, (name, reply.text)
            assert reply.body["error_code"] == "SCOPE_DENIED"
            assert reply.body["fields"] == [f"$.{one}" for one in differs]


def test_naming_ones_own_place_is_as_good_as_leaving_it_out(pair: Pair) -> None:
    for asker, _ in pair.both_ways():
        note_id = asker.kept.notes["private"]
        said, silent = (
            asker.ask("get_note", note_id=note_id, **asker.place),
            asker.ask("get_note", note_id=note_id),
        )
        assert said == silent
        assert {name: said.body[name] for name in NAMES} == asker.place


def test_what_a_project_shares_is_known_to_both_agents_and_to_no_other_user(pair: Pair) -> None:
    for asker, owner in pair.both_ways():
        reply = asker.ask("get_note", note_id=owner.kept.notes["shared"])
        assert reply.ok is ("shared" not in pair.hidden)


def _without(reply: Reply, fields: Mapping[str, Any]) -> str:
    text = reply.text
    for value in fields.values():
        text = text.replace(str(value), "...")
    return text


@pytest.mark.parametrize(
    ("who", "status", "code"),
    [
        ("ana", 200, "OK"),
        ("bob", 403, "PERMISSION_DENIED"),
        ("a", 401, "UNAUTHENTICATED"),  # the keys of programs, which speak for no user
        ("b", 401, "UNAUTHENTICATED"),
    ],
)
def test_a_conversation_is_its_users_over_rest_and_grpc_and_no_programs(
    house: tuple[RunningService, Mapping[str, Mapping[str, str]]], who: str, status: int, code: str
) -> None:
    service, headers = house
    word = f"trip{uuid4().hex[:10]}"
    made = service.client.post("/v1/conversations", json={"title": word}, headers=headers["ana"]).json()["id"]
    read = service.client.get(f"/v1/conversations/{made}", headers=headers[who])
    listed = service.client.get("/v1/conversations?mode=all", headers=headers[who])
    assert (read.status_code, word in read.text, word in listed.text) == (status, who == "ana", who == "ana")
    with grpc.insecure_channel(service.grpc_address) as channel:
        assert read_over_grpc(channel, made, headers[who]) == code


def read_over_grpc(channel: grpc.Channel, conversation: str, proof: Mapping[str, str]) -> str:
    """The status with which a conversation is read."""
    asked = pb.GetConversationRequest(conversation_id=UUID(conversation).bytes)
    said = [(name.lower(), value) for name, value in proof.items()]
    try:
        rpc.ConversationsServiceStub(channel).GetConversation(asked, metadata=said)
    except grpc.RpcError as error:
        return str(error.code().name) if isinstance(error, grpc.Call) else repr(error)
    return "OK"


def test_the_document_and_the_page_are_open_and_say_how_to_prove_who_calls(
    house: tuple[RunningService, Mapping[str, Mapping[str, str]]],
) -> None:
    service, _ = house
    for http in (service.client, service.admin):
        document = http.get("/openapi.json").raise_for_status().json()
        assert {*document["components"]["securitySchemes"]} == {"bearer", "key"}
        assert "X-API-Key" in http.get("/docs").raise_for_status().text
