"""The actor that owns the embedded index."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from actors.owners.index_host import IndexHost, OnOpen
from elf.core.errors import IndexUnavailable, StartupError
from elf.families.notes.keeping.space import NOTES
from elf.index.edge.client import EdgeIndex, IndexInfo
from elf.index.space import Space
from tests.index_kit import TALKS

from .conftest import DIM, Start, made_points

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Hosted:
    """An IndexHost in a task of its own: what on_open was told, and how the actor ended."""

    def __init__(
        self, folder: Path, on_open: OnOpen | None = None, *, spaces: Mapping[Space, OnOpen] | None = None
    ) -> None:
        self.opened: list[IndexInfo] = []
        self.was_opened = anyio.Event()
        self.ready = anyio.Event()
        self.ended = anyio.Event()
        self.failure: Exception | None = None
        self._then = on_open
        self.host = IndexHost(
            folder,
            spaces or {NOTES: self._on_open},
            vector_dim=DIM,
            ping_interval_s=0.1,
            ping_timeout_s=2.0,
        )

    async def _on_open(self, info: IndexInfo) -> None:
        self.opened.append(info)
        self.was_opened.set()
        if self._then is not None:
            await self._then(info)

    async def run(self) -> None:
        try:
            await self.host.run(task_status=self)
        except Exception as failure:  # noqa: BLE001 - the tests look at it
            self.failure = failure
        finally:
            self.ended.set()

    def started(self, value: None = None) -> None:
        assert not self.ready.is_set(), "ready twice"
        self.ready.set()


@asynccontextmanager
async def hosting(*hosts: Hosted) -> AsyncIterator[None]:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for host in hosts:
                tasks.start_soon(host.run)
                await host.ready.wait()
            yield
            tasks.cancel_scope.cancel()


async def ended(host: Hosted) -> Exception | None:
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run)
            await host.ended.wait()
    return host.failure


async def test_it_is_ready_once_the_index_was_brought_up_to_date(folder: Path) -> None:
    order: list[str] = []

    async def bring_up_to_date(info: IndexInfo) -> None:
        index = EdgeIndex(folder, NOTES)
        await index.upsert(made_points(2))
        await index.aclose()
        order.append("ready" if host.ready.is_set() else "not ready")

    host = Hosted(folder, bring_up_to_date)
    async with hosting(host):
        index = EdgeIndex(folder, NOTES)
        assert await index.count() == 2
        await index.aclose()
    assert order == ["not ready"]
    assert [(info.fresh, info.clean, info.points) for info in host.opened] == [(True, False, 0)]


async def test_cancelling_it_ends_the_process_in_order(folder: Path) -> None:
    async with hosting(Hosted(folder)):
        pass
    second = Hosted(folder)
    async with hosting(second):
        assert [(info.fresh, info.clean) for info in second.opened] == [(False, True)]


async def test_it_fails_when_its_process_ends(folder: Path) -> None:
    host = Hosted(folder)
    async with hosting(host):
        os.kill(host.opened[0].pid, signal.SIGKILL)
        await host.ended.wait()
    assert isinstance(host.failure, IndexUnavailable)
    assert "exit code -9" in host.failure.message


async def test_it_fails_when_its_process_falls_silent_and_leaves_no_process_behind(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elf.index.edge.process.STOP_DEADLINE_S", 0.1)
    host = Hosted(folder)
    async with hosting(host):
        os.kill(host.opened[0].pid, signal.SIGSTOP)
        await host.ended.wait()
    assert isinstance(host.failure, IndexUnavailable)
    assert "within" in host.failure.message
    async with start() as running:  # the folder is free
        assert not (await running.index.info()).clean


async def test_it_fails_when_its_folder_is_deleted_and_its_next_run_makes_a_new_one(folder: Path) -> None:
    host, again = Hosted(folder), Hosted(folder)
    async with hosting(host):
        index = EdgeIndex(folder, NOTES)
        await index.upsert(made_points(2))
        shutil.rmtree(folder)
        with pytest.raises(IndexUnavailable, match="are gone"):
            await index.ensure()
        await host.ended.wait()
        await index.aclose()
    assert isinstance(host.failure, IndexUnavailable)
    assert "are gone" in host.failure.message
    async with hosting(again):
        assert [(info.fresh, info.points) for info in again.opened] == [(True, 0)]


async def test_a_failure_to_bring_it_up_to_date_ends_the_actor_and_leaves_the_index_unclean(
    folder: Path, start: Start
) -> None:
    async def fail(info: IndexInfo) -> None:
        raise LookupError("no database")

    host = Hosted(folder, fail)
    assert isinstance(await ended(host), LookupError)
    assert not host.ready.is_set()
    async with start() as running:
        assert not (await running.index.info()).clean


async def test_a_folder_that_cannot_be_used_is_a_startup_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    failure = await ended(Hosted(tmp_path / "file" / "index"))
    assert isinstance(failure, StartupError)
    assert str(tmp_path / "file" / "index") in str(failure)


async def test_it_attaches_to_the_index_of_another_process_and_its_next_run_takes_over_when_that_dies(
    folder: Path, start: Start
) -> None:
    async with start() as running:
        await running.index.upsert(made_points(3))
        attached, host = Hosted(folder), Hosted(folder)
        async with hosting(attached):
            assert attached.opened == []  # to bring it up to date is the owner's business
            os.kill(running.process.pid, signal.SIGKILL)
            await attached.ended.wait()
        assert isinstance(attached.failure, IndexUnavailable)
        async with hosting(host):
            [info] = host.opened
            assert (info.fresh, info.clean, info.points) == (False, False, 3)
            assert info.pid != running.process.pid
            assert await running.index.count() == 3
    assert host.failure is None


async def test_it_keeps_several_spaces_and_brings_each_up_to_date(folder: Path) -> None:
    order: list[str] = []

    def told(name: str) -> OnOpen:
        async def on_open(info: IndexInfo) -> None:
            order.append(f"{name} {info.points}")

        return on_open

    spaces = {NOTES: told("notes"), TALKS: told("talks")}
    async with hosting(Hosted(folder, spaces=spaces)):
        for space, count in ((NOTES, 2), (TALKS, 3)):
            index = EdgeIndex(folder, space)
            await index.upsert(made_points(count))
            await index.aclose()
    async with hosting(Hosted(folder, spaces=spaces)):
        pass
    assert order == ["notes 0", "talks 0", "notes 2", "talks 3"]


async def test_it_fails_when_the_files_of_one_space_are_deleted(folder: Path) -> None:
    host = Hosted(folder, spaces={NOTES: nothing, TALKS: nothing})
    async with hosting(host):
        shutil.rmtree(folder / "spaces" / "talks")
        await host.ended.wait()
    assert isinstance(host.failure, IndexUnavailable)
    async with hosting(Hosted(folder, spaces={NOTES: nothing, TALKS: nothing})):
        assert (folder / "spaces" / "talks" / "shard").is_dir()


async def nothing(info: IndexInfo) -> None:
    """Bring nothing up to date."""


async def test_a_shard_that_was_opened_anew_is_brought_up_to_date_again(folder: Path) -> None:
    opened: list[str] = []
    again = anyio.Event()

    async def on_open(info: IndexInfo) -> None:
        opened.append("opened")
        if len(opened) == 2:
            again.set()

    class Reopened(EdgeIndex):
        async def info(self) -> IndexInfo:
            info = await super().info()
            return info if len(opened) != 1 else replace(info, settled=False)

    host = Hosted(folder, spaces={NOTES: on_open})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("actors.owners.index_host.EdgeIndex", Reopened)
        async with hosting(host):
            await again.wait()
    assert host.failure is None


@pytest.fixture
def folder_with_a_file_for_spaces(folder: Path) -> Path:
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "spaces").write_text("not a folder")
    return folder


async def test_a_space_that_cannot_be_made_is_a_startup_error(folder_with_a_file_for_spaces: Path) -> None:
    folder = folder_with_a_file_for_spaces
    failure = await ended(Hosted(folder, spaces={NOTES: nothing, TALKS: nothing}))
    assert isinstance(failure, StartupError)
    assert "the space talks" in str(failure)


async def test_two_hosts_on_one_folder_share_one_process(folder: Path) -> None:
    first, second = Hosted(folder), Hosted(folder)
    async with hosting(first, second):
        assert len(first.opened) == 1
        assert second.opened == []
