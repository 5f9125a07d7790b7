"""Whose memory a caller reaches: a user's own, and every one of the tenant where no user is proven."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from elf.api.caller import Caller
from elf.api.whose import USER_PATH, user_asked_for
from elf.core.errors import ScopeDenied
from elf.families.assistant.model import Place


@dataclass(frozen=True, slots=True)
class Access:
    """`proves_users` is whether the service asks callers to prove who they are; where it does not, a user's name is
    only a default. `allowlists` are the categories of each agent.
    """

    proves_users: bool
    allowlists: Mapping[str, Collection[str]] = field(default_factory=dict)

    def place(self, tenant_id: str, user_id: str | None, caller: Caller, *, path: str = USER_PATH) -> Place:
        """Return whose memory is asked for.

        Raises ScopeDenied, naming the path, when it is another user's, and InvalidRequest when nobody says whose.
        """
        return Place(tenant_id, user_asked_for(user_id, caller, proves_users=self.proves_users, path=path))

    def categories(self, caller: Caller, *, wanted: str | None = None) -> list[str] | None:
        """Return the categories that a caller reaches, of which `wanted` is to be one; None: all.

        An agent by its key reaches those of its list. Raises ScopeDenied where it has none, or `wanted` is not in it.
        """
        agent = caller.bound.get("agent_id")
        if agent is None:
            return None if wanted is None else [wanted]
        allowed = self.allowlists.get(agent)
        if allowed is None:
            path = "$.agent_id"
            raise ScopeDenied(f"{path}: no agent {agent} has a list of categories", fields=[path])
        if wanted is not None and wanted not in allowed:
            path = "$.category"
            raise ScopeDenied(f"{path}: {agent} may not reach {wanted}", fields=[path])
        return sorted(allowed) if wanted is None else [wanted]

    def reaches(self, caller: Caller, category: str) -> bool:
        """Tell whether a caller reaches a category. Raises ScopeDenied for an agent without a list."""
        reached = self.categories(caller)
        return reached is None or category in reached


def actor_of(caller: Caller) -> str | None:
    """Return who is told to have done it: the user, or else the client."""
    return caller.user or caller.client
