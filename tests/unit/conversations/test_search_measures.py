"""What a search of conversations tells of itself to whoever counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import anyio
import pytest

from elf.core.errors import Unavailable
from elf.core.measures import NoMeasures
from elf.db.database import Database
from elf.db.queries import Queries
from elf.families.conversations.api.search import SearchConversations
from elf.families.conversations.finding.hits import Hits
from elf.families.conversations.finding.reach import Reach
from elf.families.conversations.finding.search import ConversationSearch
from elf.search.stages import Stages

pytestmark = pytest.mark.anyio

REACH = Reach(tenant_id="acme", user="ana")
ASKED = SearchConversations(query="ferry")


class Told(NoMeasures):
    def __init__(self) -> None:
        self.searches: list[tuple[str, list[str], list[str]]] = []

    def search(self, *, family: str, stages: Sequence[tuple[str, float]], degraded: Sequence[str]) -> None:
        self.searches.append((family, [name for name, _ in stages], list(degraded)))


class WithoutIndex:
    """Finds nothing, by words, in as long as it `takes_s`."""

    def __init__(self, *, takes_s: float = 0.0) -> None:
        self._takes_s = takes_s

    async def page(self, *_: object, stages: Stages, **__: object) -> Hits:
        with stages.stage("words"):
            await anyio.sleep(self._takes_s)
        return Hits([], has_more=False, degraded=["index"])


def search_by(way: WithoutIndex, told: Told, budget_s: float | None = None) -> ConversationSearch:
    nothing: Any = None
    return ConversationSearch(
        cast("Database", nothing), cast("Queries", nothing), {"auto": way}, measures=told, budget_s=budget_s
    )


async def test_a_search_tells_its_stages_and_what_it_did_without() -> None:
    told = Told()
    await search_by(WithoutIndex(), told).found(REACH, ASKED)
    assert told.searches == [("conversations", ["words"], ["index"])]


async def test_a_search_that_has_no_time_left_is_refused_and_not_counted() -> None:
    told = Told()
    with pytest.raises(Unavailable):
        await search_by(WithoutIndex(takes_s=30.0), told, budget_s=0.0).found(REACH, ASKED)
    assert told.searches == []
