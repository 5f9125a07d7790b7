"""Nobody is told of another's memory, by whatever is offered: the isolation table, every cell of it.

`ops/test -s tests/families/test_isolation.py` prints it. A number is how many requests a cell took; a dash stands
where there is nothing to try, which the row says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.families.every import EVERY_ROW, IDENTITIES, PROOFS, SERVICE_ROWS, Proof
from tests.families.fronts import Fronts
from tests.families.identities import Identities
from tests.families.isolation import examine, without_row
from tests.families.rows import Caller
from tests.families.served import fronts_of, guarded_config_of_all, service_of_all
from tests.folders import fresh_folder


def test_everything_that_is_offered_stands_in_the_table(fronts: Fronts) -> None:
    assert without_row(fronts, EVERY_ROW) == []


@pytest.mark.parametrize("family", PROOFS, ids=lambda family: family.name)
def test_nobody_is_served_or_told_what_is_anothers(fronts: Fronts, family: Proof) -> None:
    _assert_isolated(fronts, family, family.callers)


@pytest.fixture(scope="module")
def guarded(model_folder: Path) -> Iterator[Fronts]:
    """The fronts of a service that asks who calls."""
    with fresh_folder() as folder:
        known = Identities(IDENTITIES)
        config = guarded_config_of_all(folder, known, cache_dir=f'"{model_folder}"')
        with (
            service_of_all(config) as service,
            fronts_of(service.url, service.admin_url, service.mcp_url, known) as fronts,
        ):
            yield fronts


@pytest.mark.parametrize("family", PROOFS, ids=lambda family: family.name)
def test_nobody_is_told_anothers_whatever_it_proves_itself_to_be(guarded: Fronts, family: Proof) -> None:
    _assert_isolated(guarded, family, family.guarded)


def _assert_isolated(fronts: Fronts, family: Proof, callers: Sequence[Caller]) -> None:
    world = family.settle(fronts, callers)
    table = examine(fronts, world, [*SERVICE_ROWS, *family.rows], callers=callers, owner=family.owner)
    print(f"\n{table}")  # noqa: T201 - the table is to be read
    assert [str(finding) for finding in table.findings] == []


def test_what_stands_in_no_row_is_named_with_what_to_add(fronts: Fronts) -> None:
    rows = [row for row in EVERY_ROW if not {"search", "memory_get"} & {*row.names}]
    complaints = without_row(fronts, rows)
    assert [complaint.split(" stands")[0] for complaint in complaints] == [
        "the operation search (POST /v1/memory/search) of the public front",
        "the operation get_note (GET /v1/memory/notes/{note_id}) of the public front",
        "the tool memory_search of mcp",
        "the tool memory_get of mcp",
    ]
    assert 'add a Row with the name "search" to the rows of its family' in complaints[0]
