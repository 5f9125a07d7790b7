"""A service under load whose log goes nowhere: onto a full disk, or into a pipe that is closed or not read."""

from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, cast

import httpx

from tests.database_template import copy_template_for
from tests.metrics_kit import Page
from tests.system import small_disk
from tests.system.fork_server import ForkedProcess, fork_server
from tests.system.service import REPO, RunningService, add_body, note, search_body, up_command, wait_for
from tests.system.writers import WORDS

Failure = Literal["full_disk", "closed_pipe", "unread_pipe", "paused_pipe"]
"""An unread pipe is never read, a paused one when the load is over. A full disk has room again then."""
FAILURES: Final[tuple[Failure, ...]] = ("full_disk", "closed_pipe", "unread_pipe", "paused_pipe")
CLIENTS: Final = 4
DISK_MB: Final = "1"
STOP_TIMEOUT_S: Final = 60.0  # of a busy machine
CALLS_A_LOOK: Final = 100
PLACE: Final = {"tenant_id": "t", "project_id": "p", "agent_id": "a"}
DROPPED: Final = "elf_log_lines_dropped_total"


@dataclass
class Outcome:
    """What came of a run: `faults` is empty if all was well."""

    responses: int = 0
    dropped: dict[str, float] = field(default_factory=dict)
    exit_code: int | None = None
    stopped_after_s: float = 0.0
    faults: list[str] = field(default_factory=list)


class _BrokenLogService(RunningService):
    """A service whose log and output fail from the moment that a test says."""

    def __init__(self, config: Path, failure: Failure) -> None:
        self.disk = config.parent / "log"
        command = up_command(config)
        if failure == "full_disk":
            self.disk.mkdir()
            logged = ["sh", "-c", 'exec "$@" 2>>"$0"', str(self.disk / "elf.log"), *command]
            command = [sys.executable, small_disk.__file__, str(self.disk), DISK_MB, *logged]
        super().__init__(config, command=command)
        self._failure = failure
        self._pipe: int | None = None

    def launch(self) -> None:
        if self.quick:
            copy_template_for(self.config)
        if self._failure == "full_disk":
            super().launch()
            return
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
        if self._failure == "closed_pipe":
            os.close(reading)
        else:
            self._pipe = reading
        with open(writing, "wb", buffering=0) as log:
            self._process = self._started(cast("BinaryIO", log))

    def _started(self, log: BinaryIO) -> subprocess.Popen[bytes] | ForkedProcess:
        if self.quick:
            return fork_server().start(
                "elf", "up", "-c", self.config, folder=self.config.parent, stdout=subprocess.PIPE, stderr=log
            )
        return subprocess.Popen(up_command(self.config), stdout=subprocess.PIPE, stderr=log, cwd=REPO)

    def break_log(self) -> None:
        """Have the log fail, and the output; a log that is a pipe fails from the start."""
        assert self.process.stdout is not None
        if self._failure == "full_disk":
            _fill(self._seen(self.disk / "filler"))
        elif self._failure == "closed_pipe":
            self.process.stdout.close()
        else:
            self._fill_output()

    def _fill_output(self) -> None:
        # Opened anew: what is set for this end alone is not set for the service's.
        pipe = os.open(f"/proc/{self.process.pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
        with suppress(BlockingIOError), open(pipe, "wb", buffering=0) as output:
            while output.write(b".") is not None:
                continue

    @contextmanager
    def mended(self) -> Iterator[Callable[[], list[str]]]:
        """Have the log work again while the block runs, and give what returns its lines by now."""
        if self._pipe is None:
            file = self._seen(self.disk / "elf.log")
            self._seen(self.disk / "filler").unlink()
            yield lambda: file.read_text(encoding="utf-8").splitlines()
            return
        read: list[bytes] = []

        def drain(pipe: int) -> None:
            while chunk := os.read(pipe, 1 << 16):
                read.append(chunk)
            os.close(pipe)

        reader = threading.Thread(target=drain, args=[self._pipe])
        reader.start()
        yield lambda: b"".join(read).decode().splitlines()
        self._pipe = None

    def _seen(self, path: Path) -> Path:
        """A path as the service sees it, on a disk that it sees alone."""
        return Path(f"/proc/{self.process.pid}/root{path}")

    def dropped(self) -> dict[str, float]:
        """How many lines each process has dropped that has a page of metrics, by its address."""
        pages = {url: httpx.get(f"{url}/metrics", timeout=30.0).text for url in self.admin_urls()}
        return {url: Page(text).value(DROPPED) for url, text in pages.items()}

    def admin_urls(self) -> list[str]:
        """The admin addresses of all processes."""
        said = self._said.decode().splitlines()
        return [line.rpartition(" ")[2] for line in said if line.startswith("elf: admin ")]


def can_have_disk(folder: Path) -> bool:
    """Tell whether this system lets a program have a small disk of its own."""
    command = [sys.executable, small_disk.__file__, str(folder), DISK_MB, "true"]
    return subprocess.run(command, check=False).returncode != small_disk.CANNOT


def run(config: Path, failure: Failure, *, seconds: float, seed: int, processes: int = 1) -> Outcome:
    """Run a service on this config, with so many processes that have metrics, and break its log under load."""
    outcome = Outcome()
    service = _BrokenLogService(config, failure)
    service.start()
    wait_for(lambda: len(service.admin_urls()) == processes, "all have said where they listen")
    try:
        service.break_log()
        rngs = [random.Random(f"{seed} {client}") for client in range(CLIENTS)]
        deadline = time.monotonic() + seconds
        with ThreadPoolExecutor(CLIENTS) as pool:
            for client in pool.map(lambda rng: _Client(service, rng).work_until(deadline), rngs):
                outcome.responses += client.responses
                outcome.faults += client.faults
        _overflow(service, failure)
        if service.process.poll() is not None:
            outcome.faults.append("the process has ended")
        outcome.dropped = service.dropped()
        if failure in ("full_disk", "paused_pipe"):
            _mend(service, outcome)
    finally:
        began = time.monotonic()
        outcome.exit_code = service.stop(timeout_s=STOP_TIMEOUT_S)
        outcome.stopped_after_s = time.monotonic() - began
    if outcome.exit_code != 0:
        outcome.faults.append(f"the exit code is {outcome.exit_code}")
    return outcome


def _overflow(service: _BrokenLogService, failure: Failure) -> None:
    """Have the service log until it has to drop lines: an unread log is dropped once no more lines may wait."""
    enough = all if failure == "closed_pipe" else any  # a worker has little to log, and maybe nothing by now

    def is_enough() -> bool:
        for _ in range(CALLS_A_LOOK):
            service.client.get("/v1/memory/notes/0", params=PLACE)
        return enough(service.dropped().values())

    wait_for(is_enough, "lines are dropped, and counted")


def _mend(service: _BrokenLogService, outcome: Outcome) -> None:
    """Have the log work again: every process reports in one line all that it has dropped."""
    with service.mended() as lines:
        wait_for(lambda: len(_reports(lines())) >= 1, "a line reports what was dropped")
        wait_for(lambda: sum(_reports(lines())) == sum(service.dropped().values()), "all of it is reported")
        outcome.dropped = service.dropped()
        torn = [line for line in lines() if not _event(line)]
        if len(torn) > 2 * len(outcome.dropped):
            outcome.faults.append(f"{len(torn)} lines are not whole, such as {torn[0][:200]!r}")


def _reports(lines: list[str]) -> list[int]:
    events = [_event(line) for line in lines]
    return [event["lines"] for event in events if event.get("event") == "log_lines_dropped"]


def _event(line: str) -> Mapping[str, Any]:
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return event


class _Client:
    """Adds notes, and looks whether they are there."""

    def __init__(self, service: RunningService, rng: random.Random) -> None:
        self._service = service
        self._rng = rng
        self._tenant = f"tenant-{rng.getrandbits(32)}"
        self.responses = 0
        self.faults: list[str] = []

    def work_until(self, deadline: float) -> _Client:
        """Ask one thing after the other, at least once; returns itself."""
        with httpx.Client(base_url=self._service.url, timeout=30.0) as http:
            try:
                self._work(http)
                while time.monotonic() < deadline:
                    self._work(http)
            except httpx.HTTPError as error:
                self.faults.append(f"{type(error).__name__}: {error}")
        return self

    def _work(self, http: httpx.Client) -> None:
        text = f"Fact: {' '.join(self._rng.sample(WORDS, 6))} {self._rng.getrandbits(32)}."
        added = http.post("/v1/memory/add_note", json=add_body(self._tenant, note(text)))
        if not self._is_well(added):
            return
        note_id = added.json()["results"][0]["note_id"]
        place = PLACE | {"tenant_id": self._tenant}
        read = http.get(f"/v1/memory/notes/{note_id}", params=place)
        if self._is_well(read) and read.json()["text"] != text:
            self.faults.append(f"the note {note_id} reads {read.text}")
        self._is_well(http.post("/v1/memory/search", json=search_body(self._tenant, text)))
        gone = http.get("/v1/memory/notes/0", params=place)
        if gone.status_code != 400:
            self.faults.append(f"a bad id gets {gone.status_code}")

    def _is_well(self, response: httpx.Response) -> bool:
        self.responses += 1
        if response.status_code == 200:
            return True
        self.faults.append(f"{response.request.url.path} gets {response.status_code}: {response.text}")
        return False


def _fill(file: Path) -> None:
    """Write until the disk is full."""
    with file.open("wb", buffering=0) as filler:
        for size in (4096, 1):
            with suppress(OSError):
                while True:
                    filler.write(bytes(size))
