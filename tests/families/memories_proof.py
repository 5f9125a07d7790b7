"""What of a recall over all families somebody could be after: the notes of an agent, and why it was answered so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from tests.families import notes_world
from tests.families.callers import OWNER_PROJECT
from tests.families.fronts import Fronts, Reply
from tests.families.leaks import BY_TENANT, Condition, Leak, Leaks
from tests.families.notes_world import NotesWorld
from tests.families.rows import (
    CALLERS,
    COLLEAGUE,
    EVERYBODY,
    FOREIGN,
    INCOMPLETE,
    NARROW,
    Attempt,
    Caller,
    Kind,
    Row,
)
from tests.families.work import WorkClient
from tests.system.service import note, wait_for
from tests.system.writers import WORDS

SAID: Final = "said "
REQUEST_ID: Final = "the first"
MILK: Final = "I do not drink milk."
OF_OPERATORS: Final = dict.fromkeys(
    [COLLEAGUE, INCOMPLETE, NARROW], "an operator of the tenant may do it, whatever agent it is"
)
DATA: Final = "data: "
NO_RECEIPT: Final = "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20"
RECEIPT: Final[Mapping[str, Any]] = {
    "receipt_id": NO_RECEIPT, "kind": "user", "subject": "", "began_at": "", "finished_at": "", "erased": {},
    "index": {}, "out_of_reach": [], "signature": "",
}  # fmt: skip
TOOL: Final = "memory "  # a tool at another path has the name, too
BY_USER: Final = Condition("users", re.compile(r"[ts]\.user_id IS NOT DISTINCT FROM (\$\d+)"))
OF_AGENT: Final = Condition("agents", re.compile(r"[ts]\.agent_id IS NOT DISTINCT FROM (\$\d+)"))
OF_PROJECT: Final = Condition("projects", re.compile(r"[ts]\.project_id IS NOT DISTINCT FROM (\$\d+)"))
OF_PROFILE: Final = Condition("profiles", re.compile(r"[ts]\.read_profile IS NOT DISTINCT FROM (\$\d+)"))

HANDLE_OF: Final = tuple(
    Condition(f"{name}s", re.compile(rf"h\.{name} IS NOT DISTINCT FROM (\$\d+)"))
    for name in ("user_id", "agent_id", "project_id", "read_profile")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoriesWorld:
    """The notes of an agent, and an answer of recall that its private one is in.

    `handle` is of what was shown, and `line` is one of an export, and `receipts`
    is one of an erasure once that is done.
    """

    notes: NotesWorld
    trace: str
    said: str
    handle: str
    line: Mapping[str, Any]
    receipts: list[str] = field(default_factory=list)
    others: Mapping[str, MemoriesWorld] = field(default_factory=dict)

    @property
    def place(self) -> Mapping[str, str]:
        return self.notes.place

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        # Agents of one user share what the user said.
        said = [self.said] if kind is FOREIGN else []
        return [*self.notes.hidden_from(kind), self.trace, self.handle, *said]

    def unknown(self, kind: Kind) -> MemoriesWorld:
        return replace(
            self,
            notes=self.notes.unknown(kind),
            trace=str(uuid4()),
            said=str(uuid4()),
            handle=str(uuid4()),
            receipts=[str(uuid4())],
        )

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
    shown = fronts.public.ask(
        "forget_memories", {**notes.place, **user, "query": notes.doomed.text, "top_k": 1}
    )
    assert shown.ok, shown.text
    assert [one["id"] for one in shown.body["candidates"]] == [notes.doomed.note_id]
    exported = fronts.admin.ask("export_memory", _as_user(notes.place))
    assert exported.ok, exported.text
    line = json.loads(
        next(one for one in exported.text.splitlines() if notes.shared.word in one)[len(DATA) :]
    )
    return MemoriesWorld(
        notes=notes,
        trace=reply.body["trace_id"],
        said=said.body["id"],
        handle=shown.body["handle"],
        line=line,
    )


def _asked(
    label: str,
    arguments: Callable[[MemoriesWorld], Mapping[str, Any]],
    refused: frozenset[Kind] = frozenset(),
) -> Attempt:
    return Attempt(label=label, arguments=lambda world, own: arguments(world), refused=refused)


def _as_user(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request about a user, whose project is the owner's."""
    sent = {name: value for name, value in arguments.items() if name not in ("project_id", "agent_id")}
    return sent | ({"user_id": arguments["project_id"]} if "project_id" in arguments else {})


def _kept(*names: str, attempts: Sequence[Attempt]) -> Row:
    """A row of what operators do to all of a user."""
    return Row(names=names, attempts=attempts, open_to=OF_OPERATORS, sent_as=_as_user)


def _forgets_nothing(reply: Reply, own: MemoriesWorld | None) -> str | None:
    outcomes = {one["outcome"] for one in reply.body["items"]}
    return None if outcomes == {"not_found"} else f"forgets, or tells of it: {reply.text}"


def _receipt(world: MemoriesWorld) -> str:
    """Return the receipt of an erasure of the owner, who has nothing left."""
    if not world.receipts:
        erased = world.notes.fronts.admin.ask("erase_memory", _as_user(world.place))
        assert erased.ok, erased.text
        world.receipts.append(erased.body["receipt_id"])
    return world.receipts[0]


def _done(label: str, **fields: Any) -> Attempt:
    """Something done to what the owner has."""
    return Attempt(
        label=label,
        arguments=lambda world, own: {
            name: value(world) if callable(value) else value for name, value in fields.items()
        },
        owner_sees=False,
    )


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
        names=("forget_memories", f"{TOOL}forget"),
        attempts=[
            _asked("the private text", lambda world: {"query": world.notes.private.text}),
            Attempt(
                label="the private note",
                arguments=lambda world, own: {"items": [_note(world.notes.doomed.note_id)]},
                owner_sees=False,
                check=_forgets_nothing,
            ),
            _asked("what was shown", lambda world: {"handle": world.handle}, EVERYBODY),
        ],
    ),
    Row(
        names=("read_item",),
        attempts=[
            _asked("the private note", lambda world: _note(world.notes.private.note_id), EVERYBODY),
            _asked("the shared note", lambda world: _note(world.notes.shared.note_id), frozenset({FOREIGN})),
        ],
    ),
    _kept("prove_erasure", attempts=[_done("what is there", receipt=RECEIPT)]),
    _kept("export_memory", attempts=[_asked("all of the user", lambda world: {})]),
    Row(
        names=("import_memory",),
        attempts=[_done("what is there", items=lambda world: [world.line])],
        open_to=OF_OPERATORS,
        lacks=frozenset({"project_id", "agent_id"}),
        unbound_only="its lines may be anybody's of the tenant",
    ),
    # Last, for nothing of the owner is left when it has done this itself.
    _kept("erase_memory", attempts=[_done("the user")]),
    _kept("read_receipt", attempts=[replace(_done("by its id", receipt_id=_receipt), refused=frozenset({FOREIGN}))]),
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
        Leak(
            name="read_forget_handle of every tenant, user, agent and project",
            query="read_forget_handle",
            conditions=(BY_TENANT, *HANDLE_OF),
            operations=("forget_memories",),
        ),
    ],
    changing=[],
    behind_others={
        "keep_memory_tokens": "it keeps what was made of the texts of an answer to the tenant",
        **dict.fromkeys(
            [
                "erase_forget_handles",
                "erase_context_lines",
                "erase_memory_traces",
                "erase_memory_tokens",
                "erase_said",
                "said_conversations",
                "unname_project_of_said",
                "audited_calls_of_tenant",
            ],
            "operators erase whom they may name, which the request says",
        ),
        **dict.fromkeys(
            ["tell_erased", "end_erasure", "drop_erasures_of_tenant"], "it is of the erasure that goes on"
        ),
        "count_in_column_of_tenant": "it counts, and of other tenants an operator who is bound to none may count",
        "read_memory_tokens": "token vectors are of a text that was found for the caller already",
        "use_memory_tokens": "it tells nothing, and changes nothing but the day of their last use",
        "known_context_lines": "the digests that are asked for are made of the tenant and the user",
        "lock_said": "it tells nothing, and is of a job",
        "keep_messages": "it is of what was kept just now",
        "forget_messages": "it is of a job, and removes what nobody waits for",
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
