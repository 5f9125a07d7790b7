"""Who calls the conversations family, which tells users and their clients apart: nobody names a project or an agent.

The owner is the user ana, by her client. Others are users of her tenant and of another one, herself by another client
or by none, and whoever proves no user at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.families.callers import OWNER_PROJECT
from tests.families.identities import ROLES, Identity
from tests.families.rows import COLLEAGUE, FOREIGN, NARROW, STRANGER, Caller, Kind

ANA: Final = OWNER_PROJECT
CLIENT: Final = "agent"
OTHER_CLIENT: Final = "other-agent"
PLACE: Final = frozenset({"tenant_id", "user"})
"""What no request names: the tenant is the token's, and who asks is nothing that one chooses."""


def somebody(
    name: str,
    kind: Kind,
    user: str,
    client: str = "",
    *,
    role: str = "user",
    changes: Mapping[str, str | None] = {},
    role_alone: bool = False,
) -> Caller:
    """A caller who is a user, whose name may have the owner's in it, and maybe comes by a client."""
    said = {"Authorization": f"Bearer {user}"} | ({"X-Client-ID": client} if client else {})
    return Caller(
        name,
        kind,
        changes,
        identity=Identity("token", user=user.format(user=ANA), role=role, client=client),
        leaves_out=PLACE,
        role_alone=role_alone,
        apart=("tenant_id",),
        says=said,
    )


def _without_user(name: str, identity: Identity) -> Caller:
    return Caller(name, FOREIGN, {}, identity=identity, leaves_out=PLACE, always=401)


def friend(name: str) -> Caller:
    """Another user of the owner's tenant, by a name that no other owner's friends have."""
    return somebody(name, STRANGER, f"{name}-of-{{user}}")


OWNER: Final = somebody("the owner", COLLEAGUE, "{user}", CLIENT, role="admin")
REMOVED: Final = friend("removed")

CALLERS: Final = (
    somebody("another user", STRANGER, "bob-of-{user}", CLIENT),
    somebody("capitals", STRANGER, "A{user}", CLIENT),
    somebody("a pattern", STRANGER, "%"),
    REMOVED,
    somebody("another client", COLLEAGUE, "{user}", OTHER_CLIENT),
    somebody("no client", NARROW, "{user}"),
    Caller("no name", STRANGER, {}, leaves_out=PLACE),
)
GUARDED: Final = (
    *CALLERS[:-1],
    _without_user("nobody", Identity("none")),
    _without_user("wrong key", Identity("key", wrong=True)),
    _without_user("wrong token", Identity("token", user=ANA, wrong=True)),
    _without_user("key of tenant", Identity("key", ("tenant_id", "elsewhere"), role="user")),
    _without_user("free key", Identity("key", role="user")),
    somebody(
        "user of another tenant",
        FOREIGN,
        "{user}",
        CLIENT,
        role="admin",
        changes={"tenant_id": "{0} of others"},
    ),
    *(
        somebody(f"role {role}", STRANGER, f"user-{role}", CLIENT, role=role, role_alone=True)
        for role in ROLES
    ),
)
