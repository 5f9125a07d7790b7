"""Candidates of all families are compared by their texts: each text once, and longer ones with a handicap."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from msgspec.structs import replace

from elf.core.clock import SystemClock
from elf.core.errors import DatabaseUnavailable
from elf.memory.comparing import ByReranker, ByTokens
from elf.memory.gathering import Offered
from elf.memory.kept_tokens import Found, KeptTokens
from elf.memory.ranking import Compared
from elf.memory.token_filler import TokenFiller
from elf.offers import Item
from elf.providers.token_vectors import TokenVectors
from elf.search.token_store import TokenPlace, TokenReader
from tests.late_kit import FakeLate, tokens_of
from tests.search_kit import FakeReranker

pytestmark = pytest.mark.anyio
QUERY: Final = "where is the ferry to Flam"
TEXTS: Final = ("the ferry to Flam is at six", "the bakery is on Mill Street", "nobody knows where it is")


class Reader:
    """Keeps the token vectors of all texts but `lacking`; remembers those that it was asked for."""

    def __init__(self, *, lacking: Collection[str] = (), is_away: bool = False) -> None:
        self._lacking = lacking
        self._is_away = is_away
        self.asked: list[str] = []

    async def read(self, texts: Mapping[UUID, str]) -> Mapping[UUID, TokenVectors]:
        self.asked += texts.values()
        if self._is_away:
            raise DatabaseUnavailable("it is away")
        return {id: tokens_of(text) for id, text in texts.items() if text not in self._lacking}


def offered(family: str, place: int, text: str, reader: Reader | None = None) -> Offered:
    tokens = TokenPlace(cast("TokenReader", reader or Reader()), uuid5(NAMESPACE_URL, f"{family} {text}"))
    item = Item(kind="note", id=f"{family}-{place}", text=text, tokens=tokens)
    return Offered.of(family, place, item)


def changed(one: Offered, **fields: Any) -> Offered:
    return Offered.of(one.family, one.place, replace(one.item, **fields))


def offers(*texts: str, families: Sequence[str] = ("notes",)) -> list[Offered]:
    return [offered(family, place, text) for family in families for place, text in enumerate(texts)]


class Kept:
    """Keeps the token vectors of texts of which no family keeps any; remembers those that it was asked for."""

    def __init__(self, texts: Collection[str] = ()) -> None:
        self._texts = texts
        self.asked: list[str] = []

    async def read(self, tenant_id: str, texts: Sequence[str]) -> Found:
        self.asked += texts
        return Found({text: tokens_of(text) for text in texts if text in self._texts}, [])


def by_tokens(
    length_weight: float = 0.0275, late: FakeLate | None = None, kept: Kept | None = None
) -> ByTokens:
    late, keeping = late or FakeLate(), cast("KeptTokens", kept or Kept())
    return ByTokens(late, keeping, TokenFiller(late, keeping, SystemClock()), length_weight=length_weight)


async def scored(comparing: ByTokens, asked: Sequence[Offered]) -> list[Compared]:
    scores = await comparing.scores(QUERY, "t", asked)
    assert scores is not None
    return [score for score in scores if score is not None]


async def test_a_text_is_no_worse_for_being_kept_by_several_families() -> None:
    alone = await scored(by_tokens(), offers(*TEXTS))
    told_twice = offers(*TEXTS) + offers(TEXTS[0], families=("graph", "knowledge", "assistant"))
    beside = await scored(by_tokens(), told_twice)
    assert beside[:3] == alone
    assert beside[3:] == [alone[0]] * 3


async def test_who_says_it_changes_nothing() -> None:
    plain = await scored(by_tokens(), offers(*TEXTS))
    labelled = [
        *offers(*TEXTS),
        *(
            changed(one, text=f"user: {one.item.text}", tokens=None)
            for one in offers(*TEXTS, families=("knowledge",))
        ),
    ]
    assert await scored(by_tokens(), labelled) == plain * 2


async def test_a_long_text_has_a_handicap_that_its_relevance_has_not() -> None:
    long = " ".join([TEXTS[0], *(f"word{number}" for number in range(100))])
    free = await scored(by_tokens(0.0), offers(*TEXTS, long))
    handicapped = await scored(by_tokens(), offers(*TEXTS, long))
    assert handicapped[:3] == free[:3]
    assert handicapped[3].answer < free[3].answer
    assert handicapped[3].relevance == free[3].relevance


async def test_a_passage_has_the_handicap_of_all_that_it_is_of() -> None:
    first, *others = offers(*TEXTS)
    free = await scored(by_tokens(), [first, *others])
    whole = changed(first, whole_chars=4000)
    for asked in ([whole, *others], [first, *others, whole]):
        handicapped = await scored(by_tokens(), asked)
        assert handicapped[0].answer < free[0].answer
        assert handicapped[1:3] == free[1:3]


async def test_each_text_is_looked_for_where_a_family_keeps_it_and_elsewhere_where_none_does() -> None:
    late, kept, notes, told = FakeLate(), Kept(TEXTS[1:2]), Reader(lacking=TEXTS[1:2]), Reader()
    asked = [
        *(offered("notes", place, text, notes) for place, text in enumerate(TEXTS[:2])),
        offered("conversations", 0, TEXTS[0], told),
        changed(offered("graph", 0, TEXTS[2]), tokens=None),
    ]
    assert len(await scored(by_tokens(late=late, kept=kept), asked)) == len(asked)
    assert (notes.asked, told.asked) == (list(TEXTS[:2]), [])
    assert kept.asked == [TEXTS[2], TEXTS[1]]
    assert late.texts == [TEXTS[2]], "only what is kept nowhere is made"


async def test_where_token_vectors_cannot_be_read_it_says_so() -> None:
    with pytest.raises(DatabaseUnavailable, match="it is away"):
        await scored(by_tokens(), [offered("notes", 0, TEXTS[0], Reader(is_away=True))])


async def test_a_reranker_is_sent_each_text_once() -> None:
    reranker = FakeReranker([2.0, float("nan"), 4.0])
    asked = offers(*TEXTS, families=("notes", "graph"))
    asked = [changed(one, tokens=None) for one in asked]
    scores = await ByReranker(reranker, tells_relevance=True).scores(QUERY, "t", asked)
    assert reranker.asked == [(QUERY, list(TEXTS))]
    assert scores == [Compared(0.0, 2.0), None, Compared(1.0, 4.0)] * 2
