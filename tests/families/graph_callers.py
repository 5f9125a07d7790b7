"""Who calls the graph, which tells tenants and orchestrators apart, and knows no project.

Whoever is bound to no agent may name every orchestrator of its tenant. Others name the owner's, and say that
they are another one, are bound to the agent of another one, or ask for their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tests.families import callers
from tests.families.rows import CALLERS as OF_NOTES
from tests.families.rows import COLLEAGUE, FOREIGN, INCOMPLETE, STRANGER, Caller

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
        elif changes:
            yield replace(known, kind=INCOMPLETE, always=400) if None in changes.values() else known
        else:
            yield replace(known, kind=COLLEAGUE, always=None, naming="", leaves_out=frozenset())


CALLERS: Final = (*(one for one in _met(OF_NOTES) if one.changes), *OTHERS)
GUARDED: Final = (*_met(callers.GUARDED), *OTHERS)
