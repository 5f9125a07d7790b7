"""The isolation table finds what is let out: each leak is planted in a running service, and has to be found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.database_template import copy_template_for
from tests.families.every import EVERY_ROW, IDENTITIES, PROOFS, Proof
from tests.families.fronts import Fronts
from tests.families.here import running_here
from tests.families.identities import Identities
from tests.families.isolation import examine
from tests.families.leaks import BY_TENANT, Leak, queries_by_tenant
from tests.families.rows import World, rows_of
from tests.families.served import FAMILIES, guarded_config_of_all, loaded
from tests.folders import fresh_folder


@dataclass(frozen=True)
class Place:
    """A service in this process that asks who calls, into whose code leaks can be planted."""

    fronts: Fronts

    def settle(self, family: Proof) -> World:
        return family.settle(self.fronts, family.guarded)

    def let_out_by(self, leak: Leak) -> set[str]:
        """The operations offered here that a leak lets something out by."""
        return {name for name in leak.operations if self.fronts.offering(name)}

    def found(self, family: Proof, world: World, operations: Iterable[str]) -> set[str]:
        """The operations that let something out, as callers met it who should get nothing."""
        rows = rows_of(EVERY_ROW, operations)
        table = examine(
            self.fronts, world, rows, callers=family.guarded, owner=family.owner, until_found=True
        )
        return {finding.name for finding in table.findings if finding.caller != family.owner.name}


@pytest.fixture(scope="module")
def place(model_folder: Path) -> Iterator[Place]:
    """One that asks who calls: its callers are those of a service that asks nobody, and more."""
    known = Identities(IDENTITIES)
    with fresh_folder() as folder:
        path = guarded_config_of_all(folder, known, cache_dir=f'"{model_folder}"')
        copy_template_for(path)
        with running_here(loaded(path), known) as fronts:
            yield Place(fronts)


@pytest.fixture(scope="module")
def lasting(place: Place) -> Mapping[str, World]:
    """An owner in each family, for all leaks that leave nothing behind."""
    return {family.name: place.settle(family) for family in PROOFS}


def all_of(kind: str) -> list[Any]:
    """The leaks of this kind of every family, each with its family, as parameters."""
    return [
        pytest.param(family, leak, id=f"{family.name}: {leak.name}")
        for family in PROOFS
        for leak in getattr(family.leaks, kind)
    ]


@pytest.mark.parametrize(("family", "leak"), all_of("reading"))
def test_what_can_be_read_too_much_is_found(
    place: Place,
    lasting: Mapping[str, World],
    family: Proof,
    leak: Leak,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = lasting[family.name]
    leak.planted(monkeypatch, world)
    assert place.found(family, world, leak.operations) == place.let_out_by(leak)


@pytest.mark.parametrize("family", PROOFS, ids=lambda family: family.name)
def test_without_a_leak_nothing_is_found_in_the_same_place(
    place: Place, lasting: Mapping[str, World], family: Proof
) -> None:
    operations = chain.from_iterable(leak.operations for leak in family.leaks.reading)
    assert place.found(family, lasting[family.name], operations) == set()


@pytest.mark.parametrize(("family", "leak"), all_of("changing"))
def test_what_can_be_changed_too_much_is_found(
    place: Place, family: Proof, leak: Leak, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = place.settle(family)
    leak.planted(monkeypatch, world)
    assert place.found(family, world, leak.operations) == place.let_out_by(leak)


def test_every_query_of_a_tenant_is_let_out_once_or_said_to_be_behind_others() -> None:
    leaks = [leak for family in PROOFS for leak in (*family.leaks.reading, *family.leaks.changing)]
    tried = {leak.query for leak in leaks if BY_TENANT in leak.conditions}
    behind = {query for family in PROOFS for query in family.leaks.behind_others}
    assert {*queries_by_tenant(family.sql_folder for family in FAMILIES)} == tried | behind
    assert not tried & behind
