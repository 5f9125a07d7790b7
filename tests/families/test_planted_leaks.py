"""The isolation table finds what is let out: each leak is planted in a running service, and has to be found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from elf.config import load
from tests.families.every import EVERY_ROW
from tests.families.fronts import Fronts
from tests.families.here import running_here
from tests.families.isolation import OWNER, Row, World, examine
from tests.families.leaks import BY_TENANT, Leak, queries_by_tenant
from tests.families.notes_leaks import BEHIND_OTHERS, LEAKS, READ, WRITE
from tests.families.notes_world import settle
from tests.folders import fresh_folder
from tests.system.service import write_config


@pytest.fixture(scope="module")
def fronts(model_folder: Path) -> Iterator[Fronts]:
    """A service in this process, into whose code leaks can be planted."""
    with fresh_folder() as folder:
        config = load(write_config(folder, cache_dir=f'"{model_folder}"'))
        with running_here(config) as fronts:
            yield fronts


@pytest.fixture(scope="module")
def lasting(fronts: Fronts) -> World:
    """An owner for all leaks that change nothing."""
    return settle(fronts)


def rows_of(operations: Iterable[str]) -> list[Row]:
    """The rows of these operations alone, in the order of the table."""
    wanted = {*operations}
    narrowed = [replace(row, names=[name for name in row.names if name in wanted]) for row in EVERY_ROW]
    return [row for row in narrowed if row.names]


def found(fronts: Fronts, world: World, operations: Iterable[str]) -> set[str]:
    """The operations that let something out, as callers met it who should get nothing."""
    findings = examine(fronts, world, rows_of(operations)).findings
    return {finding.name for finding in findings if finding.caller != OWNER}


@pytest.mark.parametrize("leak", READ, ids=lambda leak: leak.name)
def test_what_can_be_read_too_much_is_found(
    fronts: Fronts, lasting: World, leak: Leak, monkeypatch: pytest.MonkeyPatch
) -> None:
    leak.planted(monkeypatch, lasting)
    assert found(fronts, lasting, leak.operations) == {*leak.operations}


def test_without_a_leak_nothing_is_found_in_the_same_place(fronts: Fronts, lasting: World) -> None:
    assert found(fronts, lasting, chain.from_iterable(leak.operations for leak in READ)) == set()


@pytest.mark.parametrize("leak", WRITE, ids=lambda leak: leak.name)
def test_what_can_be_changed_too_much_is_found(
    fronts: Fronts, leak: Leak, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = settle(fronts)
    leak.planted(monkeypatch, world)
    assert found(fronts, world, leak.operations) == {*leak.operations}


def test_every_query_of_a_tenant_is_let_out_once_or_said_to_be_behind_others() -> None:
    tried = {leak.query for leak in LEAKS if BY_TENANT in leak.conditions}
    assert {*queries_by_tenant()} == tried | BEHIND_OTHERS.keys()
    assert not tried & BEHIND_OTHERS.keys()
