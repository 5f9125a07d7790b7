"""Who has which role."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from elf.config.auth import RoleHolders

ADMIN: Final = "admin"
AUDITOR: Final = "auditor"
INDEXER: Final = "indexer"
USER: Final = "user"


ROLES: Final = (USER, INDEXER, AUDITOR, ADMIN)
"""All roles, by how much they open."""


def highest(roles: Collection[str]) -> str | None:
    """Return the role that opens most; None when there is none."""
    return next((role for role in reversed(ROLES) if role in roles), None)


def roles_of(
    holders: Mapping[str, RoleHolders],
    *,
    user: str | None,
    client: str | None,
    claimed: Collection[str] = (),
    given: str = USER,
) -> frozenset[str]:
    """Return the roles of a caller by the config: `claimed` are those of its token, `given` that of its key.

    `user` is None where a key names the user: the role of a key bounds what it does for anybody.
    """
    roles = {USER, given}
    for role, who in holders.items():
        if user in who.users or client in who.clients or not set(who.claims).isdisjoint(claimed):
            roles.add(role)
    if ADMIN in roles:
        roles |= {AUDITOR, INDEXER}
    return frozenset(roles)
