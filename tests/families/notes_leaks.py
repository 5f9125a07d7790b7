"""Leaks of the notes family, of which the isolation table has to find each."""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn
from uuid import UUID

import pytest

from elf.core.errors import ScopeDenied
from elf.core.scopes import Readable
from elf.db.ids import random_ids
from elf.families.notes.api.requests import GetNoteRequest
from elf.families.notes.reading import search
from elf.families.notes.reading.visibility import check_readable
from tests.families.leaks import (
    BY_AGENT,
    BY_PROFILE,
    BY_PROJECT,
    BY_RULE,
    BY_TENANT,
    Condition,
    Leak,
    Leaks,
    index_without,
    patched,
)

BY_NOTE: Final = Condition("notes", re.compile(r"v\.note_id = (\$1)"), "uuid")

# What no request of a healthy service reaches: another filter stands before it, or it is asked only in an outage.
BEHIND_OTHERS: Final = {
    "texts_of_notes": "the notes are those of a trace that was found to be the caller's",
    "exact_search": "asked while the index is away, and what it finds is read by read_candidates",
    "same_text_in_group": "asked while no vector can be made",
    **dict.fromkeys(
        (
            "next_project", "lock_subject_notes", "erase_decisions", "export_notes", "take_in_versions",
            "take_in_decisions", "take_in_note_sources",
        ),
        "it is of whoever stands above all families, of which no request asks yet",
    ),
}  # fmt: skip


def _hand_out_anothers_id(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Searches get the id that a search of the owner has."""

    def copied(count: int) -> list[UUID]:
        return [UUID(world.private_search.trace_id), *random_ids(count - 1)]

    patch.setattr(search, "random_ids", copied)


def _forbid_rather_than_deny(note: Any, request: GetNoteRequest, readable: Readable) -> Any:
    """Refuses a note that is there otherwise than one that is not."""
    if note is not None and request.tenant_id not in (None, note.tenant_id):
        _forbid()
    return check_readable(note, request, readable)


def _forbid() -> NoReturn:
    raise ScopeDenied("this note is another tenant's")


def _always(*_: object) -> bool:
    return True


# By query, the operations that tell what it reads, and the conditions that each keep them from telling more.
READING: Final = {
    "list_notes": ("list_notes", (BY_TENANT, BY_PROJECT, BY_RULE)),
    "notes_by_id_range": ("find_ids", (BY_TENANT, BY_RULE)),
    "versions_by_id_range": ("find_ids", (BY_TENANT, BY_RULE)),
    "traces_by_id_range": ("find_ids", (BY_TENANT, BY_AGENT)),
    "results_by_id_range": ("find_ids", (BY_TENANT, BY_AGENT)),
    "list_traces": ("search_traces", (BY_TENANT, BY_PROJECT, BY_AGENT)),
    "list_decisions": ("ingest_decisions", (BY_TENANT,)),
    "count_notes_of": ("count_forgettable", (BY_TENANT, BY_PROJECT)),
    "texts_of_notes": ("search_explain", (BY_RULE,)),
}

BOUND: Final = (
    *(
        Leak(
            name=f"{query} does not heed the profile that binds",
            query=query,
            conditions=(BY_PROFILE,),
            operations=(operation,),
        )
        for query, operation in {
            "notes_by_id_range": "find_ids",
            "versions_by_id_range": "find_ids",
            "traces_by_id_range": "find_ids",
            "results_by_id_range": "find_ids",
            "list_traces": "search_traces",
            "list_decisions": "ingest_decisions",
        }.items()
    ),
    Leak(
        name="reading by id whatever profile binds",
        plant=patched("elf.families.notes.reading.visibility.is_readable", _always),
        operations=("get_note", "note_history", "memory_get"),
    ),
    Leak(
        name="explanations whatever profile binds",
        plant=patched("elf.families.notes.reading.explain.is_readable", _always),
        operations=("search_explain", "search_trace", "memory_search_explain"),
    ),
    Leak(
        name="nothing that binds is held",
        plant=patched("elf.web.parsing.bound_values", lambda model, values, caller: dict(values)),
        operations=("get_note", "note_history", "list_notes", "find_ids", "search_explain", "search_traces"),
    ),
)

READING_LEAKS: Final = (
    *BOUND,
    *(
        Leak(
            name=f"{query} does not tell {condition.what} apart",
            query=query,
            conditions=(condition,),
            operations=(operation,),
        )
        for query, (operation, conditions) in READING.items()
        for condition in conditions
    ),
    Leak(
        name="explanations for everybody",
        plant=patched("elf.families.notes.reading.explain._is_of", _always),
        operations=("search_explain", "search_trace", "memory_search_explain"),
    ),
    Leak(
        name="reading by id without a rule",
        plant=patched("elf.families.notes.reading.visibility._may_read", _always),
        operations=("get_note", "note_history", "memory_get"),
    ),
    Leak(
        name="a refusal that says what is there",
        plant=patched("elf.families.notes.writing.service.check_readable", _forbid_rather_than_deny),
        operations=("get_note", "memory_get"),
    ),
    Leak(
        name="pages of other sites",
        plant=patched("elf.config.access.Visitors.refusal", lambda *_: None),
        operations=("search_traces", "overview"),
    ),
)

CHANGING_LEAKS: Final = (
    Leak(
        name="search of every tenant",
        query="read_candidates",
        conditions=(BY_TENANT,),
        plant=index_without("tenant_id"),
        operations=("search", "memory_search"),
    ),
    Leak(
        name="search of every agent",
        query="read_candidates",
        conditions=(BY_RULE,),
        plant=index_without("agent_id"),
        operations=("search", "memory_search"),
    ),
    Leak(name="a copied id", plant=_hand_out_anothers_id, operations=("search",)),
    Leak(
        name="alike notes of every tenant",
        query="nearest_in_group",
        conditions=(BY_TENANT,),
        operations=("add_note", "memory_add_note", "add_event"),
    ),
    Leak(
        name="alike notes of every agent",
        query="nearest_in_group",
        conditions=(BY_AGENT,),
        operations=("add_note",),
    ),
    Leak(
        name="keys of every tenant",
        query="lock_notes_by_key",
        conditions=(BY_TENANT,),
        operations=("add_note",),
    ),
    Leak(
        name="changes by id without a rule",
        plant=patched("elf.families.notes.reading.visibility.is_within", _always),
        operations=("update_note", "delete_note", "restore_note"),
    ),
    Leak(
        name="changes by id whatever profile binds",
        plant=patched("elf.families.notes.reading.visibility.is_readable", _always),
        operations=("update_note", "delete_note", "restore_note"),
    ),
    Leak(
        name="versions of every note",
        query="get_version",
        conditions=(BY_NOTE,),
        operations=("restore_note",),
    ),
    Leak(
        name="forgetting in every tenant",
        query="lock_notes_of",
        conditions=(BY_TENANT,),
        operations=("forget_notes",),
    ),
)

LEAKS: Final = Leaks(reading=READING_LEAKS, changing=CHANGING_LEAKS, behind_others=BEHIND_OTHERS)
