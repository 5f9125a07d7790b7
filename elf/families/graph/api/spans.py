"""How the operations on the graph are called in traces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from elf.core.memory_spans import MemorySpan
from elf.families.graph.api import recalling as r
from elf.families.graph.api import writing as w
from elf.families.graph.api import writing_back as b


def _one(_: object) -> int:
    return 1


def _in_context(answer: Any) -> int:
    """Return how many memories a context tells of, each part by itself."""
    parts = (answer.bulletin, answer.recall, answer.findings)
    return sum(len(part.citations) for part in parts if part is not None)


_UPDATE: Final = MemorySpan(operation="update_memory", asked_for=_one)
_CHANGE: Final = MemorySpan(operation="update_memory", answered_with=lambda answer: len(answer.memories))
_WRITE_BACK: Final = MemorySpan(operation="upsert_memory", answered_with=lambda answer: len(answer.memories))

MEMORY_SPANS: Final[Mapping[str, MemorySpan]] = MappingProxyType(
    {
        w.WRITE.name: MemorySpan(operation="upsert_memory", asked_for=lambda asked: len(asked.memories)),
        **dict.fromkeys((w.UPDATE.name, w.RETRACT.name, w.RESTORE.name), _UPDATE),
        **dict.fromkeys((w.SUPERSEDE.name, w.RESOLVE.name), _CHANGE),
        **dict.fromkeys((b.TRANSCRIPT.name, b.OUTPUT.name, b.DIAGNOSTICS.name), _WRITE_BACK),
        r.RECALL.name: MemorySpan(operation="search_memory", answered_with=lambda answer: len(answer.nodes)),
        r.CONTEXT.name: MemorySpan(operation="search_memory", answered_with=_in_context),
    }
)
"""By the operation's name; what is not here is no operation of the conventions, and has no span."""
