"""What callers prove of themselves, where they are asked who they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.core.errors import Unauthorized

ROLES: Final[Mapping[str, frozenset[str]]] = {
    "user": frozenset(),
    "indexer": frozenset({"indexer"}),
    "auditor": frozenset({"auditor"}),
    "admin": frozenset({"indexer", "auditor", "admin"}),
}
_HEADER: Final = "X-API-Key"


@dataclass(frozen=True, slots=True)
class Identity:
    """A key that is bound to some fields, or the token of a user: it is bound to a tenant, and to a project of its own.

    One that is `wrong` proves nothing.
    """

    proof: Literal["none", "key", "token"]
    bound: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    role: str = "admin"
    wrong: bool = False


class Identities:
    """The identities that a service knows."""

    def headers(self, identity: Identity, context: Mapping[str, str]) -> Mapping[str, str]:
        """What a request proves it with. A token is of the tenant of this context."""
        if identity.proof == "none":
            return {}
        bound = dict(identity.bound)
        if identity.proof == "token":
            bound |= {"tenant_id": context.get("tenant_id", "default"), "project_id": identity.user}
        known = {"user": identity.user, "bound": bound, "role": identity.role, "wrong": identity.wrong}
        return {_HEADER: json.dumps(known)}


async def identify(headers: Headers) -> Caller:
    """Who is told by these headers."""
    known = json.loads(headers.get(_HEADER, "null"))
    if known is None or known["wrong"]:
        raise Unauthorized("say who you are")
    return Caller(
        user=known["user"] or None,
        client="bot",
        roles=ROLES[known["role"]],
        bound=known["bound"],
        needed=frozenset({"tenant_id"}),
    )


FREE: Final = Identity("key")
"""An operator, whom nothing binds."""
