"""The endpoints of the notes family (section 15)."""

from __future__ import annotations

from elf.core.endpoint import Endpoint
from elf.families.notes import audit_requests as a
from elf.families.notes import index_admin as x
from elf.families.notes import requests as r
from elf.families.notes import trace_requests as t
from elf.families.notes.decision_audit import DecisionAudit
from elf.families.notes.events import EventService
from elf.families.notes.explain import SearchExplainer
from elf.families.notes.history import NoteHistory
from elf.families.notes.index_admin import IndexAdmin
from elf.families.notes.search import NoteSearch
from elf.families.notes.service import NoteService


def note_endpoints(notes: NoteService, events: EventService, search: NoteSearch) -> list[Endpoint]:
    """Return the operations on notes, bound to the services that carry them out."""
    return [
        Endpoint(
            "add_note", "POST", "/v1/memory/add_note", "Store notes exactly as given",
            r.AddNoteRequest, r.AddNoteResponse, notes.add_note,
        ),
        Endpoint(
            "add_event", "POST", "/v1/memory/add_event", "Extract notes from messages, each with its evidence",
            r.AddEventRequest, r.AddEventResponse, events.add_event,
        ),
        Endpoint(
            "search", "POST", "/v1/memory/search", "Find the notes that answer a query",
            r.SearchRequest, r.SearchResponse, search.search,
        ),
        Endpoint(
            "get_note", "GET", "/v1/memory/notes/{note_id}", "Read one note",
            r.GetNoteRequest, r.NoteResponse, notes.get,
        ),
        Endpoint(
            "list_notes", "GET", "/v1/memory/list", "Read a page of notes, newest first",
            r.ListRequest, r.ListResponse, notes.page,
        ),
        Endpoint(
            "update_note", "POST", "/v1/memory/update", "Change a note in place",
            r.UpdateRequest, r.UpdateResponse, notes.update,
        ),
        Endpoint(
            "delete_note", "POST", "/v1/memory/delete", "Delete a note",
            r.DeleteRequest, r.DeleteResponse, notes.delete,
        ),
    ]  # fmt: skip


def history_endpoints(history: NoteHistory) -> list[Endpoint]:
    """Return the operations on the history of a note."""
    return [
        Endpoint(
            "note_history", "GET", "/v1/memory/notes/{note_id}/history", "Read the versions of a note, newest first",
            a.HistoryRequest, a.HistoryResponse, history.page,
        ),
        Endpoint(
            "restore_note", "POST", "/v1/memory/notes/{note_id}/restore", "Make a version the note again",
            a.RestoreRequest, a.RestoreResponse, history.restore,
        ),
    ]  # fmt: skip


def trace_endpoints(explainer: SearchExplainer) -> list[Endpoint]:
    """Return the operations that explain searches."""
    return [
        Endpoint(
            "search_explain", "GET", "/v1/memory/search/explain", "Explain one result of a search",
            t.ExplainRequest, t.ExplainResponse, explainer.explain,
        ),
        Endpoint(
            "search_traces", "GET", "/v1/memory/search/traces", "Read a page of an agent's searches, newest first",
            t.TracesRequest, t.TracesResponse, explainer.page,
        ),
        Endpoint(
            "search_trace", "GET", "/v1/memory/search/traces/{trace_id}", "Read the whole trace of a search",
            t.TraceRequest, t.TraceResponse, explainer.trace,
        ),
    ]  # fmt: skip


def note_admin_endpoints(decisions: DecisionAudit, index: IndexAdmin) -> list[Endpoint]:
    """Return the operations for operators; they are served on the admin address only."""
    return [
        Endpoint(
            "ingest_decisions", "GET", "/v1/admin/ingest_decisions", "Read what became of incoming notes, newest first",
            a.DecisionsRequest, a.DecisionsResponse, decisions.page,
        ),
        Endpoint(
            "rebuild_qdrant", "POST", "/v1/admin/rebuild_qdrant", "Write the index anew from the vectors in Postgres",
            x.RebuildRequest, x.RebuildResponse, index.rebuild,
        ),
        Endpoint(
            "rebuild_progress", "GET", "/v1/admin/rebuild_qdrant", "Say how far the rebuild of the index is",
            x.RebuildProgressRequest, x.RebuildProgress, index.progress,
        ),
        Endpoint(
            "index_drift", "GET", "/v1/admin/index_drift", "Compare the index with Postgres",
            x.DriftRequest, x.DriftResponse, index.drift,
        ),
        Endpoint(
            "index_repair", "POST", "/v1/admin/index_repair", "Mend what differs between the index and Postgres",
            x.RepairRequest, x.RepairResponse, index.repair,
        ),
    ]  # fmt: skip
