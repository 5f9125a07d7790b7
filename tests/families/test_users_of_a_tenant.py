"""What comes from one user of a tenant does not exist for another, by whatever is offered: every cell of the table.

`ops/test -s tests/families/test_users_of_a_tenant.py` prints it. Then each check that keeps users apart is taken out of
the running service, one at a time, and the table has to find that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from elf.memory.manifest import MEMORY
from tests.database_template import copy_template_for
from tests.families.fronts import Fronts
from tests.families.here import running_here
from tests.families.identities import Identities
from tests.families.isolation import Table, examine
from tests.families.leaks import Leak
from tests.families.rows import World, rows_of
from tests.families.served import FAMILIES, guarded_config_of_all, loaded
from tests.families.stdio_front import StdioFronts
from tests.families.tenant_users import (
    BY_KEY,
    IDENTITIES,
    OWNER_BY_KEY,
    USER_PROOFS,
    UsersProof,
)
from tests.folders import fresh_folder


@pytest.fixture(scope="module")
def fronts(model_folder: Path) -> Iterator[Fronts]:
    """Those of a service in this process that asks who calls."""
    known = Identities(IDENTITIES)
    with fresh_folder() as folder:
        path = guarded_config_of_all(folder, known, cache_dir=f'"{model_folder}"')
        copy_template_for(path)
        with running_here(loaded(path), known) as fronts:
            yield fronts


@pytest.fixture(scope="module")
def lasting(fronts: Fronts) -> Mapping[str, World]:
    """What a user has in each family, for all checks that leave it as it is."""
    return {proof.name: proof.settle(fronts, proof.callers) for proof in USER_PROOFS}


def table_of(
    fronts: Fronts, proof: UsersProof, world: World, operations: Iterable[str], *, until_found: bool = False
) -> Table:
    rows = rows_of(proof.rows, operations)
    return examine(fronts, world, rows, callers=proof.callers, owner=proof.owner, until_found=until_found)


@pytest.mark.parametrize("proof", USER_PROOFS, ids=lambda proof: proof.name)
def test_what_comes_from_one_user_does_not_exist_for_another(fronts: Fronts, proof: UsersProof) -> None:
    world = proof.settle(fronts, proof.callers)
    table = examine(fronts, world, proof.rows, callers=proof.callers, owner=proof.owner)
    print(f"\n{table}")  # noqa: T201 - the table is to be read
    assert [str(finding) for finding in table.findings] == []


@pytest.mark.parametrize("proof", USER_PROOFS, ids=lambda proof: proof.name)
def test_nor_does_it_over_standard_input(fronts: Fronts, proof: UsersProof) -> None:
    world = proof.settle(fronts, proof.callers)
    at = {f"/{front.name}": front for front in fronts.tools}
    families = {one.name: at[one.mcp_path] for one in FAMILIES if one.name in (proof.name, MEMORY.name)}
    with StdioFronts(fronts.public.url, fronts.identities, families) as over_stdio:
        table = examine(over_stdio, world, proof.rows, callers=BY_KEY, owner=OWNER_BY_KEY)
    print(f"\n{table}")  # noqa: T201 - the table is to be read
    assert table.requests > 20
    assert [str(finding) for finding in table.findings] == []


def leaks_of(kind: str) -> list[Any]:
    return [
        pytest.param(proof, leak, id=f"{proof.name}: {leak.name}")
        for proof in USER_PROOFS
        for leak in getattr(proof, kind)
    ]


def found(fronts: Fronts, proof: UsersProof, world: World, leak: Leak) -> set[str]:
    """The operations by which somebody else than the owner got something."""
    table = table_of(fronts, proof, world, leak.operations, until_found=True)
    return {one.name for one in table.findings if one.caller != proof.owner.name}


@pytest.mark.parametrize(("proof", "leak"), leaks_of("reading"))
def test_a_check_that_is_taken_out_is_found(
    fronts: Fronts,
    lasting: Mapping[str, World],
    proof: UsersProof,
    leak: Leak,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = lasting[proof.name]
    leak.planted(monkeypatch, world)
    assert found(fronts, proof, world, leak) == {*leak.operations}


@pytest.mark.parametrize(("proof", "leak"), leaks_of("changing"))
def test_a_check_of_changes_that_is_taken_out_is_found(
    fronts: Fronts, proof: UsersProof, leak: Leak, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = proof.settle(fronts, proof.callers)
    leak.planted(monkeypatch, world)
    assert found(fronts, proof, world, leak) == {*leak.operations}
