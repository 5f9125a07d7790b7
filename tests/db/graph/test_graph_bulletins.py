"""Bulletins: made for each message, kept as files, and there even when they cannot be made."""

from __future__ import annotations

import os

import anyio
import msgspec
import pytest

from elf.config.tables.graph import Recall
from elf.core.errors import Unavailable
from elf.families.graph.bulletin_files import KEPT, BulletinFiles
from elf.families.graph.bulletins import Bulletins
from elf.families.graph.errors import MemoryDbCorrupt
from elf.families.graph.model import Source
from elf.families.graph.recall.recaller import Recaller
from elf.families.graph.rules.ids import file_name
from elf.families.graph.store.file import MemoryFile
from tests.db.graph.graph_kit import edge, memory, put
from tests.db.graph.recall_kit import FilePlace, QueryModel, put_edges
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio
MAX = 4_000


@pytest.fixture
def bulletins(clock: TurnedClock) -> Bulletins:
    return Bulletins(Recaller(QueryModel(), clock), Recall(), clock)


@pytest.fixture
def place(file: MemoryFile) -> FilePlace:
    return FilePlace(file)


def logged(place: FilePlace) -> list[dict[str, str]]:
    return [msgspec.json.decode(line) for line in place.layout.log_file.read_text().splitlines()]


async def test_a_bulletin_tells_what_a_message_recalls_and_what_is_wanted_to_do_and_decided(
    place: FilePlace, bulletins: Bulletins, clock: TurnedClock
) -> None:
    await put(
        place.file,
        memory("f1", content="The office is in Lisbon. It rains.", summary="Office"),
        memory("f2", content="Cats sleep.", summary="Cats"),
        memory("g1", type="Goal", content="Ship in May.", summary="Ship in May"),
        memory("t1", type="Todo", content="Call Ana.", summary="Call Ana"),
        memory("d1", type="Decision", content="We use Postgres.", summary="Use Postgres"),
        memory("p1", type="Preference", content="An office with tea.", summary="Tea", confidence=0.4),
    )
    bulletin = await bulletins.of(place, "msg-1", "Where is the office in Lisbon?", max_chars=MAX)
    assert bulletin.rendered == (
        "knowledge_summary:\n- The office is in Lisbon. [f1]\n"
        "active_goals:\n- Ship in May [g1]\nopen_todos:\n- Call Ana [t1]\n"
        "recent_decisions:\n- Use Postgres [d1]\npreference_profile:\n- An office with tea. [p1]\n"
        "conflicts_and_uncertainties:\n- An office with tea. [p1]"
    )
    assert [one.memory_id for one in bulletin.citations] == ["f1", "g1", "t1", "d1", "p1"]
    assert (bulletin.status, bulletin.generated_at, bulletin.message_id) == ("fresh", clock.now(), "msg-1")


async def test_five_of_each_wanted_kind_are_told_by_importance_and_time(
    place: FilePlace, bulletins: Bulletins, clock: TurnedClock
) -> None:
    newer = clock.now()
    await put(
        place.file,
        *(memory(f"g{number}", type="Goal", importance=number) for number in range(7)),
        memory("same-b", type="Todo"),
        memory("same-a", type="Todo"),
        memory("newer", type="Todo", updated_at=newer),
    )
    sections = (await bulletins.of(place, "msg-1", "?", max_chars=MAX)).sections
    assert [line.memory_id for line in sections["active_goals"]] == ["g6", "g5", "g4", "g3", "g2"]
    assert [line.memory_id for line in sections["open_todos"]] == ["newer", "same-a", "same-b"]


async def test_what_is_contradicted_is_among_the_conflicts(place: FilePlace, bulletins: Bulletins) -> None:
    await put(place.file, memory("g1", type="Goal"), memory("m2"))
    await put_edges(place.file, edge(from_memory_id="m2", to_memory_id="g1", edge_type="Contradicts"))
    sections = (await bulletins.of(place, "msg-1", "?", max_chars=MAX)).sections
    assert [line.memory_id for line in sections["conflicts_and_uncertainties"]] == ["g1"]


async def test_what_is_from_a_file_outside_of_the_workspace_is_not_told(
    place: FilePlace, bulletins: Bulletins
) -> None:
    source = Source(source_type="ingest_file", captured_by="extractor", source_path="/elsewhere/x.md")
    await put(place.file, memory("g1", type="Goal", source=source), memory("g2", type="Goal"))
    bulletin = await bulletins.of(place, "msg-1", "office", max_chars=MAX)
    assert [one.memory_id for one in bulletin.citations] == ["g2"]


async def test_a_message_keeps_its_bulletin(
    place: FilePlace, bulletins: Bulletins, clock: TurnedClock
) -> None:
    first = await bulletins.of(place, "msg-1", "office", max_chars=MAX)
    await put(place.file, memory("m1"))
    clock.turn(minutes=1)
    assert await bulletins.of(place, "msg-1", "office", max_chars=MAX) == first
    second = await bulletins.of(place, "msg-2", "office", max_chars=MAX)
    assert (second.rendered == first.rendered, place.reads) == (False, 3)  # the last is for what was erased


async def test_requests_for_one_message_at_once_get_one_bulletin(
    place: FilePlace, bulletins: Bulletins
) -> None:
    await put(place.file, memory("m1"))
    got = []

    async def ask() -> None:
        got.append(await bulletins.of(place, "msg-1", "office", max_chars=MAX))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(ask)
    assert len(got) == 6
    assert all(one == got[0] for one in got)
    assert os.listdir(place.layout.bulletins) == ["msg-1.json"]


async def test_a_known_bulletin_is_cut_to_what_is_asked_for(place: FilePlace, bulletins: Bulletins) -> None:
    await put(place.file, memory("m1"), memory("g1", type="Goal"))
    whole = await bulletins.of(place, "msg-1", "office", max_chars=MAX)
    cut = await bulletins.of(place, "msg-1", "office", max_chars=len(whole.rendered) - 1)
    assert ([one.memory_id for one in cut.citations], cut.generated_at) == (["g1"], whole.generated_at)
    assert len(cut.rendered) < len(whole.rendered)
    assert await bulletins.of(place, "msg-1", "office", max_chars=MAX) == whole


@pytest.mark.parametrize("message_id", ["../../escape", "..", "a:b", "a/b"])
async def test_an_unsafe_message_id_writes_no_file_of_that_name(
    place: FilePlace, bulletins: Bulletins, message_id: str
) -> None:
    made = await bulletins.of(place, message_id, "office", max_chars=MAX)
    assert os.listdir(place.layout.bulletins) == [f"{file_name(message_id)}.json"]
    assert await bulletins.of(place, message_id, "office", max_chars=MAX) == made


async def test_when_it_cannot_be_made_the_newest_fresh_one_takes_its_place(
    place: FilePlace, bulletins: Bulletins, clock: TurnedClock
) -> None:
    await put(place.file, memory("g1", type="Goal"))
    await bulletins.of(place, "old", "?", max_chars=MAX)
    clock.turn(minutes=1)
    await put(place.file, memory("g2", type="Goal"))
    newest = await bulletins.of(place, "new", "?", max_chars=MAX)
    os.utime(
        place.layout.bulletins / "old.json"
    )  # what counts is when it was generated, not when it was touched
    place.failure = Unavailable("the disk is away")
    clock.turn(minutes=1)
    got = await bulletins.of(place, "msg-1", "?", max_chars=MAX)
    assert got == msgspec.structs.replace(newest, message_id="msg-1", status="previous")
    assert [(line["event"], line["message_id"], line.get("fallback")) for line in logged(place)] == [
        ("memory.bulletin.generation_failed", "msg-1", None),
        ("memory.bulletin.fallback", "msg-1", "previous"),
    ]
    place.failure = None
    made = await bulletins.of(place, "msg-1", "?", max_chars=MAX)
    assert (made.status, made.generated_at) == ("fresh", clock.now())


async def test_the_first_that_cannot_be_made_is_empty(place: FilePlace, bulletins: Bulletins) -> None:
    place.failure = RuntimeError("a fault of our own")
    got = await bulletins.of(place, "msg-1", "?", max_chars=MAX)
    assert (got.status, got.citations, "active_goals:\n-" in got.rendered) == ("empty", (), True)
    assert [line.get("fallback") for line in logged(place)] == [None, "empty"]


async def test_a_fallback_keeps_to_the_limit(place: FilePlace, bulletins: Bulletins) -> None:
    await put(place.file, memory("g1", type="Goal"))
    await bulletins.of(place, "old", "?", max_chars=MAX)
    place.failure = Unavailable("away")
    assert len((await bulletins.of(place, "new", "?", max_chars=20)).rendered) <= 20


async def test_a_memory_that_cannot_be_used_at_all_is_told_to_whoever_asks(
    place: FilePlace, bulletins: Bulletins
) -> None:
    place.failure = MemoryDbCorrupt("damaged")
    with pytest.raises(MemoryDbCorrupt):
        await bulletins.of(place, "msg-1", "?", max_chars=MAX)


async def test_a_bulletin_that_cannot_be_kept_is_given_all_the_same(
    place: FilePlace, bulletins: Bulletins
) -> None:
    await put(place.file, memory("g1", type="Goal"))
    place.layout.bulletins.rmdir()
    place.layout.bulletins.symlink_to(place.layout.ingest)
    got = await bulletins.of(place, "msg-1", "?", max_chars=MAX)
    assert (got.status, [one.memory_id for one in got.citations]) == ("fresh", ["g1"])
    assert "msg-1.json" not in os.listdir(place.layout.ingest)


async def test_a_damaged_file_or_a_link_is_no_bulletin(place: FilePlace, bulletins: Bulletins) -> None:
    (place.layout.bulletins / "msg-1.json").write_text("{")
    (place.layout.bulletins / "msg-2.json").symlink_to("/etc/hostname")
    (place.layout.bulletins / "msg-4.json").mkdir()
    os.mkfifo(place.layout.bulletins / "msg-3.json")
    for message_id in ("msg-1", "msg-2", "msg-3", "msg-4"):
        assert (await bulletins.of(place, message_id, "?", max_chars=MAX)).status == "fresh"
    place.failure = Unavailable("away")
    assert (await bulletins.of(place, "msg-5", "?", max_chars=MAX)).status == "empty"


async def test_the_newest_thousand_stay(place: FilePlace, bulletins: Bulletins) -> None:
    files = BulletinFiles(place.layout.bulletins)
    made = await bulletins.of(place, "last", "?", max_chars=MAX)
    for number in range(KEPT + 5):
        path = place.layout.bulletins / f"m{number:04}.json"
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(made, message_id=f"m{number:04}")))
        os.utime(path, (number, number))
    files.keep(msgspec.structs.replace(made, message_id="newest"))
    names = sorted(os.listdir(place.layout.bulletins))
    assert len(names) == KEPT
    assert names[:2] == ["last.json", "m0007.json"]
    assert names[-1] == "newest.json"


async def test_a_draft_that_a_dead_process_left_is_removed_and_that_of_a_living_one_stays(
    place: FilePlace, bulletins: Bulletins
) -> None:
    left, written = (place.layout.bulletins / f".msg-{one}.json.0123456789ab" for one in ("old", "new"))
    for path in (left, written):
        path.write_text("{")
    (place.layout.bulletins / ".msg-folder.json.0123456789ab").mkdir()
    for path in place.layout.bulletins.iterdir():
        if path != written:
            os.utime(path, (0, 0))
    await bulletins.of(place, "msg-1", "?", max_chars=MAX)
    assert sorted(os.listdir(place.layout.bulletins)) == [
        ".msg-folder.json.0123456789ab", written.name, "msg-1.json",
    ]  # fmt: skip
