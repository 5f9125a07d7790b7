"""What an agent owns in the notes family, and what of it others must not be told."""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from tests.families.callers import OWNER_PROJECT
from tests.families.fronts import Fronts, Reply
from tests.families.rows import CALLERS, FOREIGN, INCOMPLETE, NARROW, Caller, Kind
from tests.system.service import note, wait_for

PRIVATE: Final = "agent_private"
SHARED: Final = "project_shared"
PLACE: Final = ("tenant_id", "project_id", "agent_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A note: its id, the id of its last version, a word that no other text holds, and its text and key."""

    note_id: str
    version_id: str
    word: str
    text: str
    key: str

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.note_id, self.version_id, self.word


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search: its id, a word that only its query holds, and the handle of its best result."""

    trace_id: str
    word: str
    handle: str

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.trace_id, self.word, self.handle


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesWorld:
    """One agent's notes and searches.

    `deleted` and `doomed` are private notes too; `event` is one that was found in `messages`. `common` is a search of
    all that the agent may read, whose one result is the shared note, `private` one of private notes. `count` is how
    many notes it has that are not deleted. The cursors are behind the first of several: notes, versions of the private
    note, searches, decisions.
    """

    fronts: Fronts
    place: Mapping[str, str]
    private: Kept
    shared: Kept
    deleted: Kept
    doomed: Kept
    event: str
    messages: Sequence[Mapping[str, str]]
    event_word: str
    private_search: Search
    common_search: Search
    note_cursor: str
    version_cursor: str
    search_cursor: str
    decision_cursor: str
    others: Mapping[str, NotesWorld] = field(default_factory=dict)

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        private = [
            *self.private.tokens,
            *self.deleted.tokens,
            *self.doomed.tokens,
            *self.private_search.tokens,
        ]
        private += [self.event, self.event_word]
        if kind is INCOMPLETE:
            return private
        if kind is NARROW:
            return [*private, *self.common_search.tokens]
        own = [*private, *self.common_search.tokens]
        return [*own, *self.shared.tokens] if kind is FOREIGN else own

    def unknown(self, kind: Kind) -> NotesWorld:
        def kept(one: Kept) -> Kept:
            return replace(one, note_id=str(uuid4()), version_id=str(uuid4()))

        def search(one: Search) -> Search:
            return replace(one, trace_id=str(uuid4()), handle=str(uuid4()))

        return replace(
            self,
            private=kept(self.private),
            shared=kept(self.shared),
            deleted=kept(self.deleted),
            doomed=kept(self.doomed),
            private_search=search(self.private_search),
            common_search=search(self.common_search),
        )

    def of(self, caller: Caller) -> NotesWorld:
        return self.others[caller.name]

    def state(self) -> object:
        """Every note that the owner reads, with its history."""
        ids = [one.note_id for one in (self.private, self.shared, self.deleted, self.doomed)] + [self.event]
        return [
            [self._told("get_note", note_id=note_id), self._told("note_history", note_id=note_id)]
            for note_id in ids
        ]

    def count(self) -> int:
        """How many notes of its own it has that are not deleted."""
        told = self._told("list_notes", read_profile="all_scopes", limit=200)
        return sum(item["agent_id"] == self.place["agent_id"] for item in told["items"])

    def _told(self, name: str, **arguments: Any) -> Any:
        return told(self.fronts, name, {**self.place, **arguments})


def told(fronts: Fronts, name: str, arguments: Mapping[str, Any]) -> Any:
    """Ask the public front, and return the body of an answer that must serve."""
    return served(name, fronts.public.ask(name, arguments))


def served(name: str, reply: Reply) -> Any:
    assert reply.ok, f"{name}: {reply.text}"
    return reply.body


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> NotesWorld:
    """Make an owner in a new tenant, and all callers that have something of their own."""
    place = {"tenant_id": f"owner {uuid4()}", "project_id": OWNER_PROJECT, "agent_id": "a"}
    owner = _settled(fronts, place)
    others = {one.name: _settled(fronts, one.context(place)) for one in callers if one.is_owner}
    return replace(owner, others=others)


def _settled(fronts: Fronts, place: Mapping[str, str]) -> NotesWorld:
    words = _words()
    event_word = next(words)
    messages = [{"role": "user", "content": f"I prefer {event_word} tea to coffee."}]
    (event,) = told(fronts, "add_event", {**place, "messages": messages})["results"]
    private, deleted, doomed = (_keep(fronts, place, PRIVATE, next(words)) for _ in range(3))
    shared = _keep(fronts, place, SHARED, next(words))
    told(fronts, "delete_note", {**place, "note_id": deleted.note_id})
    told(fronts, "update_note", {**place, "note_id": private.note_id, "importance": 0.6})
    _wait_found(fronts, place, private, shared)
    private_search = _search(fronts, place, private, next(words), read_profile="private_only")
    common_search = _search(fronts, place, shared, next(words), read_profile="all_scopes")

    def page(name: str, **arguments: Any) -> dict[str, Any]:
        body: dict[str, Any] = told(fronts, name, {**place, "limit": 1, **arguments})
        return body

    versions = {"note_id": private.note_id}
    return NotesWorld(
        fronts=fronts,
        place=dict(place),
        private=replace(private, version_id=page("note_history", **versions)["items"][0]["version_id"]),
        shared=shared,
        deleted=deleted,
        doomed=doomed,
        event=event["note_id"],
        messages=messages,
        event_word=event_word,
        private_search=private_search,
        common_search=common_search,
        note_cursor=page("list_notes", read_profile="all_scopes")["next_cursor"],
        version_cursor=page("note_history", **versions)["next_cursor"],
        search_cursor=page("search_traces")["next_cursor"],
        decision_cursor=_decisions(fronts, place)["next_cursor"],
    )


def _words() -> Iterator[str]:
    rng = random.Random(uuid4().int)
    while True:
        yield "".join(rng.choices(string.ascii_lowercase, k=10))


def _keep(fronts: Fronts, place: Mapping[str, str], scope: str, word: str) -> Kept:
    text, key = f"Fact: the spare key of the {word} room lies under a stone.", f"key_of_{word}"
    body = {**place, "scope": scope, "notes": [note(text, key=key)]}
    (result,) = told(fronts, "add_note", body)["results"]
    assert result["op"] == "ADD", result
    (version,) = told(fronts, "note_history", {**place, "note_id": result["note_id"]})["items"]
    return Kept(
        note_id=result["note_id"], version_id=version["version_id"], word=word, text=text, key=key
    )  # fmt: skip


def _wait_found(fronts: Fronts, place: Mapping[str, str], *notes: Kept) -> None:
    for one in notes:
        wait_for(lambda one=one: _finds(fronts, place, one), f"the note with {one.word} is found")  # type: ignore[misc]


def _finds(fronts: Fronts, place: Mapping[str, str], one: Kept) -> bool:
    body = {**place, "read_profile": "all_scopes", "query": one.text, "top_k": 1}
    return [item["note_id"] for item in told(fronts, "search", body)["items"]] == [one.note_id]


def _search(fronts: Fronts, place: Mapping[str, str], one: Kept, word: str, **fields: Any) -> Search:
    query = f"Where is the spare key of the {one.word} room, {word}?"
    found = told(fronts, "search", {**place, "query": query, "top_k": 1, **fields})
    (item,) = found["items"]
    assert item["note_id"] == one.note_id
    trace = {**place, "trace_id": found["trace_id"]}
    wait_for(lambda: fronts.public.ask("search_trace", trace).ok, "the trace is stored")
    return Search(trace_id=found["trace_id"], word=word, handle=item["result_handle"])


def _decisions(fronts: Fronts, place: Mapping[str, str]) -> dict[str, Any]:
    body: dict[str, Any] = served(
        "ingest_decisions", fronts.admin.ask("ingest_decisions", {**place, "limit": 1})
    )
    return body
