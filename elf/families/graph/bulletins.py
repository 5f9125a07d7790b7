"""Bulletins: one a message, made of what its recall finds and of what is wanted, to do and decided.

Whatever fails, there is a bulletin: the last one that was made, or an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import closing
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec
import structlog
from anyio import to_thread

from elf.config.tables.graph import Recall as RecallRules
from elf.core.clock import Clock
from elf.core.errors import ServiceError, Unavailable
from elf.families.graph import model as m
from elf.families.graph.bulletin_files import Bulletin, BulletinFiles, BulletinStatus
from elf.families.graph.errors import FileUnusable, GraphDisabled
from elf.families.graph.recall.bundle import Citation, citation_of
from elf.families.graph.recall.finding import Found, contradicted_among
from elf.families.graph.recall.grants import DENIED, Grants, told_denied
from elf.families.graph.recall.place import Folders, Place
from elf.families.graph.recall.recaller import Question, Recaller
from elf.families.graph.rules.bulletin_lines import BulletinText, Entry, compose, cut
from elf.families.graph.store.log_file import append_events
from elf.families.graph.store.nodes import need_memory, read_memories
from elf.families.graph.store.statements import Snapshot

ALWAYS: Final[tuple[m.NodeType, ...]] = ("Goal", "Todo", "Decision")
MOST_OF_A_TYPE: Final = 5

log = structlog.get_logger()


class Bulletins:
    """Makes and keeps bulletins."""

    def __init__(self, recaller: Recaller, rules: RecallRules, clock: Clock) -> None:
        self._recaller = recaller
        self._rules = rules
        self._clock = clock

    async def of(
        self, place: Place, message_id: str, message: str, *, max_chars: int, user: str | None = None
    ) -> Bulletin:
        """Return the bulletin of a message: the one that it has, or a new one, or what there is instead.

        Each user has one of a message; `place` is what that one sees. Where the orchestrator has no memory yet it is
        made and not kept. Raises FileUnusable and GraphDisabled where the memory cannot be used.
        """
        folders = place if place.is_there else None
        try:
            if folders is not None and (known := await self._known(folders, message_id, user)):
                return _shortened(known if user is None else await _seen(place, known), max_chars)
            bulletin = await self._made(place, message_id, message, max_chars)
        except (FileUnusable, GraphDisabled):
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails, the message is worked on
            return await self.instead(folders, message_id, max_chars=max_chars, error=error, user=user)
        if folders is not None:
            files = BulletinFiles(folders.layout.bulletins, user)
            bulletin = await _without_erased(place, files, await _kept(files, bulletin))
        return _shortened(bulletin, max_chars)

    async def instead(
        self,
        folders: Folders | None,
        message_id: str,
        *,
        max_chars: int,
        error: Exception,
        user: str | None = None,
    ) -> Bulletin:
        """Return what there is for a message whose bulletin cannot be made, and log why.

        That is the one that it has, else the last one that was made, else an empty one. For a user it is an empty one:
        nobody can say what the user may see now of what was told before. It is not kept: the message gets its own as
        soon as that can be made.
        """
        if folders is None or user is not None:
            bulletin = _fallback(None, message_id, max_chars, self._clock.now())
            if folders is None:
                _warn(bulletin, error)
            else:
                await self._tell(folders, bulletin, error)
            return bulletin
        if known := await self._known(folders, message_id):
            return _shortened(known, max_chars)
        bulletin = _fallback(await self._last(folders), message_id, max_chars, self._clock.now())
        await self._tell(folders, bulletin, error)
        return bulletin

    async def _made(self, place: Place, message_id: str, message: str, max_chars: int) -> Bulletin:
        rules = self._rules
        question = Question(
            query=message,
            top_n=rules.top_n,
            rrf_k=rules.rrf_k,
            top_k_text=rules.top_k_text,
            top_k_vector=rules.top_k_vector,
        )
        recalled = await self._recaller.recall(place, question, _always_told)
        told = [_Told(one.memory, one.snippet, one.contradicted) for one in recalled.found]
        known = {one.memory.memory_id for one in told}
        told += [one for one in recalled.beside if one.memory.memory_id not in known]
        text = compose(map(_entry, told), max_chars=max_chars)
        memories = {one.memory.memory_id: one.memory for one in told}
        citations = [citation_of(memories[memory_id]) for memory_id in text.citations]
        return _bulletin(text, citations, message_id, "fresh", self._clock.now())

    async def _known(self, folders: Folders, message_id: str, user: str | None = None) -> Bulletin | None:
        """Return the bulletin that a message has, without what may be shown no longer."""
        return await self._read(folders, lambda files: files.read(message_id), user)

    async def _last(self, folders: Folders) -> Bulletin | None:
        """Return the last bulletin that was made, without what may be shown no longer."""
        return await self._read(folders, BulletinFiles.last_fresh)

    async def _read(
        self, folders: Folders, read: Callable[[BulletinFiles], Bulletin | None], user: str | None = None
    ) -> Bulletin | None:
        now = self._clock.now().isoformat()

        def look() -> Bulletin | None:
            found = read(BulletinFiles(folders.layout.bulletins, user))
            denied = {} if found is None else _denied(found, folders)
            if found is None or not denied:
                return found
            told = (told_denied(folders.key.orchestrator_id, *one) for one in denied.items())
            append_events(
                folders.layout.log_file, [{"timestamp": now, "event": DENIED, **one} for one in told]
            )
            return _without(found, denied)

        try:
            return await to_thread.run_sync(look)
        except Unavailable as error:
            log.warning("graph.bulletins_unreadable", error=error.message)
            return None

    async def _tell(self, folders: Folders, bulletin: Bulletin, error: Exception) -> None:
        """Log that a bulletin could not be made, and what was given instead. The file may be what is broken."""
        now = self._clock.now().isoformat()
        whose = {"orchestrator_id": folders.key.orchestrator_id, "message_id": bulletin.message_id}
        failed: dict[str, Any] = {"event": "memory.bulletin.generation_failed", "error": type(error).__name__}
        instead: dict[str, Any] = {"event": "memory.bulletin.fallback", "fallback": bulletin.status}
        events = [{"timestamp": now, **event, **whose} for event in (failed, instead)]
        await to_thread.run_sync(append_events, folders.layout.log_file, events)
        _warn(bulletin, error)


def _warn(bulletin: Bulletin, error: Exception) -> None:
    """Tell the log of the service; of a failure that nobody has a name for, it has to say where."""
    unknown = None if isinstance(error, ServiceError) else error
    log.warning(
        "graph.bulletin_fallback", fallback=bulletin.status, error=type(error).__name__, exc_info=unknown
    )


class _Told(NamedTuple):
    """A memory that a bulletin may tell of."""

    memory: m.MemoryNode
    snippet: str | None
    contradicted: bool


def _always_told(snapshot: Snapshot, _: Sequence[Found], grants: Grants) -> list[_Told]:
    """Return the goals, todos and decisions that matter most."""
    memories = [memory for node_type in ALWAYS for memory in _first_of(snapshot, node_type, grants)]
    contradicted = contradicted_among(snapshot, [memory.memory_id for memory in memories])
    return [_Told(memory, None, memory.memory_id in contradicted) for memory in memories]


def _first_of(snapshot: Snapshot, node_type: m.NodeType, grants: Grants) -> list[m.MemoryNode]:
    with closing(snapshot.each("first_of_type", type=node_type)) as ids:
        memories = (need_memory(snapshot, memory_id).memory for (memory_id,) in ids)
        return list(islice(filter(grants.allow, memories), MOST_OF_A_TYPE))


def _entry(told: _Told) -> Entry:
    return Entry(
        memory_id=told.memory.memory_id,
        type=told.memory.type,
        text=told.snippet or told.memory.summary,
        confidence=told.memory.confidence,
        contradicted=told.contradicted,
    )


async def _seen(place: Place, bulletin: Bulletin) -> Bulletin:
    """Return a bulletin without what its user sees no longer."""
    cited = {one.memory_id for one in bulletin.citations}
    seen = await place.read(lambda snapshot: read_memories(snapshot, cited))
    return bulletin if cited <= seen.keys() else _without(bulletin, cited - seen.keys())


async def _without_erased(place: Place, files: BulletinFiles, bulletin: Bulletin) -> Bulletin:
    """Return a bulletin without what was erased before it was kept: then it is kept no longer."""
    if not bulletin.citations:
        return bulletin
    try:
        seen = await _seen(place, bulletin)
    except Unavailable as error:
        log.warning("graph.bulletin_not_checked", error=error.message)
        return bulletin
    if seen is not bulletin:
        await to_thread.run_sync(files.remove, bulletin.message_id)
    return seen


def _denied(bulletin: Bulletin, folders: Folders) -> dict[str, str]:
    """Return the memories that a bulletin cites and that may be shown no longer, with the paths of their files."""
    cited = ((one.memory_id, one.source_path) for one in bulletin.citations)
    return {id: path for id, path in cited if path is not None and not folders.is_granted(path)}


def _without(bulletin: Bulletin, memory_ids: Container[str]) -> Bulletin:
    """Return a bulletin without the lines and citations of some memories."""
    sections = {
        section: tuple(line for line in lines if line.memory_id not in memory_ids)
        for section, lines in bulletin.sections.items()
    }
    citations = [one for one in bulletin.citations if one.memory_id not in memory_ids]
    text = cut(sections, max_chars=len(bulletin.rendered))
    return _bulletin(text, citations, bulletin.message_id, bulletin.status, bulletin.generated_at)


def _fallback(last: Bulletin | None, message_id: str, max_chars: int, now: datetime) -> Bulletin:
    if last is None:
        return _bulletin(compose([], max_chars=max_chars), [], message_id, "empty", now)
    shown = _shortened(last, max_chars)
    return msgspec.structs.replace(
        shown, message_id=message_id, status="previous", generated_at=last.generated_at
    )


def _shortened(bulletin: Bulletin, max_chars: int) -> Bulletin:
    """Return a bulletin that is at most so long, with the citations of what is left."""
    if len(bulletin.rendered) <= max_chars:
        return bulletin
    text = cut(bulletin.sections, max_chars=max_chars)
    cited = {one.memory_id: one for one in bulletin.citations}
    citations = [cited[memory_id] for memory_id in text.citations if memory_id in cited]
    return _bulletin(text, citations, bulletin.message_id, bulletin.status, bulletin.generated_at)


def _bulletin(
    text: BulletinText, citations: Sequence[Citation], message_id: str, status: BulletinStatus, at: datetime
) -> Bulletin:
    return Bulletin(
        message_id=message_id,
        rendered=text.rendered,
        sections=text.sections,
        citations=tuple(citations),
        generated_at=at,
        status=status,
    )


async def _kept(files: BulletinFiles, bulletin: Bulletin) -> Bulletin:
    """Keep a bulletin, and return the one that is kept: another request for its message may have been first.

    One that cannot be kept is as good; its message gets another one the next time.
    """
    try:
        return await to_thread.run_sync(files.keep, bulletin)
    except Unavailable as error:
        log.warning("graph.bulletin_not_kept", error=error.message)
        return bulletin
