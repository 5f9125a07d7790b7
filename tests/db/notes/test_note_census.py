"""Counting the notes of all tenants."""

from __future__ import annotations

import pytest

from elf.families.notes.keeping.note_counts import NoteCensus
from tests.db.notes.conftest import House

pytestmark = pytest.mark.anyio


async def test_notes_of_all_tenants_are_counted_by_status(house: House) -> None:
    empty = NoteCensus(database=house.database, queries=house.queries)
    assert await empty.counts() == {"active": 0, "deleted": 0, "deprecated": 0}
    gone = await house.add_one("Anna owns a red kite.")
    await house.add_one("Trams run until midnight.")
    await house.add({"text": "Soup is served on Mondays."}, tenant_id="other")
    await house.delete(gone)
    census = NoteCensus(database=house.database, queries=house.queries)
    assert await census.counts() == {"active": 2, "deleted": 1, "deprecated": 0}
