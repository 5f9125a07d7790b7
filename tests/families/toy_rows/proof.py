"""What the toy family brings to be proven."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID, uuid4

from tests.families.callers import OWNER_PROJECT
from tests.families.fronts import Fronts
from tests.families.leaks import BY_PROJECT, BY_TENANT, Leak, Leaks
from tests.families.rows import CALLERS, COLLEAGUE, FOREIGN, INCOMPLETE, NARROW, Attempt, Caller, Kind, Row
from tests.families.work import WorkClient
from tests.system.service import wait_for

NOT_THEIRS: Final = frozenset({FOREIGN, INCOMPLETE})
SHARED: Final = dict.fromkeys([COLLEAGUE, NARROW], "whoever shares the project shares the box")


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box with two toys, of which one may be lost."""

    fronts: Fronts
    place: Mapping[str, str]
    toy: str
    doomed: str
    word: str
    others: Mapping[str, Box] = field(default_factory=dict)

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        return () if kind in SHARED else (self.toy, self.doomed, self.word)

    def unknown(self, kind: Kind) -> Box:
        return replace(self, toy=str(uuid4()), doomed=str(uuid4()))

    def of(self, caller: Caller) -> Box:
        return self.others[caller.name]

    def state(self) -> object:
        return [
            self.fronts.public.ask("get_toy", {**self.place, "toy_id": one})
            for one in (self.toy, self.doomed)
        ]


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> Box:
    place = {"tenant_id": f"owner {uuid4()}", "project_id": OWNER_PROJECT, "agent_id": "a"}
    others = {one.name: _settled(fronts, one.context(place)) for one in callers if one.is_owner}
    return replace(_settled(fronts, place), others=others)


def _settled(fronts: Fronts, place: Mapping[str, str]) -> Box:
    word = UUID(int=uuid4().int).hex[:10]
    toys = [f"a {kind} named {word}" for kind in ("bear", "train")]
    reply = fronts.public.ask("put_toys", {**place, "toys": toys})
    toy, doomed = (one["toy_id"] for one in reply.body["toys"])
    wait_for(lambda: toy in _found(fronts, place, toys[0]), "the toy is found")
    return Box(fronts=fronts, place=dict(place), toy=toy, doomed=doomed, word=word)


def _found(fronts: Fronts, place: Mapping[str, str], words: str) -> str:
    return fronts.public.ask("find_toys", {**place, "query": words}).text


def _attempt(label: str, refused: frozenset[Kind] = frozenset(), **fields: Any) -> Attempt:
    return Attempt(label=label, arguments=lambda w, own: _filled(fields, w), refused=refused)


def _filled(fields: Mapping[str, Any], box: Box) -> Mapping[str, Any]:
    return {name: value(box) if callable(value) else value for name, value in fields.items()}


def _toy(box: Box) -> str:
    return box.toy


def _doomed(box: Box) -> str:
    return box.doomed


DROPPING: Final = replace(
    _attempt("by id", NOT_THEIRS, toy_id=_doomed), tried_by=NOT_THEIRS, owner_sees=False
)
ROWS: Final = (
    Row(names=("put_toy",), attempts=[replace(_attempt("a toy", words="a ball"), owner_sees=False)]),
    Row(names=("put_toys",), attempts=[replace(_attempt("two", toys=["a ball", "a bat"]), owner_sees=False)]),
    Row(names=("find_toys",), attempts=[_attempt("by its words", query="a bear")]),
    Row(names=("all_toys",), attempts=[_attempt("all of them")]),
    Row(names=("get_toy",), attempts=[_attempt("by id", NOT_THEIRS, toy_id=_toy)]),
    Row(names=("drop_toy",), attempts=[DROPPING], open_to=SHARED),
    Row(
        names=("empty_box",),
        attempts=[replace(_attempt("all of it"), owner_sees=False, tried_by=NOT_THEIRS)],
        role="admin",
        open_to=SHARED,
    ),
)

LEAKS: Final = Leaks(
    reading=[
        Leak(
            name=f"{query} of every one of the {by.what}",
            query=query,
            conditions=(by,),
            operations=(operation,),
        )
        for query, operation in (("near_toys", "find_toys"), ("get_toy", "get_toy"), ("all_toys", "all_toys"))
        for by in (BY_TENANT, BY_PROJECT)
    ],
    changing=[Leak(name="drop_toys", query="drop_toys", conditions=(BY_TENANT,), operations=("drop_toy",))],
    behind_others={"count_toys": "a chore counts the toys of a tenant that it was given"},
)


class ToyWork:
    """Puts toys. What has to be there afterwards is each, by its id, and found by its words."""

    def do(self, client: WorkClient) -> Iterator[tuple[str, str]]:
        words = f"toy {client.rng.getrandbits(64)}"
        yield client.ask("put_toy", words=words)["toy_id"], words

    def problems(self, client: WorkClient, claims: Sequence[tuple[str, str]]) -> list[str]:
        toys = {toy_id: client.ask("get_toy", toy_id=toy_id)["words"] for toy_id, _ in claims}
        wrong = [f"{toy_id} is not {words}" for toy_id, words in claims if toys[toy_id] != words]
        try:
            wait_for(lambda: all(_finds(client, *claim) for claim in claims), "every toy is found")
        except AssertionError as error:
            wrong.append(str(error))
        return wrong


def _finds(client: WorkClient, toy_id: str, words: str) -> bool:
    return any(toy["toy_id"] == toy_id for toy in client.ask("find_toys", query=words)["toys"])
