"""Ids made in bulk are those that the standard library would make."""

from __future__ import annotations

from uuid import RFC_4122, UUID

from elf.db.ids import random_ids


def test_random_ids_are_of_version_4_and_no_two_alike() -> None:
    ids = random_ids(1000)
    assert len(set(ids)) == 1000
    assert {(UUID(str(one)).version, UUID(str(one)).variant) for one in ids} == {(4, RFC_4122)}
    assert random_ids(0) == []
