"""Texts with more words than a tsvector holds: they are kept, and found by the words that come first."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

import pytest

from elf.api.operation import Handler
from elf.db.database import Database
from elf.db.queries import read_sql, sql_folder
from elf.families.conversations.model import FAMILY, NewEntry
from elf.families.conversations.store import ConversationStore
from elf.families.conversations.trees import Who
from tests.db.conversations.wire_kit import ROOT, Wire, asking

pytestmark = pytest.mark.anyio

MANY = 150_000


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


def of_letters() -> Iterator[str]:
    """Words that are stemmed, each to another one."""
    return ("".join(letters) + "s" for letters in itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=4))


def of_digits() -> Iterator[str]:
    return map(str, itertools.count(100_000))


def of_cuneiform() -> Iterator[str]:
    """Words of two letters, each of which has four bytes."""
    return map("".join, itertools.product(map(chr, range(0x12000, 0x1239A)), repeat=2))


def of_ideographs() -> Iterator[str]:
    """Each is a word; there are no more of them."""
    return map(chr, itertools.chain(range(0x4E00, 0x9FFF), range(0x20000, 0x2A6DF), range(0x2A700, 0x2EBE0)))


def of_letters_and_digits() -> Iterator[str]:
    return (f"{number:x}e{number % 97}é{number % 89}" for number in itertools.count(10_000))


@pytest.mark.parametrize(
    "words",
    [of_letters, of_digits, of_cuneiform, of_ideographs, of_letters_and_digits],
    ids=lambda one: one.__name__,
)
async def test_a_text_of_very_many_words_is_kept_and_found(
    ask: Wire, words: Callable[[], Iterator[str]]
) -> None:
    given = list(islice(words(), MANY))
    entry = await ask.say(await ask.new(), " ".join(given))
    for word in (given[0], given[1000]):
        answer = await ask(
            f"POST {ROOT}/search", {"query": word, "searchType": "fulltext", "includeEntry": False}
        )
        assert [one["entryId"] for one in answer.json()["data"]] == [entry], word


async def test_texts_that_were_indexed_without_a_bound_are_cut_to_one(
    store: ConversationStore, database: Database, who: Who, id: UUID
) -> None:
    for text in ("a" * 600_000, "b" * 500_000, "\u6771" * 300_000):
        content: list[Any] = [{"role": "USER", "text": text}]
        said = NewEntry(channel="history", content_type="history", content=content, indexed_content=text)
        await store.append(who, id, said)
    kept = """
        SELECT length(x.text), x.changed_at > x.said_at, length(e.content -> 0 ->> 'text')
        FROM conversation_texts AS x JOIN conversation_entries AS e USING (tenant_id, entry_id)
        WHERE x.conversation_id = $1 ORDER BY x.seq
    """
    async with database.connection() as connection:
        await connection.execute(read_sql(sql_folder() / FAMILY / "009-indexed-content.sql"))
        rows = await connection.fetch(kept, id)
    assert [tuple(row) for row in rows] == [
        (500_000, True, 600_000),
        (500_000, False, 500_000),
        (300_000, False, 300_000),
    ]
