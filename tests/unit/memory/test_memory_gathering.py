"""Families are asked at once; one that is away, slow or does not take the question costs the others nothing."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from elf.api.caller import Caller
from elf.core.errors import NonEnglishInput, Unavailable
from elf.memory.gathering import Gathered, gather
from elf.offers import Item, Question, Subject

pytestmark = pytest.mark.anyio
QUESTION = Question(text="tea", vector=None, subject=Subject(tenant_id="t"), limit=2)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    from trio.testing import MockClock

    return "trio", {"clock": MockClock(autojump_threshold=0)}


class Family:
    """Offers items after a while, or raises."""

    def __init__(self, items: int = 0, *, after_s: float = 0.0, error: Exception | None = None) -> None:
        self._items = items
        self._after_s = after_s
        self._error = error

    async def __call__(self, question: Question, caller: Caller) -> Sequence[Item]:
        await anyio.sleep(self._after_s)
        if self._error is not None:
            raise self._error
        return [Item(kind="note", id=str(number), text="tea") for number in range(self._items)]


async def gathered(*, patience_s: float | None, **families: Family) -> Gathered:
    return await gather(families, QUESTION, Caller(), patience_s=patience_s)


async def test_families_answer_side_by_side_and_none_gives_more_than_it_is_asked_for() -> None:
    began = anyio.current_time()
    found = await gathered(patience_s=5.0, notes=Family(3, after_s=1.0), graph=Family(1, after_s=1.0))
    assert anyio.current_time() - began == pytest.approx(1.0)
    assert {name: len(items) for name, items in found.offers.items()} == {"notes": 2, "graph": 1}
    assert (found.degraded, found.skipped) == ([], {})


async def test_one_that_is_slow_away_or_does_not_take_the_question_is_named() -> None:
    found = await gathered(
        patience_s=2.0,
        slow=Family(1, after_s=3.0),
        away=Family(error=Unavailable("the database is away")),
        english=Family(error=NonEnglishInput("only English")),
        there=Family(1, after_s=1.0),
    )
    assert list(found.offers) == ["there"]
    assert sorted(found.degraded) == ["away", "slow"]
    assert found.skipped == {"english": "NON_ENGLISH_INPUT"}
    assert found.milliseconds.keys() == {"slow", "away", "english", "there"}


async def test_without_a_limit_of_time_the_slow_one_is_waited_for() -> None:
    found = await gathered(patience_s=None, slow=Family(1, after_s=1000.0))
    assert list(found.offers) == ["slow"]
    assert found.degraded == []
