"""Puts the conversations family to work in a process."""

from __future__ import annotations

from elf.db.queries import Queries, sql_folder
from elf.families.conversations.index_texts import IndexTexts
from elf.families.conversations.model import FAMILY
from elf.families.conversations.service import ConversationService, EntryService
from elf.families.conversations.sharing import TreeSharing
from elf.families.conversations.store import ConversationStore
from elf.family import Opened
from elf.ground import Ground


def open_conversations(ground: Ground) -> Opened:
    """Return the conversations family at work. Raises StartupError when its statements cannot be read."""
    if not ground.roles.serves:
        return Opened()
    queries = Queries.load(sql_folder() / FAMILY)
    store = ConversationStore(ground.database, ground.clock, queries)
    services = (
        ConversationService(store, TreeSharing(ground.database, ground.clock, queries)),
        EntryService(store),
        IndexTexts(ground.database, queries),
    )
    done_by = {operation: handle for service in services for operation, handle in service.handlers().items()}
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()})
