"""What the family offers to whoever stands above all families: notes as candidates for an answer, and as items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.api.caller import Caller
from elf.core.cjk import CJK_MESSAGE, contains_cjk
from elf.core.clock import Clock
from elf.core.errors import InvalidRequest, NonEnglishInput, NotFound
from elf.core.nobody import agent_of
from elf.core.ttl import is_expired
from elf.db.database import Database
from elf.families.notes.keeping.store import NoteStore
from elf.families.notes.reading.ask import NoteAsk
from elf.families.notes.reading.finding import NoteFinding
from elf.families.notes.reading.note_filter import NoteFilter
from elf.families.notes.reading.ranking import RETRIEVAL, FoundChunk
from elf.families.notes.reading.readers import NoteReaders, Reader
from elf.families.notes.reading.reference import metadata_of, source_of
from elf.families.notes.reading.visibility import check_visible
from elf.families.notes.writing.service import NoteService
from elf.index.port import Period
from elf.offers import Item, Question, Subject
from elf.search.stages import Stages
from elf.search.token_store import TokenPlace, TokenReader

NOTE: Final = "note"
MOST_CHARS: Final = 2048  # of a query, as of a search


class NoteRecall:
    """Finds notes for an answer, as a search does, but compares nothing, leaves no trace and counts no hit.

    Of a note it offers the text of the chunk that was found, of which `tokens`, where there is one, reads the token
    vectors; `finding` reads none. `candidate_k` is how many chunks it looks at, or as many as are wanted.
    """

    def __init__(
        self,
        *,
        finding: NoteFinding,
        readers: NoteReaders,
        tokens: TokenReader | None,
        candidate_k: int,
        clock: Clock,
    ) -> None:
        self._finding = finding
        self._readers = readers
        self._tokens = tokens
        self._candidate_k = candidate_k
        self._clock = clock

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        """Return the best notes, each by its best chunk, in the order of the fused score.

        Raises Unavailable when neither the index nor Postgres answers, and NonEnglishInput.
        """
        reader = self._readers.of(question.subject, caller)
        query = question.text.replace("\x00", " ").strip()
        if reader is None or not query or NOTE not in (question.kinds or (NOTE,)):
            return []
        if contains_cjk(query):
            raise NonEnglishInput(CJK_MESSAGE, fields=["$.query"])
        ask = self._ask(query[:MOST_CHARS], question, reader)
        items = await self._items(await self._found(ask, question))
        return list(islice((item for item in items if _is_within(item, question)), question.limit))

    def _ask(self, query: str, question: Question, reader: Reader) -> NoteAsk:
        # What was said within a time may have been changed behind it, but was not last changed before.
        said = NoteFilter(updated=Period(since=question.since))
        return NoteAsk(
            query=query,
            context=reader.context,
            scopes=reader.scopes,
            now=self._clock.now(),
            candidate_k=max(self._candidate_k, question.limit),
            filter=said,
        )

    async def _found(self, ask: NoteAsk, question: Question) -> Sequence[FoundChunk]:
        """Return the best chunk of each note, the best first."""
        finding, stages = self._finding, Stages()
        vector = await question.embedded()
        retrieved = await finding.retrieval.retrieve_by(vector, finding.candidates(ask), stages)
        found, _ = await finding.vouched(retrieved, ask, stages)
        best: dict[UUID, FoundChunk] = {}
        for chunk in found:
            best.setdefault(chunk.row["note_id"], chunk)
        return list(best.values())

    async def _items(self, found: Sequence[FoundChunk]) -> Iterator[Item]:
        """Return what makes the items: more are found than are wanted where notes are of several chunks."""
        references = await self._finding.references([chunk.row for chunk in found], Stages())
        return (
            self._item(chunk, reference)
            for chunk in found
            if (reference := references.get(chunk.row["note_id"])) is not None
        )

    def _item(self, chunk: FoundChunk, reference: str) -> Item:
        row, text = chunk.row, chunk.own_text
        told = msgspec.json.decode(reference)
        source = source_of(told)
        return Item(
            kind=NOTE,
            id=str(row["note_id"]),
            text=text,
            terms={RETRIEVAL: chunk.candidate.score},
            provenance=named_too(source.names, row["threads"]),
            at=source.at(row["updated_at"]),
            tokens=None if self._tokens is None else TokenPlace(self._tokens, row["chunk_id"]),
            whole_chars=row["note_chars"],
            agent_id=agent_of(row["agent_id"]),
            thread=source.thread,
            metadata=metadata_of(told),
        )


class NoteItems:
    """Reads and deletes notes, which can be restored for a while. What the caller may not see is not there."""

    def __init__(
        self,
        *,
        database: Database,
        store: NoteStore,
        notes: NoteService,
        readers: NoteReaders,
        clock: Clock,
    ) -> None:
        self._database = database
        self._store = store
        self._notes = notes
        self._readers = readers
        self._clock = clock

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        """Read a note that is neither deleted nor expired. Raises NotFound."""
        note_id, reader = self._needed(kind, item_id, subject, caller)
        async with self._database.connection() as connection:
            stored = await self._store.get(connection, note_id)
            threads = await self._store.threads(connection, note_id)
        note = check_visible(stored, note_id, reader.context, reader.scopes)
        if note.status != "active" or is_expired(note.expires_at, self._clock.now()):
            raise _missing(item_id)
        told = _decoded(note.source_ref)
        source = source_of(told)
        return Item(
            kind=NOTE,
            id=str(note.note_id),
            text=note.text,
            provenance=named_too(source.names, threads),
            at=source.at(note.updated_at),
            quotes=source.quotes,
            agent_id=agent_of(note.agent_id),
            thread=source.thread,
            metadata=metadata_of(told),
        )

    async def forget(
        self, kind: str, item_id: str, subject: Subject, caller: Caller, conversation: str | None = None
    ) -> None:
        """Delete a note, as the operation does. Raises NotFound, and ScopeDenied when its scope may not be written."""
        note_id, reader = self._needed(kind, item_id, subject, caller)
        if conversation is not None:
            await self._notes.forget_source(note_id, conversation, reader.context, reader.scopes)
            return
        await self._notes.delete_one(note_id, reader.context, reader.scopes)

    def _needed(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> tuple[UUID, Reader]:
        if kind != NOTE:
            raise InvalidRequest(f"$.kind: should be {NOTE}", fields=["$.kind"])
        try:
            note_id = UUID(item_id)
        except ValueError:
            raise _missing(item_id) from None
        reader = self._readers.of(subject, caller)
        if reader is None:
            raise _missing(item_id)
        return note_id, reader


def named_too(names: Sequence[str], threads: Sequence[str]) -> list[str]:
    """Return the names of what a note rests on, with the conversations in which it was said, too."""
    return list(dict.fromkeys([*names, *(f"thread:{thread}" for thread in threads)]))


def _is_within(item: Item, question: Question) -> bool:
    assert item.at is not None, "every note was changed once"
    return (question.since is None or item.at >= question.since) and (
        question.until is None or item.at < question.until
    )


def _decoded(reference: msgspec.Raw) -> Mapping[str, Any]:
    decoded: Mapping[str, Any] = msgspec.json.decode(reference)
    return decoded


def _missing(item_id: str) -> NotFound:
    return NotFound(f"$.id: there is no note {item_id}", fields=["$.id"])
