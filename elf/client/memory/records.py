"""What is kept as plain dicts, in the shapes that users of mem0 know. An `id` is an address: family/kind/id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from elf.client.families.assistant.results import HistoryRow
from elf.client.families.assistant.results import Memory as AssistantMemory
from elf.client.families.knowledge.results import Fact, Rule
from elf.client.families.memories import Item, RecalledItem
from elf.client.memory.inputs import Address
from elf.client.results import Note, NoteVersion
from elf.core.nobody import agent_of


class Added(TypedDict):
    """What became of something that was said. `event` is ADD, UPDATE, NONE (known already), or REJECTED."""

    id: str | None
    memory: str
    event: str
    reason: NotRequired[str | None]


class AddedAll(TypedDict):
    """What was made of what was said. `remembered` asks for it later; `pending` families are not done with it.

    `refused` families do not take it, and why, such as NON_ENGLISH_INPUT. `skipped` messages had something else than
    text: the place of each, why, and what was left out.
    """

    results: list[Added]
    remembered: NotRequired[str]
    pending: NotRequired[list[str]]
    refused: NotRequired[dict[str, str]]
    skipped: NotRequired[list[dict[str, Any]]]


class Record(TypedDict):
    """Something that is kept. Moments are of ISO 8601; `metadata` is what was given with it. None: not known."""

    id: str
    memory: str
    metadata: dict[str, Any]
    created_at: str | None
    updated_at: str | None
    user_id: str | None
    agent_id: str | None
    run_id: str | None


class Found(Record):
    """Something that answers a query: `score` ranks it, `relevance` is on one scale for all queries; None: unknown.

    `also` has the ids of others that say the same, such as the note of another agent.
    """

    score: float
    relevance: float | None
    also: list[str]


class FoundAll(TypedDict):
    """What answers a query, best first."""

    results: list[Found]


class Listed(TypedDict):
    """What is kept, changed last first."""

    results: list[Record]


class Change(TypedDict):
    """A change of something that is kept: its text before and after, None where there was, or is, none."""

    id: str
    memory_id: str
    old_memory: str | None
    new_memory: str | None
    event: str
    created_at: str
    is_deleted: bool
    actor_id: str | None


class Told(TypedDict):
    """What was done, in words."""

    message: str


class Deleted(Told):
    """What was done. `remaining` are addresses of entries that still hold the words."""

    remaining: list[str]


class ForgottenAll(Deleted):
    """What was forgotten of somebody: how many items; and what was `left`, each address or family with the reason."""

    forgotten: int
    left: dict[str, str]


def record_of_item(item: Item, user_id: str | None) -> Record:
    """Return an item as it is recalled and read: both moments are when it was said, or last changed."""
    at = _moment(item.at)
    return Record(
        id=item.address, memory=item.text, metadata=item.metadata, created_at=at, updated_at=at, user_id=user_id,
        agent_id=item.agent_id, run_id=item.conversation,
    )  # fmt: skip


def found_of(item: RecalledItem, user_id: str | None) -> Found:
    """Return an item of an answer."""
    also = [str(Address(one.family, one.kind, one.id)) for one in item.also]
    return Found(**record_of_item(item, user_id), score=item.score, relevance=item.relevance, also=also)


def record_of_note(note: Note) -> Record:
    """Return a note of a user's project."""
    metadata, thread = note.source_ref.get("metadata"), note.source_ref.get("thread")
    return Record(
        id=f"notes/note/{note.note_id}", memory=note.text, metadata=metadata if isinstance(metadata, dict) else {},
        created_at=_moment(note.created_at), updated_at=_moment(note.updated_at), user_id=note.project_id,
        agent_id=agent_of(note.agent_id), run_id=thread if isinstance(thread, str) and thread else None,
    )  # fmt: skip


def record_of_memory(memory: AssistantMemory) -> Record:
    """Return a memory of the assistant's."""
    return Record(
        id=f"assistant/memory/{memory.id}", memory=memory.text, metadata={}, created_at=_moment(memory.created_at),
        updated_at=_moment(memory.updated_at), user_id=memory.user_id, agent_id=agent_of(memory.agent_id),
        run_id=memory.thread_id,
    )  # fmt: skip


def record_of_knowledge(memory: Fact | Rule, user_id: str) -> Record:
    """Return a fact or a rule in the scope of a user."""
    text = memory.content
    if isinstance(memory, Fact):
        text = f"{memory.subject} {memory.predicate}: {memory.content}"
    return Record(
        id=f"knowledge/{memory.memory_type}/{memory.id}", memory=text, metadata={},
        created_at=_moment(memory.created_at), updated_at=_moment(memory.created_at), user_id=user_id,
        agent_id=agent_of(memory.source_butler), run_id=None,
    )  # fmt: skip


def changes_of_note(address: Address, versions: Sequence[NoteVersion]) -> list[Change]:
    """Return the versions of a note, newest first, as changes, oldest first."""
    return [
        _change(address, str(one.version_id), one.op, one.ts, one.actor, (one.prev_snapshot, one.new_snapshot))
        for one in reversed(versions)
    ]  # fmt: skip


def changes_of_memory(address: Address, rows: Sequence[HistoryRow]) -> list[Change]:
    """Return what became of a memory of the assistant's, newest first, as changes, oldest first."""
    return [
        _change(address, str(one.id), one.event, one.ts, one.actor, (one.old_ref, one.new_ref))
        for one in reversed(rows)
    ]


def _change(
    address: Address, id: str, event: str, ts: datetime, actor: str | None, snapshots: tuple[Any, Any]
) -> Change:
    old, new = (None if one is None else one.get("text") for one in snapshots)
    return Change(
        id=id, memory_id=str(address), old_memory=old, new_memory=new, event=event, created_at=ts.isoformat(),
        is_deleted=event == "DELETE", actor_id=actor,
    )  # fmt: skip


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
