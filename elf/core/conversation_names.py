"""Which conversation a name means: each user has conversations of any names, and each name is an id.

Once a conversation of the name was deleted, the name stands for another id, which the family of conversations knows.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

import msgspec

NAMESPACE: Final = UUID("6f4b6c39-52e5-4dc1-9a56-3c4f9a0d7e21")
"""Of the ids that are made of names."""


def conversation_id_of(tenant_id: str, user: str | None, name: str) -> UUID:
    """Return the id of a user's first conversation of this name; a name that is an id is that of the conversation."""
    try:
        return UUID(name)
    except ValueError:
        return id_of_names("conversation", tenant_id, user, name)


def is_id(name: str) -> bool:
    """Tell whether the name of a conversation is an id, which always means the same conversation."""
    try:
        UUID(name)
    except ValueError:
        return False
    return True


def id_of_names(kind: str, *names: str | None) -> UUID:
    """Return the id of whatever these names are of."""
    return uuid5(NAMESPACE, msgspec.json.encode([kind, *names]).decode())
