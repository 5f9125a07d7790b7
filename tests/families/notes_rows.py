"""The isolation table of the notes family: what somebody may be after, and who must not get it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

from tests.families.fronts import Reply
from tests.families.notes_world import PRIVATE, SHARED, Kept, NotesWorld
from tests.families.rows import (
    COLLEAGUE,
    EVERYBODY,
    FOREIGN,
    INCOMPLETE,
    NARROW,
    Arguments,
    Attempt,
    Kind,
    Row,
)
from tests.system.service import note

NOT_SHARED: Final = frozenset({FOREIGN, COLLEAGUE})
OUTSIDERS: Final = frozenset({FOREIGN})
NOT_ADDRESSED: Final = EVERYBODY - {INCOMPLETE}
NOT_SPEAKING: Final = EVERYBODY - {NARROW}
SHARED_ELSEWHERE: Final = frozenset({FOREIGN, INCOMPLETE})
ADDRESSED: Final = {INCOMPLETE: "operators see and forget all of a project unless they name an agent"}
WHOLE: Final = {**ADDRESSED, NARROW: "a read profile says what is read, not what is counted or forgotten"}
# So nothing that is private is written again by one that reads less than its agent.
OWN_WRITER: Final = "whoever writes for an agent is told which of its notes say the same"
EVERYTHING: Final = "it is about the service, not about anybody's notes"


def _changed(label: str, arguments: Callable[[Any, Any], Arguments], kinds: frozenset[Kind]) -> Attempt:
    """A change that callers of these kinds must not make; the others may."""
    return Attempt(label=label, arguments=arguments, refused=kinds, tried_by=kinds, owner_sees=False)


def _written(text: str, scope: str, **fields: Any) -> Arguments:
    return {"scope": scope, "notes": [note(text, **fields)]}


def _reweighed(kept: Kept) -> Arguments:
    return {"note_id": kept.note_id, "importance": 0.9}


def _much_like(text: str) -> str:
    """Another fact in nearly the same words, and never the same one twice."""
    return text.replace("a stone", f"stone {uuid4().int}")


def _searched(query: str, **fields: Any) -> Arguments:
    return {"query": query, "read_profile": "all_scopes", **fields}


def _beginning(kind: str, whole: str) -> Arguments:
    return {"kind": kind, "prefix": whole[:8]}


def _count_is_own(reply: Reply, own: NotesWorld | None) -> str | None:
    has, counted = 0 if own is None else own.count(), reply.body["notes"]
    return None if counted == has else f"has {has} notes and is told of {counted}"


ADDING: Final = Row(
    names=("add_note", "memory_add_note"),
    attempts=(
        Attempt(
            label="the private text again",
            arguments=lambda w, own: _written(w.private.text, PRIVATE),
            tried_by=NOT_SPEAKING,
        ),
        Attempt(label="the shared text again", arguments=lambda w, own: _written(w.shared.text, SHARED)),
        Attempt(
            label="much like the private text",
            arguments=lambda w, own: _written(_much_like(w.private.text), PRIVATE),
            tried_by=NOT_SPEAKING,
            owner_sees=False,
        ),
        Attempt(
            label="under the private key",
            arguments=lambda w, own: _written(w.private.text, PRIVATE, key=w.private.key),
            tried_by=NOT_SPEAKING,
        ),
    ),
)

EVENTS: Final = Row(
    names=("add_event", "memory_add_event"),
    attempts=(
        Attempt(label="the same conversation", arguments=lambda w, own: {"messages": w.messages}),
        Attempt(
            label="what would be stored",
            arguments=lambda w, own: {"messages": w.messages, "dry_run": True},
        ),
    ),
    open_to={NARROW: OWN_WRITER},
)

SEARCHING: Final = Row(
    names=("search", "memory_search"),
    attempts=(
        Attempt(label="the private text", arguments=lambda w, own: _searched(w.private.text)),
        Attempt(label="the shared text", arguments=lambda w, own: _searched(w.shared.text)),
        Attempt(
            label="only private notes",
            arguments=lambda w, own: _searched(w.private.text, read_profile="private_only"),
        ),
        Attempt(
            label="a private key",
            arguments=lambda w, own: _searched("spare key", filters={"key_prefix": w.private.key}),
        ),
    ),
)

READING: Final = (
    Row(
        names=("get_note", "memory_get"),
        attempts=(
            Attempt(
                label="a private id",
                arguments=lambda w, own: {"note_id": w.private.note_id},
                refused=EVERYBODY,
            ),
            Attempt(
                label="a shared id", arguments=lambda w, own: {"note_id": w.shared.note_id}, refused=OUTSIDERS
            ),
        ),
    ),
    Row(
        names=("list_notes", "memory_list"),
        attempts=(
            Attempt(label="all", arguments=lambda w, own: {}),
            Attempt(label="what a profile reads", arguments=lambda w, own: {"read_profile": "all_scopes"}),
            Attempt(label="private ones", arguments=lambda w, own: {"scope": PRIVATE}),
            Attempt(
                label="deleted ones",
                arguments=lambda w, own: {"read_profile": "all_scopes", "status": "deleted"},
            ),
            Attempt(
                label="behind another's cursor",
                arguments=lambda w, own: {"read_profile": "all_scopes", "cursor": w.note_cursor},
            ),
        ),
    ),
    Row(
        names=("note_history",),
        attempts=(
            Attempt(
                label="of a private id",
                arguments=lambda w, own: {"note_id": w.private.note_id},
                refused=EVERYBODY,
            ),
            Attempt(
                label="of a deleted private id",
                arguments=lambda w, own: {"note_id": w.deleted.note_id},
                refused=EVERYBODY,
            ),
            Attempt(
                label="of a shared id",
                arguments=lambda w, own: {"note_id": w.shared.note_id},
                refused=OUTSIDERS,
            ),
            Attempt(
                label="of an own note, behind another's cursor",
                arguments=lambda w, own: {"note_id": own.private.note_id, "cursor": w.version_cursor},
                by_owners=True,
            ),
        ),
    ),
    Row(
        names=("find_ids",),
        attempts=(
            Attempt(label="a private note", arguments=lambda w, own: _beginning("note", w.private.note_id)),
            Attempt(label="a shared note", arguments=lambda w, own: _beginning("note", w.shared.note_id)),
            Attempt(label="a version", arguments=lambda w, own: _beginning("version", w.private.version_id)),
            Attempt(
                label="a shared version", arguments=lambda w, own: _beginning("version", w.shared.version_id)
            ),
            Attempt(
                label="a search", arguments=lambda w, own: _beginning("search", w.common_search.trace_id)
            ),
            Attempt(label="a result", arguments=lambda w, own: _beginning("result", w.common_search.handle)),
        ),
    ),
)

EXPLAINING: Final = (
    Row(
        names=("search_explain",),
        attempts=(
            Attempt(
                label="the handle of a private result",
                arguments=lambda w, own: {"result_handle": w.private_search.handle},
                refused=EVERYBODY,
            ),
            Attempt(
                label="the handle of a shared result",
                arguments=lambda w, own: {"result_handle": w.common_search.handle},
                refused=NOT_SHARED,
            ),
        ),
    ),
    Row(
        names=("search_traces",),
        attempts=(
            Attempt(label="all", arguments=lambda w, own: {}),
            Attempt(label="behind another's cursor", arguments=lambda w, own: {"cursor": w.search_cursor}),
        ),
    ),
    Row(
        names=("search_trace", "memory_search_explain"),
        attempts=(
            Attempt(
                label="of a private search",
                arguments=lambda w, own: {"trace_id": w.private_search.trace_id},
                refused=EVERYBODY,
            ),
            Attempt(
                label="of a search of everything",
                arguments=lambda w, own: {"trace_id": w.common_search.trace_id},
                refused=EVERYBODY,
            ),
        ),
    ),
)

CHANGING: Final = (
    Row(
        names=("update_note", "memory_update"),
        attempts=(
            _changed("a private id", lambda w, own: _reweighed(w.private), EVERYBODY),
            _changed("a shared id", lambda w, own: _reweighed(w.shared), SHARED_ELSEWHERE),
        ),
    ),
    Row(
        names=("restore_note",),
        attempts=(
            Attempt(
                label="a deleted private id",
                arguments=lambda w, own: {"note_id": w.deleted.note_id},
                refused=EVERYBODY,
            ),
            _changed("a shared id", lambda w, own: {"note_id": w.shared.note_id}, SHARED_ELSEWHERE),
            Attempt(
                label="an own note from another's version",
                arguments=lambda w, own: {
                    "note_id": own.private.note_id,
                    "version_id": w.private.version_id,
                },
                refused=NOT_SHARED,
                by_owners=True,
                owner_sees=False,
            ),
        ),
    ),
    Row(
        names=("delete_note", "memory_delete"),
        attempts=(
            _changed("a private id", lambda w, own: {"note_id": w.doomed.note_id}, EVERYBODY),
            _changed("a shared id", lambda w, own: {"note_id": w.shared.note_id}, SHARED_ELSEWHERE),
        ),
    ),
)

COUNTING: Final = (
    Row(
        names=("ingest_decisions",),
        attempts=(
            Attempt(label="all", tried_by=NOT_ADDRESSED),
            Attempt(
                label="of a private note",
                arguments=lambda w, own: {"note_id": w.private.note_id},
                tried_by=NOT_ADDRESSED,
                owner_sees=False,
            ),
            Attempt(
                label="behind another's cursor",
                arguments=lambda w, own: {"cursor": w.decision_cursor},
                tried_by=NOT_ADDRESSED,
            ),
        ),
        open_to=ADDRESSED,
    ),
    Row(
        names=("count_forgettable",),
        attempts=(Attempt(label="how many", tried_by=NOT_SHARED, owner_sees=False, check=_count_is_own),),
        open_to=WHOLE,
    ),
)

INDEX: Final = Row(
    names=("rebuild_qdrant", "rebuild_progress", "index_drift", "index_repair", "overview"),
    whole_service=EVERYTHING,
)

FORGETTING: Final = Row(
    names=("forget_notes",),
    attempts=(Attempt(label="all", tried_by=NOT_SHARED, owner_sees=False),),
    open_to=WHOLE,
)

# First what tells of searches, then searches, then writes: each leaves the owner's words with whoever tried it. After
# the last, the owner has nothing left.
ROWS: Final = (
    *EXPLAINING, SEARCHING, *READING, *COUNTING, INDEX, ADDING, EVENTS, *CHANGING, FORGETTING,
)  # fmt: skip
