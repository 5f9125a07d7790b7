"""The client of the assistant family."""

from __future__ import annotations

from elf.client.families.assistant.conversing import Conversing
from elf.client.families.assistant.filing import Filing
from elf.client.families.assistant.keeping import Keeping
from elf.client.families.assistant.overseeing import Overseeing
from elf.client.families.assistant.reading import Reading
from elf.client.families.assistant.remembering import Remembering
from elf.client.family import C_co


class AssistantClient(
    Keeping[C_co], Overseeing[C_co], Filing[C_co], Reading[C_co], Remembering[C_co], Conversing[C_co]
):  # help lists what the last of them has first
    """What an assistant remembers of its users. docs/assistant.md shows it.

    A graph of LangGraph keeps its checkpoints by `elf.langgraph.ElfSaver`, and an agent of Claude its files by
    `elf.claude.ElfMemoryTool`.
    """

    name = "assistant"
    about = "what an assistant remembers of its users"
    owned_by = ("tenant_id",)
