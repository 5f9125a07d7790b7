"""News of what was just written and just indexed, between processes, so that a search may wait for what others wrote.

They only save time: a search does not wait long, and finds what was written a moment later without any news.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import UUID

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.kernel import Channel
from elf.core.errors import Unavailable
from elf.db.database import Database
from elf.db.notifications import MAX_MESSAGE_BYTES, listen, notify_all
from elf.indexing.fresh import FreshNews, Place

FRESH_CHANNEL = "elf_fresh"
NEWS_WAITING = 256  # more are dropped
TELL_EVERY_S = 0.02  # news of this time share a statement
MOST_IDS = 150  # of one message, at some 40 bytes each; of more than these, the rest is not told
RETRY_S = 1.0

log = structlog.get_logger()


class FreshHerald:
    """Tells other processes the news of this one, outside the writers' transactions."""

    name = "fresh_herald"

    def __init__(self, database: Database, news: Channel[FreshNews], *, sender: str) -> None:
        self._database = database
        self._news = news
        self._sender = sender

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            news = await self._news.receive_many(NEWS_WAITING)
            try:
                await notify_all(self._database, FRESH_CHANNEL, messages(self._sender, news))
            except Unavailable as error:
                log.info("news_not_told", error=error.message)
            await anyio.sleep(TELL_EVERY_S)


class FreshListener:
    """Takes in the news that other processes tell."""

    name = "fresh_listener"

    def __init__(
        self, dsn: Callable[[], str], hear: Callable[[FreshNews], object], *, but_not_from: str
    ) -> None:
        self._dsn = dsn
        self._hear = hear
        self._but_not_from = but_not_from

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        task_status.started()
        while True:
            try:
                await listen(self._dsn(), FRESH_CHANNEL, self._take)
            except Unavailable as error:
                log.warning("not_listening", error=error.message)
                await anyio.sleep(RETRY_S)

    def _take(self, message: str) -> None:
        sender, _, text = message.partition(" ")
        if sender == self._but_not_from:
            return
        for news in read(text):
            self._hear(news)


def messages(sender: str, news: Sequence[FreshNews]) -> list[str]:
    """Write news as messages that fit into a notification; `sender` has no blanks."""
    written, size = [], MAX_MESSAGE_BYTES + 1
    for line in _lines(news):
        if size + len(line) + 1 > MAX_MESSAGE_BYTES:
            written.append(f"{sender} ")
            size = len(written[-1])
        written[-1] += line + "\n"
        size += len(line) + 1
    return written


def _lines(news: Sequence[FreshNews]) -> Iterator[str]:
    indexed: dict[str, list[UUID]] = {}
    for one in news:
        if one.place is None:
            indexed.setdefault(one.corpus, []).extend(one.subject_ids)
    for corpus, subject_ids in indexed.items():
        for start in range(0, len(subject_ids), MOST_IDS):
            yield _line(corpus, None, subject_ids[start : start + MOST_IDS])
    for one in news:
        if one.place is not None:
            yield _line(one.corpus, one.place, one.subject_ids[:MOST_IDS])


def _line(corpus: str, place: Place | None, subject_ids: Iterable[UUID]) -> str:
    return json.dumps([corpus, place, [subject_id.hex for subject_id in subject_ids]])


def read(text: str) -> Iterator[FreshNews]:
    """Read what `messages` wrote, without the sender; nothing of what is not of that form."""
    for line in text.splitlines():
        try:
            corpus, place, subject_ids = json.loads(line)
            yield FreshNews(
                corpus, None if place is None else tuple(place), [UUID(hex=one) for one in subject_ids]
            )
        except (AttributeError, TypeError, ValueError):
            log.info("news_not_understood")
