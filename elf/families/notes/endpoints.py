"""The endpoints of the notes family (section 15)."""

from __future__ import annotations

from elf.core.endpoint import Endpoint
from elf.families.notes import requests as r
from elf.families.notes.events import EventService
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
