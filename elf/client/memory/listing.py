"""What is kept of a user, by the listings of the families that have one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, TypeVar

from elf.client.asynchronous import AsyncClient, AsyncPages
from elf.client.families.knowledge.results import Fact, Rule
from elf.client.memory import records as r
from elf.client.memory.subject import Subject
from elf.client.results import Note
from elf.core.errors import NotFound, ScopeDenied

T = TypeVar("T")

PAGE: Final = 200
WHAT: Final = "a list of what is kept"

log = logging.getLogger("elf.client")

Lister = Callable[[AsyncClient, Subject, int], Awaitable[list[r.Record]]]


async def listed(
    client: AsyncClient, subject: Subject, limit: int, denied: dict[str, str] | None = None
) -> list[r.Record]:
    """Return what families keep of a user, changed last first.

    Those that are not on keep nothing, and those that show nothing to who asks tell nothing: their names and why are
    put into `denied`. Raises InvalidRequest without a user, and NotFound where none of the families is on.
    """
    subject.need_user(WHAT)
    found: list[r.Record] = []
    absent: list[NotFound] = []
    for name, lister in LISTERS.items():
        try:
            found += await lister(client, subject, limit)
        except NotFound as error:  # there is nothing at its path
            absent.append(error)
        except ScopeDenied as error:
            # An agent without categories, or a key that does not speak for the user.
            if error.fields not in (("agent_id",), ("scope",)):
                raise
            log.info("nothing is listed of %s: %s", name, error.message)
            if denied is not None:
                denied[name] = error.error_code
    if len(absent) == len(LISTERS):
        raise absent[0]
    found.sort(key=lambda record: record["updated_at"] or "", reverse=True)
    return found[:limit]


async def _notes(client: AsyncClient, subject: Subject, limit: int) -> list[r.Record]:
    def is_meant(note: Note) -> bool:
        return subject.has_agent(note.agent_id)

    notes = subject.notes(client, WHAT).list(thread=subject.run_id, limit=min(limit, PAGE))
    return [_of_run(r.record_of_note(note), subject) async for note in _first(notes, limit, is_meant)]


def _of_run(record: r.Record, subject: Subject) -> r.Record:
    """Return a record of the run that is asked for, which may be one of several in which it was said."""
    if subject.run_id is not None:
        record["run_id"] = subject.run_id
    return record


async def _memories(client: AsyncClient, subject: Subject, limit: int) -> list[r.Record]:
    memories = subject.calling(client).assistant.list(
        user_id=subject.user_id, thread_id=subject.run_id, limit=min(limit, PAGE)
    )
    meant = _first(memories, limit, lambda one: subject.has_agent(one.agent_id))
    return [_of_run(r.record_of_memory(one), subject) async for one in meant]


async def _knowledge(client: AsyncClient, subject: Subject, limit: int) -> list[r.Record]:
    user_id = subject.need_user(WHAT)
    if subject.run_id is not None:  # no fact and no rule is of one conversation
        return []

    def is_meant(memory: Fact | Rule) -> bool:
        return subject.has_agent(memory.source_butler)

    knowledge, scope, page = subject.calling(client).knowledge, f"user:{user_id}", min(limit, PAGE)
    facts = _first(knowledge.facts(scope=scope, limit=page), limit, is_meant)
    rules = _first(knowledge.rules(scope=scope, limit=page), limit, is_meant)
    return [
        *[r.record_of_knowledge(one, user_id) async for one in facts],
        *[r.record_of_knowledge(one, user_id) async for one in rules],
    ]


LISTERS: Final[Mapping[str, Lister]] = {"notes": _notes, "assistant": _memories, "knowledge": _knowledge}


async def _first(
    items: AsyncPages[T], limit: int, is_meant: Callable[[T], bool] = lambda _: True
) -> AsyncIterator[T]:
    """Go through the first so many of those that are meant."""
    count = 0
    async for item in items:
        if count == limit:
            return
        if is_meant(item):
            count += 1
            yield item
