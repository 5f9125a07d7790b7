"""Whatever a tenant keeps: what is exported and taken in, however it is cut, is exported again as it was."""

from __future__ import annotations

import json
import os
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.db.knowledge.conftest import KnowledgeHouse
from tests.db.knowledge.random_tenant import RandomTenant
from tests.db.knowledge.subjects_kit import Piece, World

pytestmark = pytest.mark.anyio

EXAMPLES: Final = int(os.environ.get("ELF_TEST_EXPORTS", "15"))
ORDER: Final = ("entity", "episode", "fact", "rule", "supersession", "application", "link", "event")


def told(piece: Piece) -> str:
    """A piece as text, without what is nothing, and is left out of exports."""
    said = {name: value for name, value in piece.items() if value not in ([], {}, 0, False)}
    return json.dumps(said, sort_keys=True)


@settings(
    max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(st.integers(0, 2**32), st.integers(1, 40))
async def test_what_is_taken_in_is_exported_as_it_was(knowledge: KnowledgeHouse, seed: int, cut: int) -> None:
    world, pieces = World(knowledge), RandomTenant(seed).pieces()
    await world.erase()
    assert await world.subjects.take_in(pieces) == len(pieces)
    whole = await world.exported()
    assert sorted(map(told, whole)) == sorted(map(told, pieces))
    places = [ORDER.index(one["kind"]) for one in whole]
    assert places == sorted(places)
    for whose in ({}, {"user": "ana"}, {"agent_id": "travel"}):
        part = await world.exported(**whose)
        await world.erase()
        for start in range(0, len(part), cut):
            await world.subjects.take_in(part[start : start + cut])
        assert await world.exported(**whose) == part
        assert await world.subjects.take_in(part) == 0
        await world.subjects.take_in(whole)
        await world.erase(**whose)
        assert await world.exported(**whose) == []
        await world.subjects.take_in(whole)
    await world.life.do_jobs()
    assert await world.life.open_jobs() == []
