"""Who may see and write what: the tenant is the wall, and the scope of a user belongs to that user alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from elf.api.caller import Caller
from elf.core.errors import ScopeDenied

USER_SCOPE: Final = "user:"


@dataclass(frozen=True, slots=True)
class Reach:
    """What a caller reaches: a tenant, and of the scopes user:<id>, which statements know as own_scope, one or none.

    `actor` is who is told in events: the user, or else the client.
    """

    tenant_id: str
    own_scope: str
    actor: str | None

    def allow(self, scope: str | None, path: str) -> None:
        """Raise ScopeDenied, naming the path, for a scope, or an agent, that is another user's."""
        if scope is not None and scope.startswith(USER_SCOPE) and scope != self.own_scope:
            raise ScopeDenied(f"{path}: this scope belongs to one user alone", fields=[path])


def reach_of(tenant_id: str, caller: Caller) -> Reach:
    """Return what a caller reaches in a tenant."""
    own = "" if caller.user is None else f"{USER_SCOPE}{caller.user}"
    return Reach(tenant_id, own, caller.user or caller.client)
