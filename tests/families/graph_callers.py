"""Who calls the graph, which tells tenants, orchestrators and users apart, and knows no project.

The owner is a user who uses the memory of an orchestrator. Whoever is bound to no agent may name every orchestrator of
its tenant, and a key without a user has all of it. Others name the owner's orchestrator, and say that they are another
one, are bound to the agent of another one, or ask for their own. Another user of the tenant is NARROW: such a one has
of the same memory what is everybody's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tests.families import callers
from tests.families.identities import ROLES, Identity
from tests.families.rows import CALLERS as OF_NOTES
from tests.families.rows import COLLEAGUE, FOREIGN, INCOMPLETE, NARROW, STRANGER, Caller

APART: Final = ("tenant_id", "orchestrator_id")
SAME: Final = "requesting_orchestrator_id"

OTHERS: Final = (
    Caller("another orchestr.", FOREIGN, {"orchestrator_id": "{0}2", SAME: None}, apart=APART),
    Caller("capital orchestr.", FOREIGN, {"orchestrator_id": "{upper}", SAME: None}, apart=APART),
    Caller("folder above", FOREIGN, {"orchestrator_id": "..", SAME: None}, apart=APART),
    Caller("way around", FOREIGN, {"orchestrator_id": "x/../{0}", SAME: None}, apart=APART),
    Caller("said to be another", STRANGER, {SAME: "{0}2"}, apart=APART),
    Caller("no orchestr.", INCOMPLETE, {"orchestrator_id": None}, apart=APART),
)


def _met(several: Sequence[Caller]) -> Iterator[Caller]:
    """Callers as the graph meets them: of what notes tell apart it knows the tenant, and the agent of a key."""
    for one in several:
        changes = {key: value for key, value in one.changes.items() if key == "tenant_id"}
        bound = one.identity.bound if one.identity is not None else None
        known = replace(one, changes=changes, apart=APART, is_owner=False)
        if one.always == 401 or (bound is not None and bound[0] == "tenant_id"):
            yield known
        elif bound is not None and bound[0] == "agent_id":
            yield replace(known, kind=STRANGER, always=None, leaves_out=frozenset())
        elif one.identity is not None and one.identity.proof == "token" and not changes:
            continue  # users of the same tenant are below
        elif changes:
            yield replace(known, kind=INCOMPLETE, always=400) if None in changes.values() else known
        else:
            yield replace(known, kind=COLLEAGUE, always=None, naming="", leaves_out=frozenset())


CALLERS: Final = (*(one for one in _met(OF_NOTES) if one.changes), *OTHERS)


def _user(name: str, role: str) -> Caller:
    identity = Identity("token", user=name, role=role)
    return Caller(
        f"{name}, role {role}", NARROW, {}, identity=identity, apart=APART, role_alone=role != "user"
    )


USERS: Final = tuple(_user("bob", role) for role in ROLES)
GUARDED: Final = (*_met(callers.GUARDED), *USERS, *OTHERS)
