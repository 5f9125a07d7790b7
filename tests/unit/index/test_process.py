"""The index process: what it keeps when it is killed, what it does with damaged files, and when it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from elf.core.errors import IndexUnavailable, StartupError
from elf.core.log_writer import MAX_WRITE_BYTES, write_at_once
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex, SpaceUnusable
from elf.index.edge.folder import FolderInUse, IndexFolder
from elf.index.edge.process import EdgeProcess
from elf.index.edge.protocol import Count, ExitCode, FrameEncoder, Open, Upsert, WirePoint
from elf.index.port import IndexFilter, IndexQuery
from tests.index_kit import TALKS

from .conftest import DIM, Start, made_points

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EVERYTHING = IndexFilter(must={})


async def killed(process: EdgeProcess) -> None:
    os.kill(process.pid, signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL


async def owned_again(folder: Path) -> None:
    """Wait for the folder's lock: it is let go when the process that held it is gone."""

    def wait_for_lock() -> None:
        with (folder / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    with anyio.fail_after(60):
        await anyio.to_thread.run_sync(wait_for_lock, abandon_on_cancel=True)


async def everything(index: EdgeIndex) -> set[str]:
    return {str(stored.point_id) for stored in await index.scan(after=None, limit=10_000)}


# Keeping


async def test_what_was_acknowledged_survives_sigkill_and_is_reported_unclean(start: Start) -> None:
    points = made_points(300)
    async with start() as running:
        await running.index.upsert(points)
        await running.index.delete_owners([points[0].owner_id])
        await running.index.delete_points([points[1].point_id])
        await killed(running.process)
    async with start() as running:
        info = await running.index.info()
        assert (info.fresh, info.clean, info.points) == (False, False, 298)
        assert await everything(running.index) == {str(point.point_id) for point in points[2:]}
        query = IndexQuery(points[7].dense, "word7", EVERYTHING, 1)
        [result] = await running.index.query([query])
        assert result.dense[0].point_id == result.bm25[0].point_id == points[7].point_id
        assert result.dense[0].owner_id == points[7].owner_id


async def test_sigkill_amid_writers_loses_nothing_acknowledged(start: Start) -> None:
    acknowledged: set[str] = set()
    async with start() as running:

        async def write() -> None:
            while True:
                points = made_points(5)
                try:
                    await running.index.upsert(points)
                except IndexUnavailable:
                    return
                acknowledged.update(str(point.point_id) for point in points)
                if len(acknowledged) > 200:
                    enough.set()

        enough = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(write)
            await enough.wait()
            await killed(running.process)
    async with start() as running:
        assert acknowledged <= await everything(running.index)


async def test_an_orderly_end_is_clean_only_when_the_index_was_settled(start: Start) -> None:
    async with start() as running:
        assert await running.index.info() == (await running.index.info())
        assert (await running.index.info()).fresh
        await running.index.upsert(made_points(3))
    async with start() as running:
        info = await running.index.info()
        assert (info.fresh, info.clean, info.points) == (False, False, 3)
        await running.index.settle()
    async with start() as running:
        info = await running.index.info()
        assert (info.fresh, info.clean, info.points) == (False, True, 3)
    async with start() as running:
        assert (await running.index.info()).clean  # nothing happened in between
        await killed(running.process)
    async with start() as running:
        assert not (await running.index.info()).clean


async def test_a_shard_for_vectors_of_another_length_is_made_anew(start: Start) -> None:
    async with start() as running:
        await running.index.upsert(made_points(3))
        await running.index.settle()
    async with start(vector_dim=DIM + 1) as running:
        info = await running.index.info()
        assert (info.fresh, info.clean, info.points) == (True, False, 0)


# Damage


def truncated(path: Path) -> None:
    os.truncate(path, 0)


def garbled(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xa5" * min(path.stat().st_size, 4096))


def removed(path: Path) -> None:
    path.unlink()


DAMAGE: list[tuple[Callable[[Path], None], str]] = [
    (garbled, "segments/*/segment.json"),
    (removed, "segments/*/payload_storage/page_0.dat"),
    (garbled, "segments/*/payload_storage/page_0.dat"),
    (truncated, "segments/*/vector_storage-bm25/deleted/status.dat"),
    (truncated, "segments/*/vector_storage-dense/vectors/chunk_0.mmap"),
    (removed, "segments/*/vector_storage-dense/vectors/status.dat"),
    (garbled, "segments/*/vector_storage-dense/deleted/flags_a.dat"),
    (truncated, "wal/first-index"),
]


async def test_a_damaged_shard_is_made_anew_and_reported_fresh(start: Start, folder: Path) -> None:
    for damage, pattern in DAMAGE:
        async with start() as running:
            await running.index.upsert(made_points(50))
            await running.index.settle()
        [path] = (folder / "shard").glob(pattern)
        damage(path)
        async with start() as running:
            info = await running.index.info()
            state = (damage.__name__, pattern, info.fresh, info.clean, info.points)
            assert state == (damage.__name__, pattern, True, False, 0)
            await running.index.upsert(made_points(2))
            assert await running.index.count() == 2


async def test_a_shard_whose_loading_killed_the_process_twice_is_made_anew(
    start: Start, folder: Path
) -> None:
    async with start() as running:
        await running.index.upsert(made_points(3))
    IndexFolder(folder).of(NOTES).begin_opening()
    async with start() as running:
        assert not (await running.index.info()).fresh
    IndexFolder(folder).of(NOTES).begin_opening()
    IndexFolder(folder).of(NOTES).begin_opening()
    async with start() as running:
        assert (await running.index.info()).fresh


def test_it_does_without_numpy() -> None:
    """It would take a tenth of the memory that the process of a small index has."""
    program = "import sys, elf.index.edge.server; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# Two spaces


async def test_spaces_are_opened_when_asked_for_and_each_keeps_its_points_and_its_state(
    start: Start, folder: Path
) -> None:
    notes, entries = made_points(20), made_points(30)
    async with start() as running:
        await running.index.upsert(notes)
        await running.index.settle()
        assert not (folder / "spaces").exists()  # nobody has asked for it
        await running.talks.upsert(entries)
    async with start() as running:
        infos = [await index.info() for index in (running.index, running.talks)]
        assert [(info.clean, info.settled, info.points) for info in infos] == [
            (True, True, 20),
            (False, False, 30),
        ]
        await running.talks.settle()
        assert (await running.talks.info()).settled
        await killed(running.process)
    async with start() as running:
        assert await everything(running.index) == {str(point.point_id) for point in notes}
        assert await everything(running.talks) == {str(point.point_id) for point in entries}


async def test_a_damaged_shard_of_one_space_leaves_the_other_as_it_was(start: Start, folder: Path) -> None:
    for damaged, root in (("talks", folder / "spaces" / "talks"), ("index", folder)):
        async with start() as running:
            for index in (running.index, running.talks):
                await index.upsert(made_points(10))
                await index.settle()
            before = {name: (await getattr(running, name).info()).points for name in ("index", "talks")}
        [path] = (root / "shard").glob("segments/*/segment.json")
        garbled(path)
        async with start() as running:
            infos = {name: await getattr(running, name).info() for name in ("index", "talks")}
        after = {name: (info.fresh, info.clean, info.points) for name, info in infos.items()}
        due = {name: (False, True, points) for name, points in before.items()}
        assert after == due | {damaged: (True, False, 0)}


async def test_a_space_whose_loading_killed_the_process_twice_is_the_one_that_is_made_anew(
    start: Start, folder: Path
) -> None:
    async with start() as running:
        await running.index.upsert(made_points(3))
        await running.talks.upsert(made_points(4))
    for _ in range(2):
        IndexFolder(folder).of(TALKS).begin_opening()
    async with start() as running:
        assert ((await running.index.info()).fresh, (await running.talks.info()).fresh) == (False, True)
        assert await running.index.count() == 3


async def test_a_space_whose_files_cannot_be_made_is_unusable_and_the_other_serves(
    start: Start, folder: Path
) -> None:
    async with start() as running:
        (folder / "spaces").write_text("not a folder")
        with pytest.raises(SpaceUnusable, match="the space talks cannot be used"):
            await running.talks.open(deadline_s=60)
        await running.index.upsert(made_points(1))
        (folder / "spaces").unlink()
        await running.talks.upsert(made_points(1))


async def test_a_connection_is_for_one_space_which_it_names_first(start: Start, folder: Path) -> None:
    async with start() as running:
        for requests in ([Count(1)], [Open(1, NOTES), Open(2, TALKS)]):
            async with await anyio.connect_unix(str(IndexFolder(folder).read_endpoint())) as stream:
                for request in requests:
                    await stream.send(FrameEncoder().encode(request))
                with anyio.fail_after(60), contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    while True:
                        await stream.receive()
        assert await running.index.count() == 0


# Owning and ending


async def test_a_second_process_on_the_folder_ends_with_a_code_of_its_own(start: Start, folder: Path) -> None:
    async with start() as running:
        second = await EdgeProcess.start(folder, vector_dim=DIM)
        try:
            with pytest.raises(FolderInUse, match=str(folder)):
                await second.wait_ready(deadline_s=60)
            assert await second.wait() == ExitCode.FOLDER_IN_USE
        finally:
            await second.stop()
        assert await running.index.count() == 0


async def test_a_folder_that_cannot_be_made_is_a_startup_error(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StartupError, match="file/index"):
        async with start(tmp_path / "file" / "index"):
            pytest.fail("started in a file")


async def test_a_process_that_dies_before_it_is_up_may_be_started_again(folder: Path) -> None:
    process = await EdgeProcess.start(folder, vector_dim=DIM)
    try:
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(IndexUnavailable, match="exit code -9"):
            await process.wait_ready(deadline_s=60)
    finally:
        await process.stop()


async def test_sigterm_ends_it_in_order(start: Start) -> None:
    async with start() as running:
        await running.index.upsert(made_points(3))
        await running.index.settle()
        os.kill(running.process.pid, signal.SIGTERM)
        assert await running.process.wait() == ExitCode.OK
    async with start() as running:
        assert (await running.index.info()).clean


async def test_it_ends_when_its_parent_is_killed(start: Start, folder: Path) -> None:
    parent = textwrap.dedent(
        """
        import os, signal, subprocess, sys
        command = [sys.executable, "-m", "elf.index.edge.server", sys.argv[1], "--vector-dim", "8", "--watch-stdin"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    died = await anyio.to_thread.run_sync(
        lambda: subprocess.run([sys.executable, "-c", parent, str(folder)], env=environment, check=False)
    )
    assert died.returncode == -signal.SIGKILL
    index = EdgeIndex(folder, NOTES)
    with contextlib.suppress(IndexUnavailable):  # it has ended already
        await index.info()
        await index.wait_lost()
    await index.aclose()
    await owned_again(folder)


async def test_a_folder_that_cannot_be_written_ends_it_with_a_reason(start: Start, folder: Path) -> None:
    async with start():
        pass
    (folder / "endpoint.new").mkdir()  # as a disk that is full it lets no file be written
    command = [sys.executable, "-m", "elf.index.edge.server", str(folder), "--vector-dim", "8"]
    ended = await anyio.to_thread.run_sync(
        lambda: subprocess.run(command, capture_output=True, text=True, check=False)
    )
    assert ended.returncode == ExitCode.FOLDER_UNUSABLE
    assert f"the index folder {folder} cannot be used" in ended.stdout
    assert "Traceback" not in ended.stderr


async def test_a_long_folder_path_is_served_too(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40) / "index"
    async with start(folder) as running:
        await running.index.upsert(made_points(2))
        other = EdgeIndex(folder, NOTES)
        assert await other.count() == 2
        await other.aclose()


async def test_bytes_that_are_no_frame_end_that_connection_only(start: Start, folder: Path) -> None:
    async with start() as running:
        for garbage in (b"\xff" * 64, b"\0\0\0\x02\xc1\xc1"):
            async with await anyio.connect_unix(str(IndexFolder(folder).read_endpoint())) as stream:
                await stream.send(garbage)
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await stream.receive()
        assert await running.index.count() == 0


@contextlib.contextmanager
def unread_pipe(*, is_closed: bool) -> Iterator[int]:
    """A pipe that takes nothing any more."""
    reading, writing = os.pipe()
    with open(reading, "rb") as reader, open(writing, "wb"):
        if is_closed:
            reader.close()
        while write_at_once(writing, b"." * MAX_WRITE_BYTES):
            continue
        yield writing


@contextlib.contextmanager
def standard_error(descriptor: int) -> Iterator[None]:
    """Have what is started within inherit this standard error."""
    own = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


@pytest.mark.parametrize("is_closed", [True, False])
async def test_reports_that_nobody_reads_hold_nobody_up(start: Start, folder: Path, is_closed: bool) -> None:
    with unread_pipe(is_closed=is_closed) as pipe, standard_error(pipe):
        async with start() as running:
            for _ in range(2):
                async with await anyio.connect_unix(str(IndexFolder(folder).read_endpoint())) as stream:
                    await stream.send(b"\xff" * 64)
                    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                        await stream.receive()
            await running.index.upsert(made_points(3))
            assert await running.index.count() == 3


async def test_ids_of_the_wrong_length_are_refused(start: Start, folder: Path) -> None:
    async with start() as running:
        async with await anyio.connect_unix(str(IndexFolder(folder).read_endpoint())) as stream:
            await stream.send(FrameEncoder().encode(Open(1, NOTES)))
            assert b"Info" in await stream.receive()
            await stream.send(
                FrameEncoder().encode(Upsert(2, [WirePoint(b"short", b"", b"\0" * 4 * DIM, "", {})]))
            )
            assert b"16 bytes" in await stream.receive()
        assert await running.index.count() == 0


# The client


async def test_a_client_connects_again_after_the_process_was_restarted(start: Start, folder: Path) -> None:
    index = EdgeIndex(folder, NOTES)
    async with start() as running:
        await index.upsert(made_points(3))
        await killed(running.process)
        with pytest.raises(IndexUnavailable, match="serves"):
            await index.upsert(made_points(1))
        with pytest.raises(IndexUnavailable):
            await index.count()
    async with start():
        assert await index.count() == 3
        await index.upsert(made_points(1))
        assert await index.count() == 4
    await index.aclose()


async def test_a_read_whose_connection_broke_is_sent_once_more(start: Start, folder: Path) -> None:
    async with start() as running:
        await running.index.upsert(made_points(2))
        real = IndexFolder(folder).read_endpoint()
        broken = folder / "broken.sock"
        listener = await anyio.create_unix_listener(broken)

        async def hang_up(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                await stream.receive()
                IndexFolder(folder).publish_endpoint(real)

        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, hang_up)
            for call, outcome in ((EdgeIndex.count, 2), (None, IndexUnavailable)):
                IndexFolder(folder).publish_endpoint(broken)
                index = EdgeIndex(folder, NOTES)
                if call is not None:
                    assert await call(index) == outcome
                else:
                    with pytest.raises(IndexUnavailable, match="write"):
                        await index.upsert(made_points(1))
                await index.aclose()
            tasks.cancel_scope.cancel()


async def test_a_silent_process_is_unavailable_after_the_timeout(start: Start, folder: Path) -> None:
    async with start() as running:
        await running.index.info()  # the space is open
        index = EdgeIndex(folder, NOTES, timeout_s=0.2)
        assert await index.count() == 0
        os.kill(running.process.pid, signal.SIGSTOP)
        try:
            with pytest.raises(IndexUnavailable, match=r"within 0.2 s"):
                await index.count()
            with pytest.raises(IndexUnavailable, match=r"within 0.2 s"):
                await index.upsert(made_points(1))
        finally:
            os.kill(running.process.pid, signal.SIGCONT)
        await running.index.count()  # behind the late answers
        assert await index.count() == 1  # the write was taken after all
        await index.aclose()


async def test_a_payload_without_a_wire_form_is_unavailable_and_harms_nobody(start: Start) -> None:
    [point] = made_points(1)
    object.__setattr__(point, "text", "\ud800")
    async with start() as running:
        with pytest.raises(IndexUnavailable):
            await running.index.upsert([point])
        assert await running.index.count() == 0
