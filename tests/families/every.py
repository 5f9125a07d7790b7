"""Every family of memory, as the checks of this folder know it. A family adds one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.families import notes_leaks, notes_rows, notes_work, notes_world
from tests.families.fronts import Fronts
from tests.families.leaks import Leaks
from tests.families.rows import Row, World
from tests.families.work import FamilyWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a family brings to be proven.

    Its rows of the isolation table, an owner to try them on, and leaks that they have to find; and its random work,
    with the proof that it is there.
    """

    name: str
    rows: Sequence[Row]
    settle: Callable[[Fronts], World]
    leaks: Leaks
    work: FamilyWork[Any]


NOTES: Final = Proof(
    name="notes",
    rows=notes_rows.ROWS,
    settle=notes_world.settle,
    leaks=notes_leaks.LEAKS,
    work=notes_work.NotesWork(),
)
FAMILIES: Final = (NOTES,)

# What the service offers whatever its families are.
SERVICE_ROWS: Final = (
    Row(names=("health", "ready"), whole_service="whether the service is up tells nothing of what it keeps"),
    Row(
        names=("collect_garbage",), whole_service="it tidies up for everybody, and tells no more than counts"
    ),
    Row(
        names=("rebuild_index", "index_progress", "compare_index", "repair_index"),
        asked={"corpus": "notes"},
        whole_service="an index is kept right as a whole, and no more than counts and ids are told of it",
    ),
)
EVERY_ROW: Final = (*SERVICE_ROWS, *(row for family in FAMILIES for row in family.rows))
