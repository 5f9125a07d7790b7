"""The history of a note: reading its versions, and making one of them the note again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.api.cursor import BEFORE_THE_NEWEST, Cursor, decode_cursor, encode_cursor
from elf.core.clock import Clock
from elf.core.errors import InvalidRequest
from elf.core.same_json import comparing_json
from elf.core.scopes import Readable
from elf.core.secrets import redacting_json
from elf.core.slices import Slices, in_slices
from elf.core.ttl import expiry, is_expired
from elf.db.database import Connection, Database
from elf.db.errors import retrying
from elf.db.queries import Queries
from elf.families.notes.api.audit_requests import (
    HistoryRequest,
    RestoreRequest,
    RestoreResponse,
)
from elf.families.notes.keeping.lifecycle import EXPIRED
from elf.families.notes.keeping.store import (
    MAX_PAGE_BYTES,
    NoteStore,
    meeting_writers,
)
from elf.families.notes.model import Context, Note
from elf.families.notes.reading.shown import ShownRepetition, ShownVersion, ShownVersions
from elf.families.notes.reading.visibility import check_readable, check_writable, is_within
from elf.families.notes.writing.contention import place_of
from elf.families.notes.writing.resolver import Change, deletion, next_moment
from elf.families.notes.writing.service import NotePolicy, context_of

RESTORE: Final = "restore"

Version = Mapping[str, Any]


class NoteHistory:
    """Reads and restores versions. `ring` is called after each commit that left indexing work."""

    def __init__(
        self,
        *,
        database: Database,
        queries: Queries,
        store: NoteStore,
        policy: NotePolicy,
        embedding_version: str,
        clock: Clock,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._sql = queries
        self._store = store
        self._policy = policy
        self._embedding_version = embedding_version
        self._clock = clock
        self._ring = ring

    async def page(self, request: HistoryRequest, readable: Readable = None) -> ShownVersions:
        """Read a page of versions, newest first. Raises NotFound as reading the note does.

        The history of a purged note can be read by whoever could read the note.
        """
        listing = ("versions", str(request.note_id))
        after = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *listing)
        async with self._database.connection() as connection:
            note = await self._store.get(connection, request.note_id)
            if note is not None:
                check_readable(note, request, readable)
            else:
                check_readable(await self._purged(connection, request.note_id), request, readable)
            rows = await self._versions(connection, request.note_id, after, request.limit)
            oldest = await connection.fetchrow(self._sql["oldest_version"], request.note_id)
            repetitions = [] if request.cursor else await self._repetitions(connection, request)
        more = bool(rows) and rows[-1]["has_next"]
        return ShownVersions(
            items=[ShownVersion.of(row) for row in rows],
            repetitions=repetitions or msgspec.UNSET,
            next_cursor=encode_cursor(rows[-1]["ts"], rows[-1]["version_id"], *listing) if more else None,
            dropped_before=None if oldest is None or oldest["is_first"] else oldest["ts"],
        )

    async def _repetitions(self, connection: Connection, request: HistoryRequest) -> list[ShownRepetition]:
        rows = await connection.fetch(self._sql["list_repetitions"], request.note_id, request.limit)
        return [ShownRepetition.of(row) for row in rows]

    async def restore(self, request: RestoreRequest, readable: Readable = None) -> RestoreResponse:
        """Make the text and the rest of a version the active note again; that is a version itself.

        Raises NotFound and ScopeDenied as a change of the note does, InvalidRequest for a version that this note does
        not have or whose words were purged, and when another note holds the key by now.
        """
        return await retrying(lambda: self._restore(request, readable))

    async def _restore(self, request: RestoreRequest, readable: Readable) -> RestoreResponse:
        now = self._clock.now()
        with meeting_writers():
            async with self._database.transaction(competing_for=place_of(request.note_id)) as connection:
                stored = await self._locked(connection, request, readable)
                version = await self._version(connection, request)
                past = Note.from_snapshot(version["new_snapshot"])
                rejection = self._policy.gate.check(
                    type=past.type, scope=past.scope, key=past.key, text=past.text
                )
                if rejection is not None:
                    return RestoreResponse(
                        note_id=stored.note_id, version_id=None, op="REJECTED",
                        reason_code=rejection.code, reason=rejection.reason,
                    )  # fmt: skip
                restored = await in_slices(self._restored(stored, past, now))
                if restored == stored and await in_slices(
                    comparing_json(restored.source_ref, stored.source_ref)
                ):
                    return _answer("NONE", version)
                after = replace(
                    restored,
                    updated_at=next_moment(stored, now),
                    embedding_version=self._embedding_version,
                )
                changes = await self._freed_key(connection, stored, now)
                changes.append(Change(op="UPDATE", before=stored, after=after, reason=RESTORE))
                await self._store.write(connection, changes, actor=RESTORE)
        self._ring()
        return _answer("UPDATE", version)

    async def _locked(self, connection: Connection, request: RestoreRequest, readable: Readable) -> Note:
        context = context_of(request)
        stored = await self._store.lock(connection, request.note_id)
        if stored is None:
            purged = await self._purged(connection, request.note_id)
            if purged is not None and is_within(purged, context, readable):
                raise InvalidRequest(
                    f"the note {request.note_id} was purged: nothing is left to restore", fields=["$.note_id"]
                )
        return check_writable(stored, request.note_id, context, self._policy.scopes, readable)

    async def _version(self, connection: Connection, request: RestoreRequest) -> Version:
        if request.version_id is None:
            version = await connection.fetchrow(self._sql["last_active_version"], request.note_id)
        else:
            version = await connection.fetchrow(self._sql["get_version"], request.note_id, request.version_id)
        if version is None or version["new_snapshot"] is None:
            raise InvalidRequest("this note has no such version", fields=["$.version_id"])
        return version

    def _restored(self, stored: Note, past: Note, now: datetime) -> Slices[Note]:
        expires_at, asked = past.expires_at, past.requested_ttl_days
        if is_expired(expires_at, now):
            # The life it once had is over; it begins the one that notes of its type have when nobody asks.
            default_days = self._policy.rules.default_ttl_days[past.type]
            expires_at, asked = expiry(now=now, ttl_days=None, default_days=default_days), None
        source_ref = (yield from redacting_json(past.source_ref)) if self._policy.redact else past.source_ref
        return replace(
            stored,
            text=past.text,
            importance=past.importance,
            confidence=past.confidence,
            source_ref=source_ref,
            status="active",
            expires_at=expires_at,
            requested_ttl_days=asked,
        )

    async def _freed_key(self, connection: Connection, stored: Note, now: datetime) -> list[Change]:
        """Return the deletion of an expired note that still holds the key. Raises InvalidRequest for a live one."""
        if stored.key is None or stored.status == "active":
            return []
        key = (stored.scope, stored.type, stored.key)
        owner = Context(stored.tenant_id, stored.project_id, stored.agent_id)
        holders = await self._store.lock_by_key(connection, owner, [key])
        for holder in holders:
            if holder.is_live(now):
                raise InvalidRequest(
                    f"the key of this note is held by the note {holder.note_id} now", fields=["$.note_id"]
                )
        return [deletion(holder, now=now, reason=EXPIRED) for holder in holders]

    async def _purged(self, connection: Connection, note_id: UUID) -> Note | None:
        """Return what is left of a note that was purged, or None when there was never such a note."""
        newest = await self._versions(connection, note_id, BEFORE_THE_NEWEST, 1)
        if not newest or newest[0]["op"] != "PURGE":
            return None
        return Note.from_snapshot(msgspec.json.decode(newest[0]["prev_snapshot"]))

    async def _versions(
        self, connection: Connection, note_id: UUID, after: Cursor, limit: int
    ) -> list[Version]:
        return await connection.fetch(
            self._sql["list_versions"], note_id, after.moment, after.id, limit, MAX_PAGE_BYTES
        )


def _answer(op: Any, version: Version) -> RestoreResponse:
    return RestoreResponse(note_id=version["note_id"], version_id=version["version_id"], op=op)
