"""What carries out the operations of the notes family: by the name of each, the method that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from elf.api.caller import Caller
from elf.api.operation import Answer, Handler, Operation, Outcome, for_anyone
from elf.core.scopes import Readable, ScopeRules
from elf.families.notes.api import admin_operations as p
from elf.families.notes.api import operations as o
from elf.families.notes.keeping.forgetting import NoteForgetting
from elf.families.notes.keeping.index_admin import IndexAdmin
from elf.families.notes.keeping.overview import NoteOverview
from elf.families.notes.reading.decision_audit import DecisionAudit
from elf.families.notes.reading.explain import SearchExplainer
from elf.families.notes.reading.history import NoteHistory
from elf.families.notes.reading.id_lookup import IdLookup
from elf.families.notes.reading.search import NoteSearch
from elf.families.notes.writing.events import EventService
from elf.families.notes.writing.service import NoteService

ProfileHandler: TypeAlias = Callable[[Any, Readable], Awaitable[Answer]]
"""Carries out an operation for somebody who may read these scopes."""


def note_handlers(
    notes: NoteService,
    events: EventService,
    search: NoteSearch,
    ids: IdLookup,
    history: NoteHistory,
    explainer: SearchExplainer,
    scopes: ScopeRules,
) -> dict[str, Handler]:
    """Return what does OPERATIONS."""
    # These have the read profile in their requests, or read nothing.
    as_asked: dict[Operation, Callable[[Any], Awaitable[Answer]]] = {
        o.ADD_NOTE: notes.add_note,
        o.ADD_EVENT: events.add_event,
        o.SEARCH: search.search,
        o.LIST_NOTES: notes.page,
    }
    within_profile: dict[Operation, ProfileHandler] = {
        o.GET_NOTE: notes.get,
        o.UPDATE_NOTE: notes.update,
        o.DELETE_NOTE: notes.delete,
        o.FIND_IDS: ids.find,
        o.NOTE_HISTORY: history.page,
        o.RESTORE_NOTE: history.restore,
        o.SEARCH_EXPLAIN: explainer.explain,
        o.SEARCH_TRACES: explainer.page,
        o.SEARCH_TRACE: explainer.trace,
    }
    return {
        **{operation.name: for_anyone(handle) for operation, handle in as_asked.items()},
        **{operation.name: for_reader(handle, scopes) for operation, handle in within_profile.items()},
    }


def note_admin_handlers(
    decisions: DecisionAudit,
    index: IndexAdmin,
    forgetting: NoteForgetting,
    overview: NoteOverview,
    scopes: ScopeRules,
) -> dict[str, Handler]:
    """Return what does ADMIN_OPERATIONS."""
    done_by: dict[Operation, Callable[[Any], Awaitable[Answer]]] = {
        p.REBUILD: index.rebuild,
        p.REBUILD_PROGRESS: index.progress,
        p.INDEX_DRIFT: index.drift,
        p.INDEX_REPAIR: index.repair,
        p.COUNT_FORGETTABLE: forgetting.count,
        p.FORGET_NOTES: forgetting.forget,
        p.OVERVIEW: overview.read,
    }
    return {
        p.INGEST_DECISIONS.name: for_reader(decisions.page, scopes),
        **{operation.name: for_anyone(handle) for operation, handle in done_by.items()},
    }


def for_reader(handle: ProfileHandler, scopes: ScopeRules) -> Handler:
    """Return a handler that reads nothing beyond the read profile that binds its caller, if one does."""

    async def handled(request: Any, caller: Caller) -> Outcome:
        profile = caller.bound.get("read_profile")
        return await handle(request, None if profile is None else scopes.readable(profile))

    return handled
