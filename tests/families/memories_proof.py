"""What of a recall over all families somebody could be after: the notes of an agent, and why it was answered so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from tests.families import notes_world
from tests.families.callers import OWNER_PROJECT
from tests.families.fronts import Fronts
from tests.families.leaks import BY_TENANT, Condition, Leak, Leaks
from tests.families.notes_world import NotesWorld
from tests.families.rows import CALLERS, EVERYBODY, FOREIGN, Attempt, Caller, Kind, Row
from tests.families.work import WorkClient
from tests.system.service import note, wait_for
from tests.system.writers import WORDS

SAID: Final = "said "
REQUEST_ID: Final = "the first"
MILK: Final = "I do not drink milk."
TOOL: Final = "memory "  # a tool at another path has the name, too
BY_USER: Final = Condition("users", re.compile(r"[ts]\.user_id IS NOT DISTINCT FROM (\$\d+)"))
OF_AGENT: Final = Condition("agents", re.compile(r"[ts]\.agent_id IS NOT DISTINCT FROM (\$\d+)"))
OF_PROJECT: Final = Condition("projects", re.compile(r"[ts]\.project_id IS NOT DISTINCT FROM (\$\d+)"))
OF_PROFILE: Final = Condition("profiles", re.compile(r"[ts]\.read_profile IS NOT DISTINCT FROM (\$\d+)"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesWorld:
    """The notes of an agent, and an answer of recall that its private one is in."""

    notes: NotesWorld
    trace: str
    said: str
    others: Mapping[str, MemoriesWorld] = field(default_factory=dict)

    @property
    def place(self) -> Mapping[str, str]:
        return self.notes.place

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        # Agents of one user share what the user said.
        said = [self.said] if kind is FOREIGN else []
        return [*self.notes.hidden_from(kind), self.trace, *said]

    def unknown(self, kind: Kind) -> MemoriesWorld:
        return replace(self, notes=self.notes.unknown(kind), trace=str(uuid4()), said=str(uuid4()))

    def of(self, caller: Caller) -> MemoriesWorld:
        return self.others[caller.name]

    def state(self) -> object:
        return self.notes.state()


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> MemoriesWorld:
    """Make an owner in a new tenant, and all callers that have something of their own."""
    owner = notes_world.settle(fronts, callers)
    others = {name: _recalled(fronts, one) for name, one in owner.others.items()}
    return replace(_recalled(fronts, owner), others=others)


def _recalled(fronts: Fronts, notes: NotesWorld) -> MemoriesWorld:
    # An operator settles; where users prove who they are, the answer is the one of this user.
    user = {} if fronts.identities is None else {"user_id": OWNER_PROJECT}
    reply = fronts.public.ask("recall_memories", {**notes.place, **user, "query": notes.private.text})
    assert reply.ok, reply.text
    assert notes.private.note_id in {item["id"] for item in reply.body["items"]}
    said = fronts.public.ask(
        "remember_messages",
        {**notes.place, **user, "messages": [{"content": MILK}], "request_id": REQUEST_ID},
    )
    assert said.ok, said.text
    return MemoriesWorld(notes=notes, trace=reply.body["trace_id"], said=said.body["id"])


def _asked(
    label: str,
    arguments: Callable[[MemoriesWorld], Mapping[str, Any]],
    refused: frozenset[Kind] = frozenset(),
) -> Attempt:
    return Attempt(label=label, arguments=lambda world, own: arguments(world), refused=refused)


ROWS: Final = (
    Row(
        names=("recall_memories", f"{TOOL}recall"),
        attempts=[
            _asked("the private text", lambda world: {"query": world.notes.private.text}),
            _asked("the shared text", lambda world: {"query": world.notes.shared.text, "top_k": 100}),
            _asked(
                "what is left out",
                lambda world: {"query": world.notes.private.text, "top_k": 1, "explain": True, "families": ["notes"]},
            )
        ],
    ),
    Row(
        names=("context_of_memory",),
        attempts=[
            _asked("the private text", lambda world: {"query": world.notes.private.text}),
            _asked("the shared text", lambda world: {"query": world.notes.shared.text, "budget_tokens": 10_000}),
        ],
    ),
    Row(
        names=("explain_recall", f"{TOOL}explain"),
        attempts=[_asked("by its id", lambda world: {"trace_id": world.trace}, EVERYBODY)],
    ),
    Row(
        names=("remember_messages", f"{TOOL}remember"),
        attempts=[
            _asked(
                "the request of another",
                lambda world: {"messages": [{"content": MILK}], "request_id": REQUEST_ID},
            ),
            Attempt(
                label="what is known already",
                arguments=lambda world, own: {"messages": [{"content": MILK}], "dry_run": True},
                owner_sees=False,
            ),
        ],
    ),
    Row(
        names=("get_remembered",),
        attempts=[
            Attempt(
                label="by its id",
                arguments=lambda world, own: {"id": world.said},
                refused=EVERYBODY,
                owner_sees=False,
            )
        ],
    ),
    Row(
        names=("read_item",),
        attempts=[
            _asked("the private note", lambda world: _note(world.notes.private.note_id), EVERYBODY),
            _asked("the shared note", lambda world: _note(world.notes.shared.note_id), frozenset({FOREIGN})),
        ],
    ),
)  # fmt: skip


def _note(note_id: str) -> Mapping[str, Any]:
    return {"family": "notes", "kind": "note", "id": note_id}


LEAKS: Final = Leaks(
    reading=[
        Leak(
            name="read_memory_trace of every tenant, user, agent and project",
            query="read_memory_trace",
            conditions=(BY_TENANT, BY_USER, OF_AGENT, OF_PROJECT, OF_PROFILE),
            operations=("explain_recall",),
        ),
        Leak(
            name="read_said of every tenant, user, agent and project",
            query="read_said",
            conditions=(BY_TENANT, BY_USER, OF_AGENT, OF_PROJECT, OF_PROFILE),
            operations=("get_remembered",),
        ),
    ],
    changing=[],
    behind_others={
        "read_memory_tokens": "token vectors are of a text that was found for the caller already",
        "use_memory_tokens": "it tells nothing, and changes nothing but the day of their last use",
        "erase_memory_traces": "no request asks for it yet",
        "erase_memory_tokens": "no request asks for it yet",
        "lock_said": "it tells nothing, and is of a job",
        "keep_messages": "it is of what was kept just now",
        "forget_messages": "it is of a job, and removes what nobody waits for",
        "erase_said": "no request asks for it yet",
    },
)


class MemoriesWork:
    """Writes notes and has things remembered of which no two are alike; notes have to be recalled by their words, and
    read by their addresses, and what was said has to become one note, once.
    """

    def do(self, client: WorkClient) -> Iterator[tuple[str, str]]:
        # So many words that no two notes are taken for one.
        words = f"{' '.join(client.rng.sample(WORDS, 7)).capitalize()} {client.rng.getrandbits(32)}"
        if client.rng.random() < 0.5:
            said = {"messages": [{"content": f"Decision: {words}."}], "request_id": words}
            told = client.ask("remember_messages", **said)
            yield f"{SAID}{told['id']}", words
            return
        text = f"{words}."
        body = {"scope": "project_shared", "notes": [note(text)]}
        (result,) = client.ask("add_note", **body)["results"]
        assert result["op"] in ("ADD", "NONE"), f"add_note of {text!r}: {result}"  # NONE: it was sent twice
        yield result["note_id"], text

    def problems(self, client: WorkClient, claims: Sequence[tuple[str, str]]) -> list[str]:
        wrong = []
        notes = [(id, text) for id, text in claims if not id.startswith(SAID)]
        for note_id, text in notes:
            item = client.ask("read_item", family="notes", kind="note", id=note_id)
            if item["text"] != text:
                wrong.append(f"{note_id} is {item['text']} and not {text}")
        for id in {id.removeprefix(SAID) for id, _ in claims if id.startswith(SAID)}:
            try:
                wait_for(lambda: _became_one_note(client, id), "what was said is a note")  # noqa: B023
            except AssertionError as error:
                wrong.append(f"{id}: {error}")
        try:
            wait_for(lambda: all(_recalls(client, *claim) for claim in notes[-5:]), "every note is recalled")
        except AssertionError as error:
            wrong.append(str(error))
        return wrong


def _became_one_note(client: WorkClient, said_id: str) -> bool:
    told = client.ask("get_remembered", id=said_id)
    if not told["done"]:
        return False
    (written,) = next(one["written"] for one in told["families"] if one["family"] == "notes")
    assert written["op"] == "ADD", f"a second time it says {written}"
    return True


def _recalls(client: WorkClient, note_id: str, text: str) -> bool:
    answer = client.ask("recall_memories", query=text, families=["notes"])
    return any(item["id"] == note_id for item in answer["items"])
