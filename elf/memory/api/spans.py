"""How the operations are called in traces."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from elf.core.memory_spans import MemorySpan
from elf.memory.api.context import CONTEXT
from elf.memory.api.recalling import RECALL

MEMORY_SPANS: Final[Mapping[str, MemorySpan]] = MappingProxyType(
    {
        RECALL.name: MemorySpan(operation="search_memory", answered_with=lambda answer: len(answer.items)),
        CONTEXT.name: MemorySpan(
            operation="search_memory", answered_with=lambda answer: len(answer.citations)
        ),
    }
)
