"""The clients of the families of memory, a module each. The methods of notes are those of the clients themselves.

A family is listed here, which makes it a command of the command line, and is a property of its name in `Connection`.
"""

from __future__ import annotations

from typing import Any, Final

from elf.client.families.assistant import AssistantClient
from elf.client.families.conversations import ConversationsClient
from elf.client.families.graph import GraphClient
from elf.client.families.knowledge import KnowledgeClient
from elf.client.families.memories import MemoriesClient
from elf.client.families.store import StoreClient
from elf.client.families.webhooks import WebhooksClient
from elf.client.family import FamilyClient

FAMILY_CLIENTS: Final[tuple[type[FamilyClient[Any]], ...]] = (
    KnowledgeClient,
    ConversationsClient,
    GraphClient,
    AssistantClient,
    StoreClient,
    WebhooksClient,
    MemoriesClient,
)
