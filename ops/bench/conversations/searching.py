"""Searching 20,000 entries beside searching as many notes, and for users of many trees beside users of few."""

from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import AsyncExitStack
from typing import Any, Final

import msgspec

from elf.config import Config
from elf.db.database import Connection, Database
from ops.bench.conversations import seeding
from ops.bench.conversations.talking import ROOT, Talker, talking
from ops.bench.conversations.turns import Call, compare, medians, show
from ops.bench.search import body_of, note_text, question, store
from ops.bench.write import opened
from tests.system.service import RunningService

ENTRIES: Final = 20_000
MANY: Final = 5000
FEW: Final = 50
A_TREE: Final = ENTRIES // MANY
ROUNDS: Final = 60
NOTES_TENANT: Final = "notes"
JOBS_LEFT: Final = (
    "SELECT (SELECT count(*) FROM indexing_outbox WHERE status <> 'DONE')"
    " + (SELECT count(*) FROM conversations_indexing_outbox WHERE status <> 'DONE')"
)
FOUNDER, MEMBER, SMALL_FOUNDER, SMALL_MEMBER = "founder", "member", "small founder", "small member"


async def searching(config: Config, service: RunningService) -> None:
    await asyncio.to_thread(store, service.url, NOTES_TENANT, ENTRIES, 1)
    async with opened(config) as database:
        await _seed(database, config.embedding_version)
    async with AsyncExitStack() as stack:
        users = {
            name: await stack.enter_async_context(talking(service, name.replace(" ", "-")))
            for name in (FOUNDER, MEMBER, SMALL_FOUNDER, SMALL_MEMBER)
        }
        questions = _Questions()
        turns = await medians(
            {
                "a search of notes": questions.of_notes(users[FOUNDER]),
                "a search of conversations": questions.of_entries(users[FOUNDER]),
                "of trees that were shared": questions.of_entries(users[MEMBER]),
                "of 50 trees": questions.of_entries(users[SMALL_FOUNDER]),
                "of 50 trees that were shared": questions.of_entries(users[SMALL_MEMBER]),
                "by words": questions.of_entries(users[FOUNDER], searchType="fulltext"),
                "by meaning": questions.of_entries(users[FOUNDER], searchType="semantic"),
            },
            rounds=ROUNDS,
        )
    show(turns, "ms")
    compare(turns, "a search of conversations", "a search of notes", goal="at most 1.5")
    compare(turns, "a search of conversations", "of 50 trees", goal="at most 2")
    compare(turns, "of trees that were shared", "of 50 trees that were shared", goal="at most 2")


async def _seed(database: Database, version: str) -> None:
    """Make 5,000 trees of one founder with one member, and 50 of others, and wait until all of it is indexed."""
    rng = random.Random(13)
    async with database.connection() as connection:
        for founder, member, count in ((FOUNDER, MEMBER, MANY), (SMALL_FOUNDER, SMALL_MEMBER, FEW)):
            ids = await seeding.trees(connection, founder.replace(" ", "-"), count)
            await seeding.share(connection, ids, member.replace(" ", "-"))
            texts = [note_text(rng, number) for number in range(count * A_TREE)]
            await seeding.say(connection, ids, texts, version=version)
        await settled(connection)


async def settled(connection: Connection) -> None:
    while await connection.fetchval(JOBS_LEFT):  # noqa: ASYNC110 - another process does them
        await asyncio.sleep(1.0)
    await connection.execute("VACUUM ANALYZE", timeout=seeding.PATIENCE_S)


class _Questions:
    """Asks each question once, so that no cache answers."""

    def __init__(self) -> None:
        self._rng = random.Random(29)
        self._numbers = itertools.count()

    def _next(self) -> str:
        return question(self._rng, next(self._numbers))

    def of_notes(self, talker: Talker) -> Call:
        async def ask() -> None:
            found = await talker.ask("POST", "/v1/memory/search", body_of(NOTES_TENANT, 0, self._next()))
            assert msgspec.json.decode(found)["items"]

        return ask

    def of_entries(self, talker: Talker, **options: Any) -> Call:
        async def ask() -> None:
            await talker.read("POST", f"{ROOT}/search", query=self._next(), **options)

        return ask
