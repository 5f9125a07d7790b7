"""A service inside the caller's process: it works, it keeps quiet, and nothing of it is left behind."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import structlog

from actors.processes.background import BackgroundSystem
from elf.client import Client, local
from elf.client.calls import Calls
from elf.config import Config, load
from elf.config.defaults import Defaults
from elf.config.places import Address, parse_address
from elf.core.errors import StartupError
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for, write_config
from tests.system.test_client import examples

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for data."""
    with fresh_folder() as folder:
        yield folder


def processes_in(folder: Path) -> list[psutil.Process]:
    """The servers that work on a folder."""
    return [process for process in psutil.process_iter() if str(folder) in " ".join(_words(process))]


def _words(process: psutil.Process) -> list[str]:
    try:
        words: list[str] = process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []
    return words


def test_the_documented_example_runs_a_service_and_leaves_nothing_but_its_data(
    folder: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (example,) = [example for example in examples() if "local(" in example]
    threads = threading.active_count()
    remembered: dict[str, object] = {}
    with caplog.at_level(logging.INFO, "elf"):
        exec(example.replace("my-memory", str(folder)), remembered)
    assert capfd.readouterr() == ("['Fact: Cats have nine lives.']\n", "")
    assert any(record.name == "elf" and "index_open" in record.getMessage() for record in caplog.records)
    assert processes_in(folder) == []
    wait_for(lambda: threading.active_count() <= threads, "its threads have ended")
    memory = remembered["memory"]
    assert isinstance(memory, Client)
    with pytest.raises(RuntimeError, match="closed"):
        memory.ready()


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_an_async_block_may_be_one_of_any_event_loop_and_any_config(
    service: RunningService, tenant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    class Started(BackgroundSystem):
        """Instead of one that takes seconds to start: the service that runs already."""

        def start(self) -> Address:
            assert threading.current_thread() is not threading.main_thread()
            seen.append(self._config)
            return parse_address(service.url.removeprefix("http://"))

        def stop(self) -> None:
            assert threading.current_thread() is not threading.main_thread()
            seen.append("stopped")

    monkeypatch.setattr("actors.processes.background.BackgroundSystem", Started)
    path = write_config(tmp_path, http_bind='"127.0.0.1:1"', max_note_chars="77")
    for where in (path, str(path), load(path)):
        async with local(where, tenant_id=tenant) as memory:
            assert memory.calls == Calls(tenant, "default", "default", "all_scopes", "agent_private")
            await memory.add_note("Fact: Tea is green.", key="tea")
            assert [note.tenant_id async for note in memory.list(scope="agent_private")] == [tenant]
        config, stopped = seen
        assert isinstance(config, Config)
        assert (config.service.http_address, config.memory.max_note_chars, stopped) == (
            ("127.0.0.1", 0),
            77,
            "stopped",
        )
        seen.clear()

    defaults = Defaults(project_id="ana", scope="project_shared", read_profile="private_only")
    async with local(load(path).model_copy(update={"defaults": defaults}), agent_id="bot") as memory:
        assert memory.calls == Calls("default", "ana", "bot", "private_only", "project_shared")
    unsaid = load(path).model_copy(update={"defaults": Defaults()})
    async with local(unsaid, user="bob", scope="org_shared", read_profile="private_only") as memory:
        assert memory.calls == Calls("default", "bob", "default", "private_only", "org_shared")


def test_what_keeps_it_from_starting_is_raised_where_it_is_entered(folder: Path) -> None:
    (folder / ".elf").mkdir()
    (folder / ".elf" / "postgres").write_text("not a folder")
    logged = structlog.get_config()["processors"]
    with pytest.raises(StartupError, match="is not a folder"), local(folder):
        pytest.fail("it started")
    with pytest.raises(StartupError, match="cannot be made"), local(folder / ".elf" / "postgres" / "below"):
        pytest.fail("it started")
    assert structlog.get_config()["processors"] == logged
