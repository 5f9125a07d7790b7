"""The ingest actor: files are taken in by one process at a time, which another one follows when it is gone."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from elf.core.clock import SystemClock
from elf.core.errors import Unavailable
from elf.families.graph.errors import UnsafeLayout
from elf.families.graph.extraction.chat import TextExtractor
from elf.families.graph.ingest.actor import IngestActor
from elf.families.graph.ingest.ingestion import Ingestion, IngestRules
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.steward import Steward
from elf.families.graph.store.nodes import MemoryFilter, page_of_memories
from elf.families.graph.store.statements import OwnerKey
from tests.db.graph.graph_kit import KEY, VERSION, Known, file_kit

pytestmark = pytest.mark.anyio
PATIENCE_S: Final = 30
NEVER_S: Final = 3600.0


class Process:
    """What a process has of the family to take files in."""

    def __init__(self, root: Path, *keys: OwnerKey, poll_s: float = NEVER_S) -> None:
        known = cast("Orchestrators", Known(root, *keys))
        rules = IngestRules(
            max_bytes=100_000, indexed_chars=100_000, poll_s=poll_s, embedding_version=VERSION
        )
        ingestion = Ingestion(known, TextExtractor(None), SystemClock(), rules)
        steward = Steward([ingestion], retry_s=0.1)
        self.files = OpenFiles(known, file_kit(SystemClock()), most=4, idle_s=60, steward=steward)
        self.actor = IngestActor(known, self.files, ingestion, poll_s=poll_s)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[IngestActor]:
        async with anyio.create_task_group() as group:
            await group.start(self.files.run)
            await group.start(self.actor.run)
            yield self.actor
            group.cancel_scope.cancel()

    async def contents(self, key: OwnerKey = KEY) -> list[str]:
        async with self.files.using(key.tenant_id, key.orchestrator_id) as place:
            found = await place.read(lambda snapshot: page_of_memories(snapshot, MemoryFilter(), limit=100))
        return sorted(one.content for one in found)


def drop_folder(root: Path, key: OwnerKey = KEY) -> Path:
    return root / key.orchestrator_id / "memory" / "ingest"


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[Any]]) -> None:
    """Wait until something holds that another process, or the disk, has to bring about."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await anyio.sleep(0.02)


async def dropped(folder: Path, name: str, text: str) -> None:
    """Drop a file as soon as there is the folder for it."""
    await until(folder.is_dir)
    (folder / name).write_text(text)


async def test_what_is_dropped_is_taken_in_without_being_asked_for(tmp_path: Path) -> None:
    process = Process(tmp_path, KEY)
    async with process.running() as actor:
        await actor.look_now(KEY)
        await dropped(drop_folder(tmp_path), "a.txt", "Dropped.")
        await until((drop_folder(tmp_path) / "processed" / "a.txt.processed.json").exists)
        assert await process.contents() == ["Dropped."]


async def test_a_folder_that_cannot_be_watched_is_looked_at_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_given: object, **_named: object) -> object:
        raise OSError(28, "too many watches")

    monkeypatch.setattr("elf.families.graph.ingest.folder_watch.awatch", refused)
    async with Process(tmp_path, KEY, poll_s=0.05).running():
        await dropped(drop_folder(tmp_path), "a.txt", "Dropped.")
        await until((drop_folder(tmp_path) / "processed" / "a.txt.processed.json").exists)


async def test_who_asks_for_a_look_is_told_what_became_of_the_files(tmp_path: Path) -> None:
    folder = drop_folder(tmp_path)
    folder.mkdir(parents=True, mode=0o700)
    (folder / "a.txt").write_text("Dropped.")
    (folder / "b.png").write_text("No text.")
    async with Process(tmp_path, KEY).running() as actor:
        looked = await actor.look_now(KEY)
        assert looked.here
        assert [(one.status, one.reason_code) for one in looked.ended] == [
            ("processed", None),
            ("rejected", "unsupported_file_type"),
        ]
        assert list((await actor.look_now(KEY)).ended) == []


async def test_one_process_takes_files_in_and_another_one_has_it_look(tmp_path: Path) -> None:
    first, second = Process(tmp_path, KEY), Process(tmp_path, KEY)
    async with first.running() as holder:
        await holder.look_now(KEY)
        async with second.running() as other:
            assert not (await other.look_now(KEY)).here
            await dropped(drop_folder(tmp_path), "a.txt", "Dropped.")
            await other.look_now(KEY)
            await until((drop_folder(tmp_path) / "processed" / "a.txt.processed.json").exists)
            assert await second.contents() == ["Dropped."]


async def test_a_process_that_is_killed_is_followed_by_another_one(tmp_path: Path) -> None:
    folder = drop_folder(tmp_path)
    script = (
        "import sys, anyio\nfrom pathlib import Path\n"
        "from tests.db.graph.test_ingest_actor import KEY, Process\n"
        "async def main():\n"
        "    async with Process(Path(sys.argv[1]), KEY).running() as actor:\n"
        "        await actor.look_now(KEY)\n"
        "        print('holds', flush=True)\n"
        "        await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    async with await anyio.open_process([sys.executable, "-c", script, str(tmp_path)]) as holder:
        try:
            assert holder.stdout is not None
            told = BufferedByteReceiveStream(holder.stdout)
            assert await told.receive_until(b"\n", 100) == b"holds"
            second = Process(tmp_path, KEY)
            async with second.running() as other:
                assert not (await other.look_now(KEY)).here
                holder.send_signal(signal.SIGSTOP)  # it holds the duty, and does nothing
                (folder / "a.txt").write_text("Dropped.")
                assert not (await other.look_now(KEY)).here
                holder.kill()
                await until((folder / "processed" / "a.txt.processed.json").exists)
                assert await second.contents() == ["Dropped."]
        finally:
            with suppress(ProcessLookupError):
                holder.kill()


async def test_orchestrators_that_come_later_are_taken_up_and_do_not_mix(tmp_path: Path) -> None:
    process = Process(tmp_path, KEY)
    later = OwnerKey("acme", "later")
    async with process.running() as actor:
        await actor.look_now(later)
        for key in (KEY, later):
            await dropped(drop_folder(tmp_path, key), "a.txt", f"Of {key.orchestrator_id}.")
        for key in (KEY, later):
            await until((drop_folder(tmp_path, key) / "processed" / "a.txt.processed.json").exists)
            assert await process.contents(key) == [f"Of {key.orchestrator_id}."]


async def test_a_memory_that_cannot_be_used_leaves_the_others_alone(tmp_path: Path) -> None:
    unsafe = OwnerKey("acme", "unsafe")
    (tmp_path / "unsafe").mkdir()
    (tmp_path / "unsafe" / "memory").symlink_to(tmp_path)
    async with Process(tmp_path, unsafe, KEY).running() as actor:
        with pytest.raises(UnsafeLayout):
            await actor.look_now(unsafe)
        await dropped(drop_folder(tmp_path), "a.txt", "Dropped.")
        await until((drop_folder(tmp_path) / "processed" / "a.txt.processed.json").exists)


async def test_nobody_looks_while_no_actor_runs(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        await Process(tmp_path, KEY).actor.look_now(KEY)
