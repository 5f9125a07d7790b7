"""What holds of the candidates and items of every family that offers some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from msgspec import structs

from elf.api.caller import Caller
from elf.core.errors import NotFound
from elf.offers import Item, Question, Subject
from elf.providers.token_vectors import TokenVectors
from tests.families.offerings import OFFERINGS, Offering, caller_of
from tests.families.offers_house import OffersHouse
from tests.late_kit import tokens_of
from tests.notes_kit import vector_of

pytestmark = pytest.mark.anyio

TEXTS = ("User missed the ferry home.", "User takes the ferry to Porto.", "User owns a ferry in Lisbon.")
QUERY = "ferry"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as asyncpg is


@pytest.fixture(params=OFFERINGS)
def family(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def offering(family: str) -> Offering:
    return OFFERINGS[family]


@pytest.fixture
def subject(offering: Offering) -> Subject:
    return Subject(tenant_id=f"offers-{uuid4().hex}", user="ana", agent_id=offering.agent_id)


@pytest.fixture
async def moments(house: OffersHouse, family: str, offering: Offering, subject: Subject) -> list[datetime]:
    """When each of TEXTS was said, a day after the one before; and the day after."""
    moments = []
    for text in TEXTS:
        moments.append(house.clock.now())
        await offering.keep(house, subject, text)
        house.clock.turn(days=1)
    await house.settle(family)
    return [*moments, house.clock.now()]


def asked(subject: Subject, **other: Any) -> Question:
    """Return a question that all of TEXTS may answer."""
    usual = {"text": QUERY, "vector": vector_of(TEXTS[0]), "subject": subject, "limit": 10}
    return Question(**usual | other)


def said(items: Sequence[Item]) -> set[str]:
    return {item.text for item in items}


async def kept_tokens(item: Item) -> TokenVectors | None:
    """Return the token vectors that the family says it keeps of an item."""
    if item.tokens is None:
        return None
    found = await item.tokens.reader.read({item.tokens.chunk_id: item.text})
    return found[item.tokens.chunk_id]


async def test_every_family_that_offers_candidates_is_examined_here(house: OffersHouse) -> None:
    assert {name for name, one in house.opened.items() if one.recall is not None} == set(OFFERINGS)


async def test_candidates_say_what_they_are_and_rest_on(
    house: OffersHouse, family: str, offering: Offering, subject: Subject, moments: list[datetime]
) -> None:
    found = await house.recall(family)(asked(subject), caller_of(subject))
    assert said(found) == set(TEXTS)
    assert len({(item.kind, item.id) for item in found}) == len(TEXTS)
    for item in found:
        assert item.kind == offering.kind
        assert item.at == moments[TEXTS.index(item.text)]
        assert item.provenance
        assert all(kind and id for kind, _, id in (one.partition(":") for one in item.provenance))
        assert item.terms
        assert all(math.isfinite(term) for term in item.terms.values())
        assert item.score == pytest.approx(math.fsum(item.terms.values()))
        assert item.score >= 0
        assert await kept_tokens(item) == (tokens_of(item.text) if offering.keeps_tokens else None)


async def test_without_a_vector_words_find_them_and_no_model_is_asked(
    house: OffersHouse, family: str, subject: Subject, moments: list[datetime]
) -> None:
    found = await house.recall(family)(asked(subject, vector=None), caller_of(subject))
    assert said(found) == set(TEXTS)
    await house.recall(family)(asked(subject), caller_of(subject))
    assert QUERY not in house.model.texts


async def test_only_the_kinds_that_are_asked_for_are_offered(
    house: OffersHouse, family: str, offering: Offering, subject: Subject, moments: list[datetime]
) -> None:
    recall, caller = house.recall(family), caller_of(subject)
    assert await recall(asked(subject, kinds=frozenset({"something else"})), caller) == []
    wanted = frozenset({offering.kind, "something else"})
    assert said(await recall(asked(subject, kinds=wanted), caller)) == set(TEXTS)


@pytest.mark.parametrize("has_vector", [True, False])
async def test_only_what_was_said_within_the_time_is_offered(
    house: OffersHouse, family: str, subject: Subject, moments: list[datetime], has_vector: bool
) -> None:
    async def between(since: datetime | None, until: datetime | None) -> set[str]:
        question = asked(subject, since=since, until=until)
        question = question if has_vector else replace(question, vector=None)
        return said(await house.recall(family)(question, caller_of(subject)))

    first, second, third, later = moments
    assert await between(second, None) == {*TEXTS[1:]}
    assert await between(None, second) == {TEXTS[0]}
    assert await between(second, third) == {TEXTS[1]}
    assert await between(third, third + timedelta(microseconds=1)) == {TEXTS[2]}
    assert await between(later, None) == await between(None, first) == set()


async def test_no_more_are_offered_than_are_asked_for(
    house: OffersHouse, family: str, subject: Subject, moments: list[datetime]
) -> None:
    for limit in (1, 2):
        found = await house.recall(family)(asked(subject, limit=limit), caller_of(subject))
        assert len(found) == limit


async def test_of_another_tenant_or_user_nothing_is_offered(
    house: OffersHouse, family: str, subject: Subject, moments: list[datetime]
) -> None:
    """But for what names a conversation, which whoever stands above asks about."""
    recall, items = house.recall(family), house.items(family)
    (one, *_) = await recall(asked(subject), caller_of(subject))
    elsewhere, another = replace(subject, tenant_id=f"offers-{uuid4().hex}"), replace(subject, user="bob")
    bound_elsewhere = Caller(user="ana", bound={"tenant_id": elsewhere.tenant_id})
    bound_to_another = replace(
        caller_of(subject), bound={"tenant_id": subject.tenant_id, "agent_id": "another"}
    )
    strangers = [(elsewhere, caller_of(elsewhere)), (subject, bound_elsewhere)]
    if one.conversation is None:
        strangers.append((another, caller_of(another)))
    if subject.agent_id is not None:
        strangers.append((subject, bound_to_another))
    for whose, caller in strangers:
        assert await recall(asked(whose), caller) == []
        with pytest.raises(NotFound):
            await items.read(one.kind, one.id, whose, caller)
        with pytest.raises(NotFound):
            await items.forget(one.kind, one.id, whose, caller)
    found = await recall(asked(another), caller_of(another))
    assert all(item.conversation is not None for item in found)
    assert said(await recall(asked(subject), caller_of(subject))) == set(TEXTS)


async def test_an_item_says_the_same_at_its_address(
    house: OffersHouse, family: str, subject: Subject, moments: list[datetime]
) -> None:
    for item in await house.recall(family)(asked(subject), caller_of(subject)):
        read = await house.items(family).read(item.kind, item.id, subject, caller_of(subject))
        assert item.whole_chars in (None, len(item.text))
        kept = structs.replace(item, terms={}, tokens=None, whole_chars=None, quotes=())
        assert structs.replace(read, tokens=None, quotes=()) == kept


async def test_nothing_is_found_by_nothing(
    house: OffersHouse, family: str, subject: Subject, moments: list[datetime]
) -> None:
    for text in ("", " \x00 "):
        question = asked(subject, text=text)
        assert await house.recall(family)(question, caller_of(subject)) == []
