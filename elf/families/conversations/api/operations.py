"""What the conversations family offers, and the paths that it owns."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.api.path_policy import PathPolicy
from elf.config.tables.conversations import Bounds
from elf.families.conversations.api.admin import ADMINISTRATION, EVICT_PATH, ROOT
from elf.families.conversations.api.bounded import bounded
from elf.families.conversations.api.context import CONTEXTS
from elf.families.conversations.api.conversations import CONVERSATIONS
from elf.families.conversations.api.entries import ENTRIES
from elf.families.conversations.api.indexing import INDEXING
from elf.families.conversations.api.recording import RECORDING
from elf.families.conversations.api.search import SEARCHING
from elf.families.conversations.api.sessions import SESSIONS, SESSIONS_ROOT
from elf.families.conversations.errors import STYLE, Missing

OPERATIONS: Final = (
    *CONVERSATIONS, *ENTRIES, *CONTEXTS, *SESSIONS, *INDEXING, *SEARCHING, *RECORDING, *ADMINISTRATION,
)  # fmt: skip


def operations_of(bounds: Bounds) -> tuple[Operation, ...]:
    """Return the operations with the bounds of a config."""
    return tuple(bounded(operation, bounds) for operation in OPERATIONS)


_RESOURCES: Final = {
    "conversationId": "conversation",
    "entryId": "entry",
    "transferId": "ownership transfer",
    "userId": "membership",
}


def _missing(name: str, value: str) -> Missing:
    return Missing(_RESOURCES[name], value)


_PREFIXES: Final = (
    "/v1/conversations", "/v1/ownership-transfers", SESSIONS_ROOT, "/v1/health", ROOT, EVICT_PATH,
)  # fmt: skip
PATHS: Final = tuple(
    PathPolicy(prefix=prefix, error_style=STYLE, hides_methods=True, missing=_missing) for prefix in _PREFIXES
)
