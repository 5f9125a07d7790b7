"""How the operations of the assistant are called in traces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from elf.core.memory_spans import MemorySpan
from elf.families.assistant.api import memories as m
from elf.families.assistant.api import procedures as p
from elf.families.assistant.api import querying as q
from elf.families.assistant.api import turn as t


def _one(_: object) -> int:
    return 1


MEMORY_SPANS: Final[Mapping[str, MemorySpan]] = MappingProxyType(
    {
        **dict.fromkeys(
            (m.ADD.name, p.ADD_PROCEDURE.name), MemorySpan(operation="upsert_memory", asked_for=_one)
        ),
        q.QUERY.name: MemorySpan(operation="search_memory", answered_with=lambda answer: len(answer.items)),
        **dict.fromkeys(
            (m.UPDATE.name, m.PIN.name, m.RESTORE.name), MemorySpan(operation="update_memory", asked_for=_one)
        ),
        t.TAKE.name: MemorySpan(operation="upsert_memory", answered_with=lambda answer: len(answer.results)),
        m.DELETE.name: MemorySpan(operation="delete_memory", asked_for=_one),
    }
)
"""By the operation's name; what is not here is no operation of the conventions, and has no span."""
