"""Two spaces in one engine: neither loses, sees or moves what is in the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import anyio
import msgspec
import pytest

from elf.families.notes.keeping.space import NOTES
from elf.index.port import IndexFilter, IndexQuery, VectorIndex
from elf.index.space import Space, refuse_doubles
from elf.index.within import Within
from tests.index_kit import (
    ADAPTERS,
    EVERYTHING,
    TALKS,
    Opener,
    OpenSpace,
    dense_hits,
    emptied,
    ids,
    opener_of,
    point,
    vector,
    word_hits,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=ADAPTERS)
def opener(request: pytest.FixtureRequest) -> Opener:
    return opener_of(request.param, request)


@pytest.fixture(scope="module")
async def engine(opener: Opener, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OpenSpace]:
    async with opener(tmp_path_factory.mktemp("engine")) as open_space:
        yield open_space


@pytest.fixture(scope="module")
async def opened(engine: OpenSpace) -> tuple[VectorIndex, VectorIndex]:
    return await engine(NOTES), await engine(TALKS)


@pytest.fixture
async def spaces(opened: tuple[VectorIndex, VectorIndex]) -> AsyncIterator[tuple[VectorIndex, VectorIndex]]:
    """The notes' space and another one, both empty."""
    yield opened
    for index in opened:
        await emptied(index)


async def stored(index: VectorIndex) -> set[UUID]:
    return {one.point_id for one in await index.scan(after=None, limit=10_000)}


async def test_a_point_is_found_counted_and_scanned_in_its_own_space_alone(
    spaces: tuple[VectorIndex, VectorIndex],
) -> None:
    notes, talks = spaces
    note, entry = point("apple pie"), point("apple tart", group_id="g")
    await notes.upsert([note])
    await talks.upsert([entry])
    for index, mine in ((notes, note), (talks, entry)):
        assert (
            ids(await word_hits(index, "apple"))
            == ids(await dense_hits(index, EVERYTHING))
            == [mine.point_id]
        )
        assert await stored(index) == {mine.point_id}
        assert await index.count() == 1
    [hit] = await word_hits(talks, "apple")
    assert hit.owner_id == entry.owner_id


async def test_points_of_one_id_or_owner_are_two_points_in_two_spaces(
    spaces: tuple[VectorIndex, VectorIndex],
) -> None:
    notes, talks = spaces
    note = point("apple pie")
    entry = replace(note, text="pear tart")
    await notes.upsert([note])
    await talks.upsert([entry])
    assert (len(await word_hits(notes, "apple")), len(await word_hits(talks, "apple"))) == (1, 0)
    await notes.delete_owners([note.owner_id])
    assert (await stored(notes), await stored(talks)) == (set(), {note.point_id})
    await notes.upsert([note])
    await talks.delete_points([note.point_id])
    assert (await stored(notes), await stored(talks)) == ({note.point_id}, set())


async def test_words_of_one_space_do_not_move_the_scores_of_the_other(
    spaces: tuple[VectorIndex, VectorIndex],
) -> None:
    notes, talks = spaces
    await notes.upsert([point("zebra crossing"), point("river crossing")])
    before = await word_hits(notes, "zebra")
    await talks.upsert([point("zebra", group_id="g") for _ in range(20)])
    assert await word_hits(notes, "zebra") == before


async def test_a_space_expects_documents_of_its_own_length(spaces: tuple[VectorIndex, VectorIndex]) -> None:
    notes, talks = spaces
    one = point("zebra crossing", group_id="g")
    for index in spaces:
        await index.upsert([one])
    [[short], [long]] = [await word_hits(index, "zebra") for index in (notes, talks)]
    assert long.score > short.score  # two words are few beside the sixty that an entry is expected to have


async def test_a_space_is_filtered_by_its_own_fields(spaces: tuple[VectorIndex, VectorIndex]) -> None:
    _, talks = spaces
    groups = [f"group {number}" for number in range(2000)]
    entries = [point("apple", group_id=group) for group in groups[:3]]
    await talks.upsert([*entries, point("apple", group_id="closed")])
    one = IndexFilter(must={"tenant_id": "acme", "group_id": groups[1]})
    assert ids(await word_hits(talks, "apple", one)) == [entries[1].point_id]
    members = IndexFilter(must={"tenant_id": "acme"}, within=Within("group_id", frozenset(groups)))
    [result] = await talks.query([IndexQuery(vector(1.0), "apple", members, 100)])
    assert set(ids(result.dense)) == set(ids(result.bm25)) == {entry.point_id for entry in entries}


async def test_emptying_and_refilling_one_space_while_both_serve_leaves_the_other(
    spaces: tuple[VectorIndex, VectorIndex],
) -> None:
    notes, talks = spaces
    mine = [point(f"note{number}") for number in range(60)]
    theirs = [point(f"entry{number}", group_id="g") for number in range(60)]
    await notes.upsert(mine)
    await talks.upsert(theirs)
    done = anyio.Event()

    async def rebuild_notes() -> None:
        for _ in range(3):
            await emptied(notes)
            await notes.upsert(mine)
        done.set()

    async def read_talks() -> None:
        while not done.is_set():
            assert len(await dense_hits(talks, EVERYTHING)) == len(theirs)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(rebuild_notes)
        tasks.start_soon(read_talks)
    assert await stored(notes) == {one.point_id for one in mine}
    assert await stored(talks) == {one.point_id for one in theirs}


async def test_a_space_that_is_opened_again_has_its_points(engine: OpenSpace) -> None:
    first = await engine(TALKS)
    entry = point("apple", group_id="g")
    await first.upsert([entry])
    again = await engine(TALKS)
    await again.ensure()
    assert await stored(again) == {entry.point_id}
    await emptied(again)


# What a space is


@pytest.mark.parametrize("name", ["", "Notes", "1st", "a-b", "a/b", "..", "a" * 25])
def test_a_name_that_no_table_or_folder_can_bear_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="index space"):
        Space(name=name, owner_field="o", keyword_fields=(), average_length=1.0)


def test_a_field_that_filters_may_not_name_cannot_be_a_place() -> None:
    with pytest.raises(ValueError, match="group_id must be keyword_fields of the index space s"):
        Space(name="s", owner_field="o", keyword_fields=(), average_length=1.0, place_fields=("group_id",))


def test_two_spaces_of_one_name_and_two_plain_ones_are_refused() -> None:
    refuse_doubles([NOTES, TALKS])
    for doubled in ([TALKS, TALKS], [NOTES, msgspec.structs.replace(NOTES, name="others")]):
        with pytest.raises(ValueError, match="would share their points"):
            refuse_doubles(doubled)
