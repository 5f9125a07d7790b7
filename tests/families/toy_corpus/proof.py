"""What the toy family of stories brings to be proven."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from tests.families.callers import OWNER_PROJECT
from tests.families.fronts import Fronts
from tests.families.leaks import BY_PROJECT, BY_TENANT, Leak, Leaks, index_without
from tests.families.rows import CALLERS, COLLEAGUE, FOREIGN, INCOMPLETE, NARROW, Attempt, Caller, Kind, Row
from tests.families.work import WorkClient
from tests.system.service import wait_for

NOT_THEIRS: Final = frozenset({FOREIGN, INCOMPLETE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stories:
    """A project with a story that was searched for, and one that may end."""

    fronts: Fronts
    place: Mapping[str, str]
    story: str
    doomed: str
    search: str
    word: str
    others: Mapping[str, Stories] = field(default_factory=dict)

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        return () if kind in SHARED else (self.story, self.doomed, self.search, self.word)

    def unknown(self, kind: Kind) -> Stories:
        return replace(self, story=str(uuid4()), doomed=str(uuid4()), search=str(uuid4()))

    def of(self, caller: Caller) -> Stories:
        return self.others[caller.name]

    def state(self) -> object:
        found = self.fronts.public.ask("find_stories", {**self.place, "query": self.word}).body["stories"]
        return sorted((one["story_id"], one["text"]) for one in found if self.word in one["text"])


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> Stories:
    place = {"tenant_id": f"owner {uuid4()}", "project_id": OWNER_PROJECT, "agent_id": "a"}
    others = {one.name: _settled(fronts, one.context(place)) for one in callers if one.is_owner}
    return replace(_settled(fronts, place), others=others)


def _settled(fronts: Fronts, place: Mapping[str, str]) -> Stories:
    word = uuid4().hex[:10]

    def ask(name: str, **arguments: Any) -> Any:
        return fronts.public.ask(name, {**place, **arguments}).body

    texts = [f"A {kind} named {word} goes to sea." for kind in ("bear", "dog")]
    story, doomed = (ask("tell_story", text=text)["story_id"] for text in texts)

    def found() -> bool:
        ids = {one["story_id"] for one in ask("find_stories", query=word)["stories"]}
        return {story, doomed} <= ids

    wait_for(found, "the stories are found")
    search = ask("find_stories", query=word)["trace_id"]
    known = {**place, "trace_id": search}
    wait_for(lambda: fronts.public.ask("explain_stories", known).ok, "the search is explained")
    return Stories(fronts=fronts, place=dict(place), story=story, doomed=doomed, search=search, word=word)


def _retell(label: str, arguments: Any) -> Attempt:
    return Attempt(
        label=label, arguments=arguments, refused=NOT_THEIRS, tried_by=NOT_THEIRS, owner_sees=False
    )


SHARED: Final = dict.fromkeys([COLLEAGUE, NARROW], "whoever shares the project tells and hears")
ROWS: Final = (
    Row(
        names=("tell_story",),
        attempts=[
            Attempt(label="another", arguments=lambda w, own: {"text": "A cat sleeps."}, owner_sees=False)
        ],
    ),
    Row(
        names=("retell_story",),
        attempts=[
            _retell("by id", lambda w, own: {"story_id": w.story, "text": "A bear named nobody sleeps."})
        ],
        open_to=SHARED,
    ),
    Row(
        names=("end_story",),
        attempts=[_retell("by id", lambda w, own: {"story_id": w.doomed})],
        open_to=SHARED,
    ),
    Row(
        names=("find_stories",),
        attempts=[
            Attempt(label="by its words", arguments=lambda w, own: {"query": "who goes to sea", "limit": 100})
        ],
    ),
    Row(
        names=("explain_stories",),
        attempts=[
            Attempt(label="by id", arguments=lambda w, own: {"trace_id": w.search}, refused=NOT_THEIRS)
        ],
    ),
)

LEAKS: Final = Leaks(
    reading=[],
    changing=[
        Leak(
            name=f"stories of all {by.what}",
            query="read_stories",
            conditions=(by,),
            plant=index_without("tenant_id", "project_id"),
            operations=("find_stories",),
        )
        for by in (BY_TENANT,)
    ]
    + [
        Leak(
            name="a story retold by anybody",
            query="retell_story",
            conditions=(BY_TENANT, BY_PROJECT),
            operations=("retell_story", "end_story"),
        )
    ],
)


class StoryWork:
    """Tells stories, and some of them anew. What was told last has to be found by its words, and nothing else of it."""

    def do(self, client: WorkClient) -> Iterator[tuple[str, frozenset[str]]]:
        text = _text(client)
        story_id = client.ask("tell_story", text=text)["story_id"]
        yield story_id, frozenset({text})
        if client.rng.random() < 0.5:
            later = _text(client)
            yield story_id, frozenset({text, later})
            client.ask("retell_story", story_id=story_id, text=later)
            yield story_id, frozenset({later})

    def problems(self, client: WorkClient, claims: Sequence[tuple[str, frozenset[str]]]) -> list[str]:
        left = list(claims)

        def look() -> bool:
            left[:] = [claim for claim in left if not _found(client, *claim)]
            return not left

        try:
            wait_for(look, "every story is found as it was told")
        except AssertionError:
            return [f"{story_id} is not found as one of {set(texts)}" for story_id, texts in left]
        return []


def _text(client: WorkClient) -> str:
    return f"Once there was a {client.rng.getrandbits(48):x} and a {client.rng.getrandbits(48):x}."


def _found(client: WorkClient, story_id: str, texts: frozenset[str]) -> bool:
    told = {
        story["text"]
        for text in texts
        for story in client.ask("find_stories", query=text)["stories"]
        if story["story_id"] == story_id
    }
    return len(told) == 1 and told <= texts
