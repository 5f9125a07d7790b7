"""Writing and reading notes: the use cases behind the endpoints."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

import structlog

from elf.api.cursor import decode_cursor, encode_cursor
from elf.core.clock import Clock
from elf.core.errors import InvalidRequest, ProviderUnavailable, ScopeDenied
from elf.core.ids import NoteId
from elf.core.scopes import AGENT_PRIVATE, Readable, ScopeRules
from elf.core.secrets import redacting_json
from elf.core.slices import Slices, in_slices
from elf.core.ttl import expiry
from elf.db.database import Connection, Database
from elf.db.errors import retrying
from elf.families.notes.api.brief import BriefListResponse, brief_page
from elf.families.notes.api.requests import (
    AddNoteRequest,
    AddNoteResponse,
    DeleteRequest,
    DeleteResponse,
    GetNoteRequest,
    InContext,
    ListRequest,
    NewNote,
    UpdateRequest,
    UpdateResponse,
    WriteResult,
)
from elf.families.notes.keeping.store import ListFilter, NoteStore, meeting_writers
from elf.families.notes.model import Context, Note, as_real
from elf.families.notes.reading.reference import thread_of
from elf.families.notes.reading.shown import ShownNote, ShownNotes
from elf.families.notes.reading.visibility import check_readable, check_writable, not_found
from elf.families.notes.writing.contention import place_of, places_of
from elf.families.notes.writing.decisions import Attempt, DecisionLog, Refused, decide
from elf.families.notes.writing.resolver import (
    Change,
    Incoming,
    Match,
    Near,
    Outcome,
    ResolverRules,
    Surroundings,
    Workspace,
    deletion,
    next_moment,
)
from elf.families.notes.writing.write_rules import Rejection, WriteGate
from elf.index.port import Period
from elf.indexing.embedding import EmbeddedText, TextEmbedder

log = structlog.get_logger()

Stored: TypeAlias = Callable[[Connection, Sequence[Outcome]], Awaitable[None]]
"""Is told the outcomes of notes that are stored, with the transaction that stores them."""


@dataclass(frozen=True, slots=True)
class NotePolicy:
    """What the config says about writing: the gate, the thresholds, and whether references are redacted."""

    gate: WriteGate
    scopes: ScopeRules
    rules: ResolverRules
    redact: bool

    def refused(self, rejection: Rejection, *, type: str, scope: str, key: str | None, text: str) -> Refused:
        """Return what may be kept of a note that the gate rejected."""
        return Refused.of(
            type=type,
            scope=scope,
            known_scopes=self.scopes.allowed,
            key=key,
            text=text,
            reason_code=rejection.code,
            reason=rejection.reason,
        )

    def inputs(self) -> dict[str, Any]:
        """Return the limits and thresholds that decide, for the audit."""
        return {
            "max_note_chars": self.gate.max_note_chars,
            "dup_sim_threshold": self.rules.dup_sim_threshold,
            "update_sim_threshold": self.rules.update_sim_threshold,
            "same_fact_only": self.rules.same_fact_only,
        }


class NoteService:
    """Adds, reads, lists, changes and deletes notes.

    A write is one transaction; `ring` is called after each commit that left indexing work.
    """

    def __init__(
        self,
        *,
        database: Database,
        store: NoteStore,
        embedder: TextEmbedder,
        policy: NotePolicy,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._store = store
        self._embedder = embedder
        self._policy = policy
        self._clock = clock
        self._ring = ring

    async def add_note(self, request: AddNoteRequest) -> AddNoteResponse:
        """Write the notes of a request, all or none; a note the gate refuses is answered with REJECTED."""
        attempts = await in_slices(self._attempts(request))
        outcomes = iter(await self.store_incoming(context_of(request), attempts, actor="add_note"))
        return AddNoteResponse(
            results=[
                _rejected(attempt) if isinstance(attempt, Refused) else _stored(next(outcomes))
                for attempt in attempts
            ]
        )

    async def store_incoming(
        self,
        context: Context,
        attempts: Sequence[Attempt],
        *,
        actor: str,
        dry_run: bool = False,
        stored: Stored | None = None,
    ) -> list[Outcome]:
        """Resolve and store the notes that were not refused, and record a decision for each attempt.

        All in one transaction, with which `stored` is told. Returns the outcomes of the notes that were not refused, in
        the given order. A dry run does the same, embedding included, but writes nothing: the ids of notes that it would
        add are made up.
        """
        if not attempts:
            if stored is not None:
                async with self._database.transaction() as connection:
                    await stored(connection, [])
            return []
        embedded = await self._embed_unkeyed([note for note in attempts if isinstance(note, Incoming)])
        texts = iter(embedded)
        compared = [
            note if isinstance(note, Refused) else _with_pooled(note, next(texts)) for note in attempts
        ]
        keep = None if dry_run else actor
        outcomes, changed = await retrying(lambda: self._store_all(context, compared, embedded, keep, stored))
        if changed and not dry_run:
            self._ring()
        return outcomes

    async def get(self, request: GetNoteRequest, readable: Readable = None) -> ShownNote:
        """Read one note. Raises NotFound when it is not within the context given or the readable scopes."""
        async with self._database.connection() as connection:
            note = await self._store.get(connection, request.note_id)
        return check_readable(note, request, readable)

    async def page(self, request: ListRequest) -> ShownNotes | BriefListResponse:
        """Read a page of notes, newest first. Raises InvalidRequest, or ScopeDenied for a scope that is not read."""
        filter = self._list_filter(request)
        listing = ("notes", request.tenant_id, request.project_id, request.agent_id)
        after = None if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._database.connection() as connection:
            notes, more = await self._store.page(
                connection,
                tenant_id=request.tenant_id,
                project_id=request.project_id,
                filter=filter,
                after=after,
                now=self._clock.now(),
                limit=request.limit,
            )
        cursor = encode_cursor(notes[-1].updated_at, notes[-1].note_id, *listing) if more else None
        page = ShownNotes(items=notes, next_cursor=cursor)
        return page if request.detail == "full" else await in_slices(brief_page(page))

    async def update(self, request: UpdateRequest, readable: Readable = None) -> UpdateResponse:
        """Change a note in place. Raises NotFound, or ScopeDenied when its scope may not be written."""
        return await retrying(lambda: self._update(request, readable))

    async def delete(self, request: DeleteRequest, readable: Readable = None) -> DeleteResponse:
        """Mark a note deleted; it is never found again. Raises NotFound or ScopeDenied."""
        return await self.delete_one(request.note_id, context_of(request), readable)

    async def delete_one(self, note_id: UUID, context: Context, readable: Readable) -> DeleteResponse:
        """Do the same for the speaker of a context."""
        return await retrying(lambda: self._delete(note_id, context, readable))

    async def forget_source(self, note_id: UUID, thread: str, context: Context, readable: Readable) -> None:
        """Forget that a note was said in a conversation, and the note with its last source.

        Raises NotFound where it was not said there.
        """
        await retrying(lambda: self._forget_source(note_id, thread, context, readable))

    # Adding

    def _attempts(self, request: AddNoteRequest) -> Slices[list[Attempt]]:
        attempts = []
        for note in request.notes:
            attempts.append((yield from self._attempt(note, request)))
            yield
        return attempts

    def _attempt(self, note: NewNote, request: AddNoteRequest) -> Slices[Attempt]:
        scope = request.scope
        rejection = self._policy.gate.check(type=note.type, scope=scope, key=note.key, text=note.text)
        if rejection is None:
            return (yield from self._incoming(note, scope, request.merge_similar))
        return self._policy.refused(rejection, type=note.type, scope=scope, key=note.key, text=note.text)

    def _incoming(self, note: NewNote, scope: str, merge_similar: bool) -> Slices[Incoming]:
        source_ref = (yield from redacting_json(note.source_ref)) if self._policy.redact else note.source_ref
        return Incoming(
            scope=scope,
            type=note.type,
            key=note.key,
            text=note.text,
            importance=note.importance,
            confidence=note.confidence,
            ttl_days=note.ttl_days,
            source_ref=source_ref,
            merge_similar=merge_similar,
        )

    async def _embed_unkeyed(self, incoming: Sequence[Incoming]) -> list[EmbeddedText | None]:
        places = [index for index, note in enumerate(incoming) if note.key is None]
        embedded: list[EmbeddedText | None] = [None] * len(incoming)
        if not places:
            return embedded
        try:
            texts = await self._embedder.embed([incoming[index].text for index in places])
        except ProviderUnavailable as error:
            # A memory must not be lost because a model is asleep: the note is stored without a comparison.
            log.warning("similarity_unchecked", notes=len(places), error=error.message)
            return embedded
        for index, text in zip(places, texts, strict=True):
            embedded[index] = text
        return embedded

    async def _store_all(
        self,
        context: Context,
        attempts: Sequence[Attempt],
        embedded: Sequence[EmbeddedText | None],
        actor: str | None,
        stored: Stored | None,
    ) -> tuple[list[Outcome], bool]:
        workspace = Workspace(context, self._clock.now(), self._embedder.version, self._policy.rules)
        with meeting_writers():
            outcomes = await self._in_one_transaction(workspace, attempts, embedded, actor, stored)
        return outcomes, bool(workspace.changes)

    async def _in_one_transaction(
        self,
        workspace: Workspace,
        attempts: Sequence[Attempt],
        embedded: Sequence[EmbeddedText | None],
        actor: str | None,
        stored: Stored | None,
    ) -> list[Outcome]:
        context = workspace.context
        incoming = [attempt for attempt in attempts if isinstance(attempt, Incoming)]
        async with self._database.transaction(competing_for=places_of(context, incoming)) as connection:
            await self._store.lock_groups(connection, context, {n.group for n in incoming if n.key is None})
            keys = [(*note.group, note.key) for note in incoming if note.key is not None]
            workspace.know_keyed(await self._store.lock_by_key(connection, context, keys))
            outcomes = [await self._resolve(connection, workspace, note) for note in incoming]
            if actor is None:  # a dry run
                return outcomes
            log = DecisionLog(
                context=context,
                now=workspace.now,
                policy=self._policy.inputs(),
                decisions=decide(attempts, outcomes),
            )
            await self._store.write(connection, workspace.changes, actor=actor, log=log)
            sources = _sources(incoming, outcomes, workspace.changes)
            await self._store.add_sources(connection, sources, workspace.now)
            vectors = self._vectors_to_keep(workspace, incoming, embedded, outcomes)
            await self._store.write_chunks(
                connection,
                vectors,
                embedding_version=self._embedder.version,
                chunking=self._embedder.chunking,
            )
            if stored is not None:
                await stored(connection, outcomes)
        return outcomes

    async def _resolve(self, connection: Connection, workspace: Workspace, incoming: Incoming) -> Outcome:
        if incoming.key is not None:
            return await in_slices(workspace.resolving_keyed(incoming))
        stored = await self._surroundings(connection, workspace, incoming)
        return await in_slices(workspace.resolving_similar(incoming, stored))

    async def _surroundings(
        self, connection: Connection, workspace: Workspace, incoming: Incoming
    ) -> Surroundings:
        while True:
            near = await self._nearest(connection, workspace, incoming)
            nearest = near[0] if near else None
            one = await self._to_merge(connection, workspace, incoming, near)
            if one is None:
                return Surroundings(nearest)
            note = await self._store.lock(connection, one.note_id)
            if note is not None and note.is_live(workspace.now) and note.updated_at == one.updated_at:
                similarity = 1.0 if note.text == incoming.text else one.similarity
                return Surroundings(nearest, Match(note, similarity))
            # A writer that holds no group lock (update, delete, a keyed note) was faster: look again.

    async def _nearest(self, connection: Connection, workspace: Workspace, incoming: Incoming) -> list[Near]:
        if incoming.pooled is None:
            return []
        return await self._store.nearest(
            connection,
            workspace.context,
            incoming,
            vector=incoming.pooled,
            embedding_version=workspace.embedding_version,
            now=workspace.now,
            but_not=workspace.touched(),
            limit=self._policy.rules.neighbours,
        )

    async def _to_merge(
        self, connection: Connection, workspace: Workspace, incoming: Incoming, near: Sequence[Near]
    ) -> Near | None:
        rules = self._policy.rules
        allowed = (one for one in near if rules.may_merge(incoming, one.text, one.similarity))
        found = next(allowed, None)
        if found is not None and found.similarity >= rules.dup_sim_threshold:
            return found
        # A note that waits for its vector is found by its text.
        same = await self._store.same_text(
            connection, workspace.context, incoming, now=workspace.now, but_not=workspace.touched()
        )
        return same or found

    def _vectors_to_keep(
        self,
        workspace: Workspace,
        incoming: Sequence[Incoming],
        embedded: Sequence[EmbeddedText | None],
        outcomes: Sequence[Outcome],
    ) -> dict[NoteId, EmbeddedText]:
        keep: dict[NoteId, EmbeddedText] = {}
        for note, text, outcome in zip(incoming, embedded, outcomes, strict=True):
            written = workspace.current.get(outcome.note_id)
            if (
                text is not None
                and outcome.op != "NONE"
                and written is not None
                and written.text == note.text
            ):
                keep[outcome.note_id] = text
        return keep

    # Changing

    async def _update(self, request: UpdateRequest, readable: Readable) -> UpdateResponse:
        now = self._clock.now()
        async with self._database.transaction(competing_for=place_of(request.note_id)) as connection:
            stored = await self._locked(connection, request.note_id, context_of(request), readable)
            if not stored.is_live(now):
                raise not_found(request.note_id)
            rejection = self._reject_update(request, stored)
            if rejection is not None:
                return UpdateResponse(
                    note_id=stored.note_id, op="REJECTED", reason_code=rejection.code, reason=rejection.reason
                )
            changed = self._changed(stored, request, now)
            if changed == stored:
                return UpdateResponse(note_id=stored.note_id, op="NONE")
            after = replace(
                changed, updated_at=next_moment(stored, now), embedding_version=self._embedder.version
            )
            change = Change(op="UPDATE", before=stored, after=after, reason="update request")
            await self._store.write(connection, [change], actor="update")
        self._ring()
        return UpdateResponse(note_id=stored.note_id, op="UPDATE")

    def _reject_update(self, request: UpdateRequest, stored: Note) -> Rejection | None:
        return (
            None
            if request.text is None
            else self._policy.gate.check_update(text=request.text, key=stored.key)
        )

    def _changed(self, stored: Note, request: UpdateRequest, now: datetime) -> Note:
        given = request.model_fields_set
        note = replace(
            stored,
            text=stored.text if request.text is None else request.text,
            importance=stored.importance if request.importance is None else as_real(request.importance),
            confidence=stored.confidence if request.confidence is None else as_real(request.confidence),
        )
        if "ttl_days" not in given or request.ttl_days is None:
            return note
        default_days = self._policy.rules.default_ttl_days[stored.type]
        expires_at = expiry(now=now, ttl_days=request.ttl_days, default_days=default_days)
        return replace(note, requested_ttl_days=request.ttl_days, expires_at=expires_at)

    async def _delete(self, note_id: UUID, context: Context, readable: Readable) -> DeleteResponse:
        now = self._clock.now()
        async with self._database.transaction(competing_for=place_of(note_id)) as connection:
            stored = await self._locked(connection, note_id, context, readable)
            if stored.status == "deleted":
                return DeleteResponse(note_id=stored.note_id, op="NONE")
            change = deletion(stored, now=now, reason="delete request")
            await self._store.write(connection, [change], actor="delete")
        self._ring()
        return DeleteResponse(note_id=stored.note_id, op="DELETE")

    async def _forget_source(self, note_id: UUID, thread: str, context: Context, readable: Readable) -> None:
        async with self._database.transaction(competing_for=place_of(note_id)) as connection:
            stored = await self._locked(connection, note_id, context, readable)
            if await self._store.drop_source(connection, note_id, thread):
                return
            if stored.status == "deleted" or thread_of(stored.source_ref) != thread:
                raise not_found(note_id)
            now = self._clock.now()
            other = await self._store.take_source(connection, note_id)
            change = deletion(stored, now=now, reason="delete request")
            if other is not None:
                after = replace(stored, source_ref=other, updated_at=next_moment(stored, now))
                change = Change(op="UPDATE", before=stored, after=after, reason="forgotten in a conversation")
            await self._store.write(connection, [change], actor="delete")
        self._ring()

    async def _locked(
        self, connection: Connection, note_id: UUID, context: Context, readable: Readable
    ) -> Note:
        note = await self._store.lock(connection, note_id)
        return check_writable(note, note_id, context, self._policy.scopes, readable)

    # Reading

    def _list_filter(self, request: ListRequest) -> ListFilter:
        scopes = self._scopes_to_list(request)
        if AGENT_PRIVATE in scopes and request.agent_id is None:
            raise InvalidRequest(
                "agent_id is required to list the scope agent_private", fields=["$.agent_id"]
            )
        return ListFilter(
            scopes=scopes,
            reader_agent_id=request.agent_id,
            status=request.status,
            type=request.type,
            key_prefix=request.key_prefix,
            updated=Period(request.updated_since, request.updated_before),
            thread=request.thread,
        )

    def _scopes_to_list(self, request: ListRequest) -> Sequence[str]:
        rules = self._policy.scopes
        readable = rules.allowed if request.read_profile is None else rules.readable(request.read_profile)
        if request.scope is None:
            return [scope for scope in readable if request.read_profile or scope != AGENT_PRIVATE]
        if request.scope not in readable:
            raise ScopeDenied(f"the scope must be one of {', '.join(readable)}", fields=["$.scope"])
        return [request.scope]


def _sources(
    incoming: Sequence[Incoming], outcomes: Sequence[Outcome], changes: Sequence[Change]
) -> list[tuple[UUID, dict[str, Any]]]:
    """Return where else notes were said than their references tell: what was said, and known already, and what a note
    rested on that was said once more.
    """
    said = [
        (outcome.note_id, note.source_ref)
        for note, outcome in zip(incoming, outcomes, strict=True)
        if note.is_said and outcome.op == "NONE"
    ]
    written_over = {outcome.note_id for note, outcome in zip(incoming, outcomes, strict=True) if note.is_said}
    before = [
        (change.before.note_id, change.before.source_ref)
        for change in changes
        if change.op == "UPDATE"
        and change.before is not None
        and change.before.text == change.after.text
        and change.before.note_id in written_over
    ]
    return [*said, *before]


def context_of(request: InContext) -> Context:
    """Return who speaks in a request."""
    return Context(request.tenant_id, request.project_id, request.agent_id)


def _with_pooled(note: Incoming, text: EmbeddedText | None) -> Incoming:
    return replace(note, pooled=None if text is None else text.unit_pooled)


def _rejected(refused: Refused) -> WriteResult:
    return WriteResult(note_id=None, op="REJECTED", reason_code=refused.reason_code, reason=refused.reason)


def _stored(outcome: Outcome) -> WriteResult:
    return WriteResult(
        note_id=outcome.note_id,
        op=outcome.op,
        reason_code=outcome.reason_code,
        similar_to=outcome.similar_to,
    )
