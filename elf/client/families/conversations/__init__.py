"""The client of conversations: what users and agents said, and what agents remember of it."""

from __future__ import annotations

from elf.client.families.conversations.client import ConversationsClient
from elf.client.families.conversations.results import (
    Context,
    Conversation,
    Entry,
    Fork,
    Line,
    Membership,
    SearchPage,
    SearchResult,
    Session,
    ShownSession,
    Synced,
    Transfer,
    WrittenSession,
)

__all__ = [
    "Context",
    "Conversation",
    "ConversationsClient",
    "Entry",
    "Fork",
    "Line",
    "Membership",
    "SearchPage",
    "SearchResult",
    "Session",
    "ShownSession",
    "Synced",
    "Transfer",
    "WrittenSession",
]
