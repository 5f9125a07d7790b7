"""Checkpoints and items of LangGraph in ELF: the extra `langgraph` of the package."""

from __future__ import annotations

from elf.langgraph.migration import Migrated, MigrationFault, migrate
from elf.langgraph.saver import ElfSaver
from elf.langgraph.serializer import TypeNotAllowed
from elf.langgraph.store import ElfStore

__all__ = ["ElfSaver", "ElfStore", "Migrated", "MigrationFault", "TypeNotAllowed", "migrate"]
