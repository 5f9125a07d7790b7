"""The endpoints of the notes family (section 15)."""

from __future__ import annotations

from elf.core.endpoint import Endpoint
from elf.families.notes import audit_requests as a
from elf.families.notes import forgetting as g
from elf.families.notes import index_admin as x
from elf.families.notes import operations as o
from elf.families.notes import overview as v
from elf.families.notes.decision_audit import DecisionAudit
from elf.families.notes.events import EventService
from elf.families.notes.explain import SearchExplainer
from elf.families.notes.forgetting import NoteForgetting
from elf.families.notes.history import NoteHistory
from elf.families.notes.id_lookup import IdLookup
from elf.families.notes.index_admin import IndexAdmin
from elf.families.notes.overview import NoteOverview
from elf.families.notes.search import NoteSearch
from elf.families.notes.service import NoteService


def note_endpoints(
    notes: NoteService, events: EventService, search: NoteSearch, ids: IdLookup
) -> list[Endpoint]:
    """Return the operations on notes, bound to the services that carry them out."""
    return [
        o.ADD_NOTE.handled_by(notes.add_note),
        o.ADD_EVENT.handled_by(events.add_event),
        o.SEARCH.handled_by(search.search),
        o.GET_NOTE.handled_by(notes.get),
        o.LIST_NOTES.handled_by(notes.page),
        o.UPDATE_NOTE.handled_by(notes.update),
        o.DELETE_NOTE.handled_by(notes.delete),
        o.FIND_IDS.handled_by(ids.find),
    ]


def history_endpoints(history: NoteHistory) -> list[Endpoint]:
    """Return the operations on the history of a note."""
    return [o.NOTE_HISTORY.handled_by(history.page), o.RESTORE_NOTE.handled_by(history.restore)]


def trace_endpoints(explainer: SearchExplainer) -> list[Endpoint]:
    """Return the operations that explain searches."""
    return [
        o.SEARCH_EXPLAIN.handled_by(explainer.explain),
        o.SEARCH_TRACES.handled_by(explainer.page),
        o.SEARCH_TRACE.handled_by(explainer.trace),
    ]


def note_admin_endpoints(
    decisions: DecisionAudit, index: IndexAdmin, forgetting: NoteForgetting, overview: NoteOverview
) -> list[Endpoint]:
    """Return the operations for operators; they are served on the admin address only."""
    return [
        Endpoint(
            "ingest_decisions", "GET", "/v1/admin/ingest_decisions", "Read what became of incoming notes, newest first",
            a.DecisionsRequest, a.DecisionsResponse, decisions.page, tag="audit",
        ),
        Endpoint(
            "rebuild_qdrant", "POST", "/v1/admin/rebuild_qdrant", "Write the index anew from the vectors in Postgres",
            x.RebuildRequest, x.RebuildResponse, index.rebuild, tag="index",
        ),
        Endpoint(
            "rebuild_progress", "GET", "/v1/admin/rebuild_qdrant", "Say how far the rebuild of the index is",
            x.RebuildProgressRequest, x.RebuildProgress, index.progress, tag="index",
        ),
        Endpoint(
            "index_drift", "GET", "/v1/admin/index_drift", "Compare the index with Postgres",
            x.DriftRequest, x.DriftResponse, index.drift, tag="index",
        ),
        Endpoint(
            "index_repair", "POST", "/v1/admin/index_repair", "Mend what differs between the index and Postgres",
            x.RepairRequest, x.RepairResponse, index.repair, tag="index",
        ),
        Endpoint(
            "count_forgettable", "GET", "/v1/admin/forget", "Say how many notes would be forgotten",
            g.ForgetRequest, g.ForgetCount, forgetting.count, tag="notes",
        ),
        Endpoint(
            "forget_notes", "POST", "/v1/admin/forget", "Delete the notes of a project, or of one agent in it",
            g.ForgetRequest, g.ForgetResponse, forgetting.forget, tag="notes",
        ),
        Endpoint(
            "overview", "GET", "/v1/admin/overview", "Say how many notes there are, what waits, and the disk it takes",
            v.OverviewRequest, v.Overview, overview.read, tag="notes",
        ),
    ]  # fmt: skip
