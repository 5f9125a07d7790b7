"""How the operations on notes are called in traces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from elf.core.memory_spans import MemorySpan
from elf.families.notes.api import operations as o


def _one(_: object) -> int:
    return 1


MEMORY_SPANS: Final[Mapping[str, MemorySpan]] = MappingProxyType(
    {
        o.ADD_NOTE.name: MemorySpan(operation="upsert_memory", asked_for=lambda asked: len(asked.notes)),
        o.ADD_EVENT.name: MemorySpan(
            operation="upsert_memory", answered_with=lambda answer: len(answer.extracted)
        ),
        o.SEARCH.name: MemorySpan(operation="search_memory", answered_with=lambda answer: len(answer.items)),
        o.UPDATE_NOTE.name: MemorySpan(operation="update_memory", asked_for=_one),
        o.RESTORE_NOTE.name: MemorySpan(operation="update_memory", asked_for=_one),
        o.DELETE_NOTE.name: MemorySpan(operation="delete_memory", asked_for=_one),
    }
)
"""By the operation's name. Reading single notes and lists is no operation of the conventions, and has no span."""
