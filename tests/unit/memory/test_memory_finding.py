"""Finding over fakes of families: what hangs on others' conversations is not there, and one that hangs is named."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import anyio
import numpy as np
import pytest

from elf.api.caller import Caller
from elf.core.errors import Unavailable
from elf.memory.api.asking import AskMemory
from elf.memory.asking import Asking
from elf.memory.conversations import HiddenConversations
from elf.memory.finding import COMPARED, OFFERED, WIDER, Finding, Found
from elf.memory.gathering import Offered
from elf.memory.ranking import Compared
from elf.offers import Item, Question, Recall, Subject

pytestmark = pytest.mark.anyio
BUDGET_S: Final = 5.0
MINE, OTHERS = "c-mine", "c-others"
ASKING: Final = Asking(Subject(tenant_id="t", user="ana"), Caller(user="ana"))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    from trio.testing import MockClock

    return "trio", {"clock": MockClock(autojump_threshold=0)}


class Memories:
    """Memories that hang on conversations, as many as are asked for; `asked` are the limits of each time."""

    def __init__(self, conversations: Sequence[str | None], *, hangs: bool = False) -> None:
        self._conversations = conversations
        self._hangs = hangs
        self.asked: list[int] = []

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        self.asked.append(question.limit)
        if self._hangs:
            await anyio.sleep_forever()
        return [
            Item(kind="planner", id=f"m-{place}", text=f"tea {place}", conversation=conversation)
            for place, conversation in enumerate(self._conversations[: question.limit])
        ]


class Known:
    """Knows the conversations of ana; or hangs, or is away."""

    def __init__(self, *, hangs: bool = False, is_away: bool = False) -> None:
        self._hangs = hangs
        self._is_away = is_away
        self.asked: list[Collection[str]] = []

    async def keep(self, *_: Any) -> Any:
        raise NotImplementedError

    async def readable(
        self, conversations: Collection[str], subject: Subject, caller: Caller
    ) -> Collection[str]:
        self.asked.append(conversations)
        if self._hangs:
            await anyio.sleep_forever()
        if self._is_away:
            raise Unavailable("the database is away")
        return [one for one in conversations if one == MINE]


class Model:
    version = "m"
    dim = 2

    async def embed(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 2), dtype=np.float32)


class Equal:
    """Compares all alike."""

    async def scores(self, query: str, tenant_id: str, offers: Sequence[Offered]) -> list[Compared | None]:
        return [Compared(0.5, 0.5) for _ in offers]


class SlowModel(Model):
    """Embeds as soon as it may; or hangs, as nobody lets it."""

    def __init__(self) -> None:
        self.may = anyio.Event()

    async def embed(self, texts: Sequence[str]) -> Any:
        await self.may.wait()
        return await super().embed(texts)


class LooksFirst:
    """A family that has something to look up first; `vectors` are those it got afterwards."""

    def __init__(self, looked: anyio.Event) -> None:
        self._looked = looked
        self.vectors: list[Any] = []

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        self._looked.set()
        self.vectors.append(await question.embedded())
        return [Item(kind="planner", id="m-0", text="tea")]


async def found(
    known: Known | None, asking: Asking = ASKING, *, model: Model | None = None, **families: Recall
) -> Found:
    finding = Finding(
        families,
        embedder=model or Model(),
        comparing=Equal(),
        hidden=HiddenConversations(known),
        budget_s=BUDGET_S,
    )
    return await finding.find(AskMemory(tenant_id="t", query="tea"), asking)


def told(answer: Found) -> list[str]:
    return [one.offered.item.id for one in answer.candidates]


async def test_what_hangs_on_conversations_of_others_is_in_no_part_of_an_answer() -> None:
    known = Known()
    answer = await found(known, graph=Memories([OTHERS, MINE, None]))
    assert told(answer) == ["m-1", "m-2"]
    assert answer.left_out == []
    assert known.asked == [{OTHERS, MINE}]


async def test_where_others_took_all_places_more_is_asked_for() -> None:
    limit = OFFERED // 2
    graph, notes = Memories([*[OTHERS] * (limit + 1), MINE]), Memories([None])
    answer = await found(Known(), graph=graph, notes=notes)
    assert graph.asked == [limit, WIDER * limit]
    assert notes.asked == [limit]
    assert set(told(answer)) == {f"m-{limit + 1}", "m-0"}
    assert answer.degraded == []


async def test_enough_is_not_asked_for_again() -> None:
    graph = Memories([MINE] * (OFFERED + 1))
    assert len((await found(Known(), graph=graph)).candidates) == COMPARED
    assert graph.asked == [OFFERED]


@pytest.mark.parametrize("known", [Known(hangs=True), Known(is_away=True), None])
async def test_what_cannot_be_shown_to_be_the_users_is_not_told(known: Known | None) -> None:
    assert told(await found(known, graph=Memories([MINE, None]))) == ["m-1"]
    assert anyio.current_time() < BUDGET_S


async def test_where_it_is_about_nobody_conversations_count_for_nothing() -> None:
    known = Known()
    answer = await found(known, Asking(Subject(tenant_id="t"), Caller()), graph=Memories([OTHERS, None]))
    assert told(answer) == ["m-0", "m-1"]
    assert known.asked == []


async def test_a_family_that_hangs_is_named_and_the_others_answer_within_the_budget() -> None:
    began = anyio.current_time()
    answer = await found(Known(), graph=Memories([MINE], hangs=True), notes=Memories([None]))
    assert told(answer) == ["m-0"]
    assert answer.degraded == ["graph"]
    assert anyio.current_time() - began < BUDGET_S


async def test_families_look_up_what_needs_no_vector_while_it_is_made() -> None:
    model = SlowModel()
    family = LooksFirst(model.may)
    answer = await found(Known(), model=model, notes=family)
    assert (told(answer), answer.degraded) == (["m-0"], [])
    assert [vector.tolist() for vector in family.vectors] == [[1.0, 1.0]]


async def test_where_no_model_answers_families_are_told_so_in_time() -> None:
    family = LooksFirst(anyio.Event())
    answer = await found(Known(), model=SlowModel(), notes=family)
    assert (told(answer), answer.degraded) == (["m-0"], ["embedding"])
    assert family.vectors == [None]
    assert anyio.current_time() < BUDGET_S


async def test_where_all_families_hang_nobody_answers() -> None:
    with pytest.raises(Unavailable):
        await found(Known(), graph=Memories([], hangs=True))
