"""Who may see and write what: the tenant is the wall, the scope of a user belongs to that user alone, and what comes
from a user is not there for calls with another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from elf.api.caller import Caller
from elf.core.errors import ScopeDenied

USER_SCOPE: Final = "user:"
NAMES_USER: Final = ("user_id", "user")
"""The keys of metadata that name the user whom a memory is from, the first one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a caller reaches: a tenant, of the scopes user:<id> `own_scope` or none (""), and of what comes from users
    that of the `user` whom a call is for, or all where it is for none.

    `agent` is the one that the caller is bound to. `actor` is who is told in events: the user, or else the client.
    """

    tenant_id: str
    own_scope: str = ""
    user: str | None = None
    agent: str | None = None
    actor: str | None = None

    @property
    def seen(self) -> list[str | None]:
        """What the statements know it by: knowledge_reaches() says of a memory whether it is seen."""
        return [self.own_scope, self.user, self.agent]

    def allow(self, scope: str | None, path: str) -> None:
        """Raise ScopeDenied, naming the path, for a scope, or an agent, that is another user's."""
        if scope is not None and scope.startswith(USER_SCOPE) and scope != self.own_scope:
            raise ScopeDenied(f"{path}: this scope belongs to one user alone", fields=[path])

    def owner(self, scope: str, metadata: Mapping[str, Any], path: str) -> str | None:
        """Return the user whom a memory is from that is about to be stored in a scope, or by an agent of this name.

        Raises ScopeDenied, naming the path, for metadata that names another user.
        """
        owner = scope.removeprefix(USER_SCOPE) if scope.startswith(USER_SCOPE) else self.user
        named = {key: str(metadata[key]) for key in NAMES_USER if metadata.get(key) not in (None, "")}
        for key, name in named.items():
            if owner is not None and name != owner:
                where = f"{path}.metadata.{key}"
                raise ScopeDenied(f"{where}: names another user than the one it is from", fields=[where])
        return owner if owner is not None else next(iter(named.values()), None)

    def may_change(self, user_id: str | None) -> bool:
        """Tell whether who asks may change what everybody sees: a call for a user changes what is that user's."""
        return self.user is None or user_id == self.user


def reach_of(tenant_id: str, caller: Caller) -> Reach:
    """Return what a caller reaches in a tenant."""
    return Reach(
        tenant_id=tenant_id,
        own_scope="" if caller.user is None else f"{USER_SCOPE}{caller.user}",
        user=caller.named_user,
        agent=caller.bound.get("agent_id"),
        actor=caller.user or caller.client,
    )
