"""What holds of every family that keeps what was said: it is written with the transaction that tells of it, or not."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from elf.db.database import Connection
from elf.offers import Message, Question, Remember, Said, Subject, Written
from tests.families.offerings import caller_of
from tests.families.offers_house import OffersHouse
from tests.notes_kit import vector_of

pytestmark = pytest.mark.anyio

TEA = "I prefer green tea over coffee."
FAMILIES = ("notes", "knowledge", "assistant")
ENTRY = UUID("7d7f3b9e-6a0e-4a65-9b0f-3f0f6d6f2a11")


class Undone(Exception):
    """Whoever is told does not want it."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as asyncpg is


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def said() -> Said:
    return Said(
        id=uuid4(),
        subject=Subject(tenant_id=f"said-{uuid4().hex}", user="ana", agent_id="supervisor"),
        conversation="trip",
        conversation_id=uuid4(),
        messages=[Message(role="user", text=TEA, id="m-1", entry_id=ENTRY)],
    )


class Listener:
    """Is told what was written, and of which transaction that is."""

    def __init__(self, *, undoes: bool = False) -> None:
        self.told: list[Sequence[Written]] = []
        self._undoes = undoes

    async def __call__(self, connection: Connection, written: Sequence[Written]) -> None:
        assert await connection.fetchval("SELECT 1") == 1
        self.told.append(written)
        if self._undoes:
            raise Undone


def keeper(house: OffersHouse, family: str) -> Remember:
    remember = house.opened[family].remember
    assert remember is not None
    return remember


async def known(house: OffersHouse, family: str, said: Said) -> list[tuple[str, str]]:
    await house.settle(family)
    question = Question(text=TEA, vector=vector_of(TEA), subject=said.subject, limit=10)
    found = await house.recall(family)(question, caller_of(said.subject))
    return [(item.kind, item.id) for item in found]


async def test_every_family_that_keeps_what_is_said_is_examined_here(house: OffersHouse) -> None:
    assert {name for name, one in house.opened.items() if one.remember is not None} == {*FAMILIES}


async def test_what_is_told_is_what_is_found(house: OffersHouse, family: str, said: Said) -> None:
    listener = Listener()
    await keeper(house, family)(said, caller_of(said.subject), listener)
    ((written,),) = listener.told
    assert written.op == "ADD"
    assert await known(house, family, said) == [(written.kind, written.id)]
    assert written.id is not None
    item = await house.items(family).read(written.kind, written.id, said.subject, caller_of(said.subject))
    assert {f"entry:{ENTRY}", f"turn:{said.id}"} & {*item.provenance}


async def test_what_nobody_wants_is_not_there(house: OffersHouse, family: str, said: Said) -> None:
    listener = Listener(undoes=True)
    with pytest.raises(Undone):
        await keeper(house, family)(said, caller_of(said.subject), listener)
    assert len(listener.told) == 1
    assert await known(house, family, said) == []


@pytest.mark.parametrize("family", ["notes", "assistant"])  # of knowledge everything is an episode
async def test_what_tells_nothing_is_told_of_all_the_same(
    house: OffersHouse, family: str, said: Said
) -> None:
    said = Said(
        id=said.id, subject=said.subject, conversation=said.conversation, conversation_id=said.conversation_id,
        messages=[Message(role="assistant", text="How are you?")],
    )  # fmt: skip
    listener = Listener()
    await keeper(house, family)(said, caller_of(said.subject), listener)
    assert listener.told == [[]]
