"""Conversations as plain lists in memory: what the store has to agree with, whatever is done.

A view is copied here at each fork, which is what the store never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from elf.families.conversations.model import Channel


@dataclass(frozen=True, slots=True)
class PlainEntry:
    """An entry: in which order it came, of all."""

    id: UUID
    number: int
    channel: Channel
    client: str | None
    epoch: int | None
    content_type: str
    content: list[Any]


@dataclass
class PlainConversation:
    inherited: list[PlainEntry] = field(default_factory=list)
    own: list[PlainEntry] = field(default_factory=list)
    parent: UUID | None = None
    forked_at: UUID | None = None

    @property
    def view(self) -> list[PlainEntry]:
        return [*self.inherited, *self.own]

    def visible(self, client: str | None) -> list[PlainEntry]:
        """What a client may fork at."""
        return [one for one in self.view if one.channel == "history" or one.client == client]


@dataclass
class PlainTree:
    """A tree of conversations by their ids, in the order in which they came."""

    conversations: dict[UUID, PlainConversation]
    written: int = 0

    def add(self, id: UUID, entry_id: UUID, channel: Channel, client: str | None, epoch: int | None,
            content_type: str, content: list[Any]) -> None:  # fmt: skip
        entry = PlainEntry(entry_id, self.written, channel, client, epoch, content_type, content)
        self.written += 1
        self.conversations[id].own.append(entry)

    def fork(self, of: UUID, entry_id: UUID, fork: UUID) -> UUID | None:
        """Add a fork; returns the entry right before the one at which it forks."""
        view = self.conversations[of].view
        place = next(place for place, one in enumerate(view) if one.id == entry_id)
        before = view[place - 1].id if place else None
        self.conversations[fork] = PlainConversation(inherited=view[:place], parent=of, forked_at=before)
        return before

    def latest(self, id: UUID, client: str | None) -> int | None:
        return max((one.epoch for one in self.memory(id, client) if one.epoch is not None), default=None)

    def memory(self, id: UUID, client: str | None) -> list[PlainEntry]:
        return [
            one for one in self.conversations[id].view if one.channel == "memory" and one.client == client
        ]

    def sync(
        self, id: UUID, client: str, content_type: str, items: list[Any]
    ) -> tuple[int | None, bool, list[Any] | None]:
        """Return the epoch, whether it is a new one beyond the first, and what is written of the items, if anything."""
        latest = self.latest(id, client)
        if latest is None:
            return (1, False, items) if items else (None, False, None)
        entries = [one for one in self.memory(id, client) if one.epoch == latest]
        stored = [item for one in entries for item in one.content]
        types = {one.content_type for one in entries}
        if stored == items and (types == {content_type} or not items):
            return latest, False, None
        if stored == items[: len(stored)] and len(items) > len(stored) and types == {content_type}:
            return latest, False, items[len(stored) :]
        return latest + 1, True, items

    def listed(self, id: UUID, *, history: bool, client: str | None, epoch: int | None) -> list[UUID]:
        return [one.id for one in self.conversations[id].view if _is_listed(one, history, client, epoch)]

    def all_listed(self, *, history: bool, client: str | None, epoch: int | None) -> list[UUID]:
        entries: Sequence[PlainEntry] = [one for each in self.conversations.values() for one in each.own]
        return [
            one.id
            for one in sorted(entries, key=lambda one: one.number)
            if _is_listed(one, history, client, epoch)
        ]


def _is_listed(entry: PlainEntry, history: bool, client: str | None, epoch: int | None) -> bool:
    if entry.channel == "history":
        return history
    return client is not None and entry.client == client and epoch in (None, entry.epoch)
