"""News of fresh notes between processes: written into notifications, sent, heard and read."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest
from anyio.lowlevel import checkpoint

from actors.kernel import Channel
from actors.signals import fresh_news
from actors.signals.fresh_news import MOST_IDS, FreshHerald, FreshListener, messages, read
from elf.db.database import Database
from elf.db.notifications import MAX_MESSAGE_BYTES
from elf.indexing.fresh import FreshNews

pytestmark = pytest.mark.anyio

PATIENCE_S = 20.0  # a bound on hanging, never a measure
SENDER = "one"
LONGEST = ("\N{GRINNING FACE}" * 128, "\N{GRINNING FACE}" * 128)


def note_ids(count: int) -> list[UUID]:
    return [uuid4() for _ in range(count)]


def written(*news: FreshNews) -> list[FreshNews]:
    """What is read of what is written, without regard to how it was cut."""
    return [one for message in messages(SENDER, news) for one in read(message.removeprefix(f"{SENDER} "))]


def test_news_survive_the_way() -> None:
    news = [
        FreshNews("notes", ('Acme "A"\n', "p q"), note_ids(2)),
        FreshNews("talks", LONGEST, note_ids(33)),
        FreshNews("notes", None, note_ids(3)),
        FreshNews("talks", None, note_ids(2)),
    ]
    assert sorted(written(*news), key=str) == sorted(news, key=str)
    assert messages(SENDER, []) == []


def test_no_message_is_longer_than_postgres_takes() -> None:
    news = [
        *(FreshNews("talks", LONGEST, note_ids(33)) for _ in range(10)),
        FreshNews("notes", None, note_ids(1000)),
    ]
    lengths = [len(message.encode()) for message in messages(SENDER * 12, news)]
    assert len(lengths) > 1
    assert max(lengths) <= MAX_MESSAGE_BYTES
    indexed = [note_id for one in written(*news) if one.place is None for note_id in one.subject_ids]
    assert indexed == news[-1].subject_ids
    (cut,) = written(FreshNews("notes", ("t", "p"), note_ids(MOST_IDS + 1)))
    assert len(cut.subject_ids) == MOST_IDS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[1]",
        '["notes", null, [1]]',
        '["notes", null, ["x"]]',
        "5",
        '["notes", ["t", "p"], 5]',
        "[[1], []]",
    ],
)
def test_what_is_no_news_is_passed_over(text: str) -> None:
    good = FreshNews("notes", None, note_ids(1))
    (message,) = messages(SENDER, [good])
    assert list(read(text + "\n" + message.removeprefix(f"{SENDER} "))) == [good]


async def test_news_reach_other_processes_and_not_the_one_that_tells_them(
    database: Database, database_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh_news, "TELL_EVERY_S", 0.001)
    news: Channel[FreshNews] = Channel("fresh_news", 8, "drop")
    mine: list[FreshNews] = []
    theirs: Channel[FreshNews] = Channel("heard", 8, "drop")
    told = [FreshNews("notes", ("t", "p"), note_ids(2)), FreshNews("notes", None, note_ids(1))]
    async with anyio.create_task_group() as group:
        for actor in (
            FreshHerald(database, news, sender=SENDER),
            FreshListener(lambda: database_dsn, mine.append, but_not_from=SENDER),
            FreshListener(lambda: database_dsn, theirs.send_nowait, but_not_from="two"),
        ):
            await group.start(_run, actor)
        with anyio.fail_after(PATIENCE_S):
            while await listeners(database) < 2:
                await checkpoint()
            for one in told:
                news.send_nowait(one)
            heard = [await theirs.receive(), await theirs.receive()]
        assert sorted(heard, key=str) == sorted(told, key=str)
        group.cancel_scope.cancel()
    assert mine == []


async def test_news_that_cannot_be_told_are_let_go(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh_news, "TELL_EVERY_S", 0.001)
    news: Channel[FreshNews] = Channel("fresh_news", 8, "drop")
    closed = Database(max_conns=2)
    async with anyio.create_task_group() as group:
        await group.start(_run, FreshHerald(closed, news, sender=SENDER))
        with anyio.fail_after(PATIENCE_S):
            for _ in range(3):
                news.send_nowait(FreshNews("notes", None, note_ids(1)))
                while news.statistics().fill:
                    await checkpoint()
        group.cancel_scope.cancel()


async def _run(actor: Any, *, task_status: Any) -> None:
    await actor.run(task_status=task_status)


async def listeners(database: Database) -> int:
    """How many connections listen: LISTEN is the last thing that a listener's connection did."""
    async with database.connection() as connection:
        count: int = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'elf listener'"
            " AND datname = current_database() AND state = 'idle' AND query ILIKE 'LISTEN%'"
        )
        return count
