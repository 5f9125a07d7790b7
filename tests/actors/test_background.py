"""A service in a thread of its host: how it starts, stops and fails, and where its log goes."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog
from anyio import lowlevel, to_thread
from anyio.abc import TaskStatus
from structlog.testing import LogCapture

from actors.processes.background import BackgroundSystem
from elf.config.example import example_config
from elf.config.model import Config
from elf.config.places import Address
from elf.core.errors import StartupError

REPO = Path(__file__).resolve().parents[2]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@dataclass
class FakeSystem:
    """Stands for the actors: does what a test says once it is ready, and waits until it is stopped."""

    then: Callable[[], Awaitable[None]] = anyio.sleep_forever
    first: Callable[[], Awaitable[None]] = lowlevel.checkpoint
    http_address: Address = field(default_factory=lambda: Address("127.0.0.1", 4711))
    stopped: bool = False

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        try:
            await self.first()
            task_status.started()
            await self.then()
        finally:
            self.stopped = True


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return example_config(tmp_path)


@pytest.fixture
def started(config: Config, monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeSystem], BackgroundSystem]:
    """Make a background system of a fake one, not started yet."""

    def make(system: FakeSystem) -> BackgroundSystem:
        @asynccontextmanager
        async def opened(_config: Config) -> AsyncIterator[FakeSystem]:
            yield system

        monkeypatch.setattr("actors.processes.background.open_system", opened)
        return BackgroundSystem(config)

    return make


Make = Callable[[FakeSystem], BackgroundSystem]


def test_it_runs_in_a_thread_until_it_is_stopped(started: Make) -> None:
    fake = FakeSystem()
    threads = threading.active_count()
    background = started(fake)
    assert background.start() == ("127.0.0.1", 4711)
    assert threading.active_count() > threads
    background.stop()
    assert fake.stopped
    assert "elf" not in {thread.name for thread in threading.enumerate()}


def test_a_start_that_fails_is_raised_by_the_start_alone(started: Make) -> None:
    async def fail() -> None:
        raise StartupError("the folder is in use")

    background = started(FakeSystem(first=fail))
    with pytest.raises(StartupError, match="the folder is in use"):
        background.start()
    background.stop()


def test_a_failure_later_on_is_raised_by_the_stop(started: Make) -> None:
    fail = threading.Event()

    async def run_until_failure() -> None:
        await to_thread.run_sync(fail.wait)
        raise RuntimeError("gave up")

    background = started(FakeSystem(then=run_until_failure))
    background.start()
    fail.set()
    background._thread.join(10)
    with pytest.raises(RuntimeError, match="gave up"):
        background.stop()


def test_a_stop_amid_the_start_ends_both(started: Make) -> None:
    background = started(FakeSystem(first=anyio.sleep_forever))
    stopper = threading.Timer(0.01, background.stop)
    stopper.start()
    with pytest.raises(StartupError, match="stopped before it was ready"):
        background.start()
    stopper.join()


def test_a_stop_without_a_start_does_nothing(started: Make) -> None:
    started(FakeSystem()).stop()


HOST = """
import subprocess, sys, types
from contextlib import asynccontextmanager

import anyio
from anyio import to_thread

from elf.config.example import example_config
from elf.config.places import Address

class System:
    http_address = Address("127.0.0.1", 4711)

    async def run(self, *, task_status):
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):  # what the real parts do when they stop
                await to_thread.run_sync(subprocess.run, ["true"])
                await anyio.run_process(["true"])
                print("stopped")

@asynccontextmanager
async def open_system(config):
    yield System()

sys.modules["actors.system"] = types.SimpleNamespace(open_system=open_system)  # the real one takes seconds
from actors.processes.background import BackgroundSystem
from pathlib import Path

print(BackgroundSystem(example_config(Path(sys.argv[1]))).start())
"""


def test_a_host_that_ends_without_a_word_stops_it_first(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOST, str(tmp_path)],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "127.0.0.1:4711\nstopped\n", "")


@pytest.fixture
def host_log() -> Any:
    """The log of a host that has set up structlog for itself."""
    capture = LogCapture()
    before = structlog.get_config()["processors"]
    structlog.configure(processors=[capture])
    yield capture.entries
    structlog.configure(processors=before)


def test_its_log_goes_to_the_standard_logger_and_that_of_the_host_stays(
    started: Make, host_log: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    log = structlog.get_logger()
    said = threading.Event()

    async def talk() -> None:
        log.debug("too_quiet")
        log.info("by_the_service", password=SECRET)
        await to_thread.run_sync(lambda: log.warning("by_a_thread_of_it"))
        try:
            raise ValueError("a note's text")
        except ValueError:
            log.exception("failed")
        said.set()
        await anyio.sleep_forever()

    background = started(FakeSystem(then=talk))
    with caplog.at_level(logging.DEBUG, "elf"):
        background.start()
        said.wait(10)
        log.info("by_the_host")
        background.stop()
        log.info("by_the_host_later")
    assert [entry["event"] for entry in host_log] == ["by_the_host", "by_the_host_later"]
    records = [record for record in caplog.records if record.name == "elf"]
    assert [(record.levelname, record.getMessage().split()[0]) for record in records] == [
        ("INFO", "by_the_service"),
        ("WARNING", "by_a_thread_of_it"),
        ("ERROR", "failed"),
    ]
    assert SECRET not in caplog.text
    assert "a note's text" not in "".join(record.getMessage() for record in records)


def test_a_handler_of_the_host_that_raises_costs_its_line_alone(started: Make, host_log: list[Any]) -> None:
    went_on = threading.Event()

    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("the disk is full")

    async def talk() -> None:
        structlog.get_logger().warning("something_is_amiss")
        went_on.set()
        await anyio.sleep_forever()

    handler = Broken()
    logging.getLogger("elf").addHandler(handler)
    try:
        background = started(FakeSystem(then=talk))
        background.start()
        assert went_on.wait(10)
        background.stop()
    finally:
        logging.getLogger("elf").removeHandler(handler)
    assert host_log == []


def test_a_host_that_does_not_listen_hears_only_what_is_amiss(
    started: Make, host_log: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    said = threading.Event()

    async def talk() -> None:
        structlog.get_logger().info("all_is_well")
        structlog.get_logger().warning("something_is_amiss")
        said.set()
        await anyio.sleep_forever()

    background = started(FakeSystem(then=talk))
    background.start()
    said.wait(10)
    background.stop()
    assert [record.getMessage().split()[0] for record in caplog.records] == ["something_is_amiss"]
    assert host_log == []
