"""The changes that a file keeps until they were told, in their order."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import NamedTuple

from elf.families.graph.store.statements import Change, Snapshot


class KeptChange(NamedTuple):
    """What became of a memory; `by_memory_id` is the one that contradicts it.

    `event` is None where it is not to be told any more. `change_id` is what no change of any file is called but it.
    """

    change_no: int
    change_id: str
    event: str | None
    memory_id: str | None
    by_memory_id: str | None


def keep_changes(change: Change, *, is_on: bool) -> None:
    """Have changes kept from now on, or no more: then those that are kept go."""
    if change.run("switch_feed", is_on=is_on) and not is_on:
        drop_changes(change)


def are_changes_kept(snapshot: Snapshot) -> bool:
    """Tell whether there are changes to tell."""
    row = snapshot.row("are_changes_kept")
    return row is not None and bool(row[0])


def kept_changes(snapshot: Snapshot, *, limit: int) -> list[KeptChange]:
    """Return the first changes."""
    return [KeptChange(*row) for row in snapshot.rows("kept_changes", limit=limit)]


def remove_told(change: Change, last: KeptChange) -> None:
    """Remove all changes up to one."""
    change.run("remove_changes", last_no=last.change_no)


def drop_changes(change: Change, memory_ids: Collection[str] | None = None) -> None:
    """See that no change is told any more, or none that names one of some memories; nothing is left of them."""
    if memory_ids is None:
        change.run("drop_changes")
    else:
        change.run("blank_changes", memory_ids=json.dumps(list(memory_ids)))
