"""The config tables of families, a file each: a family is on where the config file has its table.

Notes have no table of their own. Their tables are those that every config file has, and they are always on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from elf.config.table import Table
from elf.config.tables.assistant import AssistantTable
from elf.config.tables.conversations import ConversationsTable
from elf.config.tables.graph import GraphTable
from elf.config.tables.knowledge import KnowledgeTable
from elf.config.tables.store import StoreTable

TABLES: Final[Mapping[str, type[Table]]] = MappingProxyType(
    {
        "knowledge": KnowledgeTable,
        "conversations": ConversationsTable,
        "graph": GraphTable,
        "assistant": AssistantTable,
        "store": StoreTable,
    }
)
"""By the name of the family."""
