"""How the operations on knowledge are called in traces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from elf.core.memory_spans import MemorySpan
from elf.families.knowledge.api import lifecycle as y
from elf.families.knowledge.api import searching as s
from elf.families.knowledge.api import writing as w


def _one(_: object) -> int:
    return 1


_UPSERT: Final = MemorySpan(operation="upsert_memory", asked_for=_one)
_UPSERT_ALL: Final = MemorySpan(operation="upsert_memory", asked_for=lambda asked: len(asked.items))
_SEARCH: Final = MemorySpan(operation="search_memory", answered_with=lambda answer: len(answer.items))
_UPDATE: Final = MemorySpan(operation="update_memory", asked_for=_one)

MEMORY_SPANS: Final[Mapping[str, MemorySpan]] = MappingProxyType(
    {
        **dict.fromkeys((w.STORE_EPISODE.name, w.STORE_FACT.name, w.STORE_RULE.name), _UPSERT),
        **dict.fromkeys((w.STORE_EPISODES.name, w.STORE_FACTS.name, w.STORE_RULES.name), _UPSERT_ALL),
        **dict.fromkeys((s.SEARCH.name, s.RECALL.name), _SEARCH),
        s.CONTEXT.name: MemorySpan(
            operation="search_memory", answered_with=lambda answer: len(answer.facts) + len(answer.rules)
        ),
        **dict.fromkeys((y.CONFIRM.name, y.MARK_HELPFUL.name, y.MARK_HARMFUL.name), _UPDATE),
        y.FORGET.name: MemorySpan(operation="delete_memory", asked_for=_one),
    }
)
"""By the operation's name; what is not here is no operation of the conventions, and has no span."""
