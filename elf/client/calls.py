"""Everything that can be asked of the notes API, each as a function from arguments to a call.

The methods of both clients are these, so their documentation is here. An id that is none raises InvalidRequest, before
anything is sent. Which calls may be sent again after a failure is decided here, too: every write but `add_event` leaves
the same notes behind when it is carried out twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from elf.client import results as r
from elf.client.call import Call, Listing, Repeat, T, get, listing, post, reader, renamed
from elf.client.context import Context, Given
from elf.client.filters import Moment, SourceValue, filters_of, written
from elf.client.inputs import Message, NewNote, NoteStatus, NoteType, messages_of, notes_of
from elf.core.errors import InvalidRequest
from elf.core.ids import id_in_path
from elf.core.note_defaults import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, DEFAULT_TYPE

Id = UUID | str

MEMORY = "/v1/memory"


@dataclass(frozen=True, slots=True)
class Calls(Context):
    """Makes calls within one context."""

    def add_note(
        self,
        text: str,
        *,
        type: NoteType = DEFAULT_TYPE,
        key: str | None = None,
        importance: float = DEFAULT_IMPORTANCE,
        confidence: float = DEFAULT_CONFIDENCE,
        ttl_days: float | None = None,
        source_ref: Mapping[str, object] | None = None,
        scope: str | None = None,
        merge_similar: bool = True,
    ) -> Call[r.WriteResult]:
        """Write one note, without a `scope` in that of the context; `NewNote` says what the other arguments mean.

        Without `merge_similar`, a note without a key is only ever the one with exactly the same text.

        A note that the service rejects is no error: its op is REJECTED. Sent again after a failure, because a note
        that is known already is a NONE: by its key and content, or without a key by its text. So the answer may be
        NONE although this call stored it. Only while the embedding model is away (SIMILARITY_UNCHECKED), a note
        without a key may come to be stored twice.
        """
        note = NewNote(
            text=text, type=type, key=key, importance=importance, confidence=confidence, ttl_days=ttl_days,
            source_ref={} if source_ref is None else source_ref,
        )  # fmt: skip
        return self._add([note], scope, merge_similar, lambda results: results[0], only_note="$.notes[0]")

    def add_notes(
        self,
        notes: Iterable[NewNote | Mapping[str, object]],
        *,
        scope: str | None = None,
        merge_similar: bool = True,
    ) -> Call[list[r.WriteResult]]:
        """Write up to 256 notes in one transaction, without a `scope` in that of the context.

        The results are in the order of the notes. Sent again as `add_note` is.
        """
        return self._add(notes_of(notes), scope, merge_similar, lambda results: results)

    def add_event(
        self,
        messages: Iterable[Message | Mapping[str, object]],
        *,
        scope: str | None = None,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> Call[r.EventWritten]:
        """Have the extractor propose notes from messages, oldest first, and store those that can be proven.

        Without a `scope` they go to that of the context, whatever the extractor suggests. A dry run stores nothing. A
        language model may take longer than other calls do: `timeout_s` takes the place of the client's. Sent again only
        when the first request surely did nothing, because a model may word the same thing anew; a dry run is sent again
        always.
        """
        body = {
            **self.owner(),
            "scope": self.scope if scope is None else scope,
            "dry_run": dry_run,
            "messages": messages_of(messages),
        }
        repeat: Repeat = "safe" if dry_run else "undone"
        read = reader(r.RawEvent)
        call = post(f"{MEMORY}/add_event", body, lambda content: read(content).read(), repeat=repeat)
        return replace(call, timeout_s=timeout_s)

    def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        candidate_k: int | None = None,
        type: NoteType | Sequence[NoteType] | None = None,
        key_prefix: str | None = None,
        scope: str | Sequence[str] | None = None,
        updated_since: Moment | None = None,
        updated_before: Moment | None = None,
        created_since: Moment | None = None,
        created_before: Moment | None = None,
        source: Mapping[str, SourceValue] | None = None,
        min_relevance: float | None = None,
        record_hits: bool = False,
    ) -> Call[r.SearchAnswer]:
        """Find the notes that answer a query, best first; without `top_k`, as many as the service's config says.

        Only notes are found that are of the `type` and `scope`, or one of those given, whose key begins with
        `key_prefix`, that last changed and were first stored from `since` on and earlier than `before`, and whose
        source_ref has all fields of `source` (one within another by its path, as in "app.name"). A moment is an aware
        datetime, one of RFC 3339 as text, or a date, which is its midnight in UTC. A scope must be one that the read
        profile reads: raises ScopeDenied.

        Results of a relevance below `min_relevance` are left out, without it those below that of the service's config.
        Raises InvalidRequest where the service does not tell how relevant results are.

        `record_hits` counts the results as hits of their notes; then it is sent again only when the first request
        surely did nothing.
        """
        body = {
            **self.owner(),
            "read_profile": self.read_profile,
            "query": query,
            "top_k": top_k,
            "candidate_k": candidate_k,
            "filters": filters_of(
                type=type,
                key_prefix=key_prefix,
                scope=scope,
                updated_since=updated_since,
                updated_before=updated_before,
                created_since=created_since,
                created_before=created_before,
                source=source,
            ),
            "min_relevance": min_relevance,
            "record_hits": record_hits or None,
        }
        repeat: Repeat = "undone" if record_hits else "safe"
        return post(f"{MEMORY}/search", body, reader(r.SearchAnswer), repeat=repeat)

    def explain(self, result_handle: Id) -> Call[r.ExplainedItem]:
        """Say why a result is where it is. Raises InvalidRequest for a handle that is unknown or not stored yet."""
        params = {**self.owner(), "result_handle": result_handle}
        return get(f"{MEMORY}/search/explain", params, reader(r.ExplainedItem))

    def traces(self, *, limit: int | None = None, cursor: str | None = None) -> Listing[r.TraceSummary]:
        """List the agent's searches, newest first; `limit` is the size of a page."""
        return listing(
            f"{MEMORY}/search/traces", {**self.owner(), "limit": limit}, r.Page[r.TraceSummary], cursor
        )

    def trace(self, trace_id: Id) -> Call[r.ExplainedSearch]:
        """Read the whole trace of one of the agent's searches. Raises NotFound."""
        path = f"{MEMORY}/search/traces/{_id(trace_id, name='trace_id')}"
        return get(path, self.owner(), reader(r.ExplainedSearch))

    def get(self, note_id: Id) -> Call[r.Note]:
        """Read one note. Raises NotFound, also for a note outside the context.

        A shared note is found by its id alone; one of the scope agent_private, only within its whole context.
        """
        return get(_note(note_id), self.owner(), reader(r.Note))

    def list_notes(
        self,
        *,
        scope: str | None = None,
        status: NoteStatus | None = None,
        type: NoteType | None = None,
        key_prefix: str | None = None,
        updated_since: Moment | None = None,
        updated_before: Moment | None = None,
        thread: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Listing[r.Note]:
        """List notes, newest first; `limit` is the size of a page.

        Without a scope, those of the scopes that the context's read profile reads, and without that, too, of all but
        agent_private; without a status, those that are active. `key_prefix`, `updated_since` and `updated_before` are
        as for `search`; `thread` is the name of a conversation in which they were said.
        """
        params: dict[str, Given] = {
            **self.owner(),
            "read_profile": self.read_profile if scope is None else None,
            "scope": scope,
            "status": status,
            "type": type,
            "key_prefix": key_prefix,
            "updated_since": written(updated_since),
            "updated_before": written(updated_before),
            "thread": thread,
            "limit": limit,
        }
        return listing(f"{MEMORY}/list", params, r.Page[r.Note], cursor)

    def update(
        self,
        note_id: Id,
        *,
        text: str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        ttl_days: float | None = None,
    ) -> Call[r.Updated]:
        """Change a note; None leaves as it is, a `ttl_days` of 0 sets what the config says for the type.

        Sent again after a failure; the answer may then be NONE although this call changed the note. Raises NotFound,
        ScopeDenied.
        """
        body = {
            **self.owner(),
            "note_id": note_id,
            "text": text,
            "importance": importance,
            "confidence": confidence,
            "ttl_days": ttl_days,
        }
        return post(f"{MEMORY}/update", body, reader(r.Updated))

    def delete(self, note_id: Id) -> Call[r.Deleted]:
        """Delete a note. Sent again after a failure, as `update` is. Raises NotFound, ScopeDenied."""
        return post(f"{MEMORY}/delete", {**self.owner(), "note_id": note_id}, reader(r.Deleted))

    def find_ids(
        self, prefix: str, *, kind: Literal["note", "version", "search", "result"] = "note"
    ) -> Call[r.FoundIds]:
        """Find the ids that begin so, by 8 hex digits or more, of what this context may read; at most 20."""
        params = {**self.owner(), "kind": kind, "prefix": prefix}
        return get(f"{MEMORY}/ids", params, reader(r.FoundIds))

    def history(
        self, note_id: Id, *, limit: int | None = None, cursor: str | None = None
    ) -> Listing[r.NoteVersion]:
        """List the versions of a note, newest first; `limit` is the size of a page. Raises NotFound."""
        return listing(f"{_note(note_id)}/history", {**self.owner(), "limit": limit}, r.History, cursor)

    def restore(self, note_id: Id, *, version_id: Id | None = None) -> Call[r.Restored]:
        """Make a version of a note the note again, by default the last after which it was active.

        Sent again after a failure, as `update` is. Raises NotFound, ScopeDenied, InvalidRequest.
        """
        return post(
            f"{_note(note_id)}/restore", {**self.owner(), "version_id": version_id}, reader(r.Restored)
        )

    def ready(self) -> Call[r.Readiness]:
        """Say whether the service is ready, and the state of each part; one that is not ready is no error."""
        call = get("/ready", {}, reader(r.Readiness))
        return replace(call, repeat="never", also_read=frozenset({503}))

    def _add(
        self,
        notes: Sequence[object],
        scope: str | None,
        merge_similar: bool,
        shape: Callable[[list[r.WriteResult]], T],
        *,
        only_note: str = "",
    ) -> Call[T]:
        body = {
            **self.owner(),
            "scope": self.scope if scope is None else scope,
            "merge_similar": None if merge_similar else False,
            "notes": notes,
        }
        decode = reader(r.NotesWritten)

        def read(content: bytes) -> T:
            return shape(_expect(decode(content).results, len(notes)))

        return post(f"{MEMORY}/add_note", body, read, only_note=only_note)


def _note(note_id: Id) -> str:
    return f"{MEMORY}/notes/{_id(note_id, name='note_id')}"


def _id(value: Id, *, name: str) -> str:
    try:
        return id_in_path(value, name=name)
    except InvalidRequest as error:
        raise InvalidRequest(renamed(error.message), fields=[name]) from None


def _expect(results: list[r.WriteResult], count: int) -> list[r.WriteResult]:
    if len(results) != count:
        raise ValueError(f"{len(results)} results for {count} notes")
    return results
