"""Who calls a service that asks who it is: everybody who must not get what an owner has.

The owner is the user ana with a token that is bound to her own project, or an agent of hers with a key.
"""

from __future__ import annotations

from typing import Final

from tests.families.identities import FREE, ROLES, Identity
from tests.families.rows import COLLEAGUE, FOREIGN, INCOMPLETE, NARROW, Caller

OWNER_PROJECT: Final = "ana"
ELSEWHERE: Final = "elsewhere"
SHARED_ONLY: Final = "shared_only"
"""A read profile of the config that reads nothing private."""

NOBODY: Final = Caller("nobody", FOREIGN, {}, identity=Identity("none"), always=401)
OWNER: Final = Caller("the owner", COLLEAGUE, {}, identity=Identity("token", user=OWNER_PROJECT))

_TENANT_KEY: Final = Identity("key", ("tenant_id", ELSEWHERE))
_PROJECT_KEY: Final = Identity("key", ("project_id", ELSEWHERE))
_AGENT_KEY: Final = Identity("key", ("agent_id", "a2"))
_PROFILE_KEY: Final = Identity("key", ("read_profile", SHARED_ONLY))


def _of_role(role: str) -> Caller:
    """A user of the owner's tenant, who has a project too."""
    identity = Identity("token", user=f"user-{role}", role=role)
    own = {"project_id": identity.user}
    return Caller(f"role {role}", FOREIGN, own, identity=identity, leaves_out=frozenset(own), role_alone=True)


GUARDED: Final = (
    NOBODY,
    Caller("wrong key", FOREIGN, {}, identity=Identity("key", wrong=True), always=401),
    Caller(
        "wrong token", FOREIGN, {}, identity=Identity("token", user=OWNER_PROJECT, wrong=True), always=401
    ),
    Caller(
        "key of tenant",
        FOREIGN,
        {"tenant_id": ELSEWHERE},
        identity=_TENANT_KEY,
        leaves_out=frozenset({"tenant_id"}),
    ),
    Caller("key of tenant, other named", FOREIGN, {}, identity=_TENANT_KEY, always=403),
    Caller(
        "key of project",
        FOREIGN,
        {"project_id": ELSEWHERE},
        identity=_PROJECT_KEY,
        leaves_out=frozenset({"project_id"}),
    ),
    Caller("key of project, other named", FOREIGN, {}, identity=_PROJECT_KEY, always=403),
    Caller(
        "key of agent",
        COLLEAGUE,
        {"agent_id": "a2"},
        is_owner=True,
        identity=_AGENT_KEY,
        leaves_out=frozenset({"agent_id"}),
    ),
    Caller("key of agent, other named", COLLEAGUE, {}, identity=_AGENT_KEY, always=403),
    Caller("key of profile", NARROW, {}, identity=_PROFILE_KEY, leaves_out=frozenset({"read_profile"})),
    Caller(
        "key of profile, other named",
        NARROW,
        {},
        identity=_PROFILE_KEY,
        naming="read_profile",
        always=403,
    ),
    Caller("free key, no tenant", INCOMPLETE, {"tenant_id": None}, identity=FREE, always=400),
    Caller("free key, no project", INCOMPLETE, {"project_id": None}, identity=FREE),
    Caller("free key, no agent", INCOMPLETE, {"agent_id": None}, identity=FREE),
    Caller(
        "another user",
        FOREIGN,
        {"project_id": "bob"},
        is_owner=True,
        identity=Identity("token", user="bob"),
        leaves_out=frozenset({"tenant_id", "project_id"}),
    ),
    Caller("another user, other named", FOREIGN, {}, identity=Identity("token", user="bob"), always=403),
    Caller(
        "user of another tenant",
        FOREIGN,
        {"tenant_id": "{0} of others"},
        identity=Identity("token", user=OWNER_PROJECT),
        leaves_out=frozenset({"tenant_id", "project_id"}),
    ),
    *map(_of_role, ROLES),
)
