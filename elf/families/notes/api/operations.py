"""What the notes family can be asked for (section 15), without the services that do it."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied
from elf.families.notes.api import audit_requests as a
from elf.families.notes.api import brief as b
from elf.families.notes.api import id_requests as i
from elf.families.notes.api import requests as r
from elf.families.notes.api import trace_requests as t

NOTES: Final = "notes"
SEARCHES: Final = "search"
HISTORY: Final = "history"

ADD_NOTE: Final = Operation(
    "add_note", "POST", "/v1/memory/add_note", "Store notes exactly as given",
    r.AddNoteRequest, r.AddNoteResponse, tag=NOTES,
)  # fmt: skip
ADD_EVENT: Final = Operation(
    "add_event", "POST", "/v1/memory/add_event", "Extract notes from messages, each with its evidence",
    r.AddEventRequest, r.AddEventResponse, tag=NOTES, is_slow=True,
)  # fmt: skip
SEARCH: Final = Operation(
    "search", "POST", "/v1/memory/search", "Find the notes that answer a query",
    r.SearchRequest, r.SearchResponse, tag=SEARCHES, errors=(ScopeDenied,), brief=b.BriefSearchResponse, reads=True,
)  # fmt: skip
GET_NOTE: Final = Operation(
    "get_note", "GET", "/v1/memory/notes/{note_id}", "Read one note",
    r.GetNoteRequest, r.NoteResponse, tag=NOTES, errors=(NotFound,),
)  # fmt: skip
LIST_NOTES: Final = Operation(
    "list_notes", "GET", "/v1/memory/list", "Read a page of notes, newest first",
    r.ListRequest, r.ListResponse, tag=NOTES, errors=(ScopeDenied,), brief=b.BriefListResponse,
)  # fmt: skip
UPDATE_NOTE: Final = Operation(
    "update_note", "POST", "/v1/memory/update", "Change a note in place",
    r.UpdateRequest, r.UpdateResponse, tag=NOTES, errors=(NotFound, ScopeDenied),
)  # fmt: skip
DELETE_NOTE: Final = Operation(
    "delete_note", "POST", "/v1/memory/delete", "Delete a note",
    r.DeleteRequest, r.DeleteResponse, tag=NOTES, errors=(NotFound, ScopeDenied),
)  # fmt: skip
FIND_IDS: Final = Operation(
    "find_ids", "GET", "/v1/memory/ids", "Find ids by how they begin",
    i.FindIdsRequest, i.FindIdsResponse, tag=NOTES,
)  # fmt: skip

NOTE_HISTORY: Final = Operation(
    "note_history", "GET", "/v1/memory/notes/{note_id}/history", "Read the versions of a note, newest first",
    a.HistoryRequest, a.HistoryResponse, tag=HISTORY, errors=(NotFound,),
)  # fmt: skip
RESTORE_NOTE: Final = Operation(
    "restore_note", "POST", "/v1/memory/notes/{note_id}/restore", "Make a version the note again",
    a.RestoreRequest, a.RestoreResponse, tag=HISTORY, errors=(NotFound, ScopeDenied),
)  # fmt: skip

SEARCH_EXPLAIN: Final = Operation(
    "search_explain", "GET", "/v1/memory/search/explain", "Explain one result of a search",
    t.ExplainRequest, t.ExplainResponse, tag=SEARCHES,
)  # fmt: skip
SEARCH_TRACES: Final = Operation(
    "search_traces", "GET", "/v1/memory/search/traces", "Read a page of an agent's searches, newest first",
    t.TracesRequest, t.TracesResponse, tag=SEARCHES,
)  # fmt: skip
SEARCH_TRACE: Final = Operation(
    "search_trace", "GET", "/v1/memory/search/traces/{trace_id}", "Read the whole trace of a search",
    t.TraceRequest, t.TraceResponse, tag=SEARCHES, errors=(NotFound,), brief=b.BriefTraceResponse,
)  # fmt: skip

OPERATIONS: Final = (
    ADD_NOTE,
    ADD_EVENT,
    SEARCH,
    GET_NOTE,
    LIST_NOTES,
    UPDATE_NOTE,
    DELETE_NOTE,
    FIND_IDS,
    NOTE_HISTORY,
    RESTORE_NOTE,
    SEARCH_EXPLAIN,
    SEARCH_TRACES,
    SEARCH_TRACE,
)
