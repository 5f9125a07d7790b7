"""What the conversations family offers, and the paths that it owns."""

from __future__ import annotations

from typing import Final

from elf.api.path_policy import PathPolicy
from elf.families.conversations.api.conversations import CONVERSATIONS
from elf.families.conversations.api.entries import ENTRIES
from elf.families.conversations.api.indexing import INDEXING
from elf.families.conversations.errors import STYLE, Missing

OPERATIONS: Final = (*CONVERSATIONS, *ENTRIES, *INDEXING)

_RESOURCES: Final = {
    "conversationId": "conversation",
    "entryId": "entry",
    "transferId": "ownership transfer",
    "userId": "membership",
}


def _missing(name: str, value: str) -> Missing:
    return Missing(_RESOURCES[name], value)


PATHS: Final = tuple(
    PathPolicy(prefix=prefix, error_style=STYLE, hides_methods=True, missing=_missing)
    for prefix in ("/v1/conversations", "/v1/ownership-transfers", "/v1/health")
)
