"""Who calls the assistant family, which tells tenants and users apart, and agents by their categories.

Whoever proves no user and is bound to no tenant may name every user of the tenant. Others are users who name the owner,
or ask for their own, and an agent that may not read what the owner's memories are about.
"""

from __future__ import annotations

from typing import Final

from tests.families import callers
from tests.families.callers import OWNER_PROJECT
from tests.families.identities import FREE, ROLES, Identity
from tests.families.rows import CALLERS as OF_NOTES
from tests.families.rows import FOREIGN, INCOMPLETE, NARROW, STRANGER, Caller

USER: Final = OWNER_PROJECT
NARROW_AGENT: Final = "researcher"
"""An agent of the default allowlists that reads none of the categories of the owner's memories."""
APART: Final = ("tenant_id", "user_id")

_TENANT: Final = frozenset({"tenant_id"})
_BOB: Final = Identity("token", user="bob", role="user")


def _caller(name: str, kind: callers.Kind, **changes: str | None) -> Caller:
    return Caller(name, kind, changes, apart=APART)


OWNER: Final = Caller("the owner", callers.COLLEAGUE, {}, identity=callers.OWNER.identity, apart=APART)

CALLERS: Final = (
    *(Caller(one.name, FOREIGN, one.changes, apart=APART) for one in OF_NOTES
      if one.changes.keys() == {"tenant_id"} and None not in one.changes.values()),
    _caller("another user", FOREIGN, user_id="{0}2"),
    _caller("capital user", FOREIGN, user_id="{upper}"),
    _caller("a pattern of users", FOREIGN, user_id="%"),
    _caller("no user", INCOMPLETE, user_id=None),
    Caller("no tenant", FOREIGN, {"tenant_id": None}, apart=APART, always=400),
)  # fmt: skip


def _of_role(role: str) -> Caller:
    identity = Identity("token", user=f"user-{role}", role=role)
    return Caller(f"role {role}", STRANGER, {}, identity=identity, role_alone=True, apart=APART)


GUARDED: Final = (
    *(one for one in callers.GUARDED if one.always == 401),
    *(
        Caller(one.name, FOREIGN, one.changes, identity=one.identity, leaves_out=one.leaves_out, always=one.always,
               apart=APART)
        for one in callers.GUARDED
        if one.identity is not None and one.identity.bound is not None and one.identity.bound[0] == "tenant_id"
    ),
    Caller("free key, no tenant", FOREIGN, {"tenant_id": None}, identity=FREE, always=400, apart=APART),
    Caller("free key, no user", INCOMPLETE, {"user_id": None}, identity=FREE, apart=APART),
    Caller("free key, another user", FOREIGN, {"user_id": "{0}2"}, identity=FREE, apart=APART),
    Caller(
        "key of agent", NARROW, {}, identity=Identity("key", ("agent_id", NARROW_AGENT)),
        leaves_out=frozenset({"agent", "agent_id"}), apart=APART,
    ),
    Caller("another user, other named", STRANGER, {}, identity=_BOB, leaves_out=_TENANT, apart=APART),
    Caller("another user", FOREIGN, {"user_id": "bob"}, identity=_BOB, leaves_out=_TENANT, apart=APART),
    Caller(
        "user of another tenant", FOREIGN, {"tenant_id": "{0} of others"}, identity=Identity("token", user=USER),
        leaves_out=_TENANT, apart=APART,
    ),
    *map(_of_role, ROLES),
)  # fmt: skip
