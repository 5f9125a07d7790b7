"""The client of the assistant: what it remembers of its users, by category."""

from __future__ import annotations

from elf.client.families.assistant.client import AssistantClient
from elf.client.families.assistant.inputs import Acknowledgement, Filters, Message
from elf.client.families.assistant.results import Answer, Bullet, FullMemory, Memory, TurnTaken

__all__ = [
    "Acknowledgement",
    "Answer",
    "AssistantClient",
    "Bullet",
    "Filters",
    "FullMemory",
    "Memory",
    "Message",
    "TurnTaken",
]
