"""Starting, watching and stopping a real service."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import psutil

from tests.database_template import copy_template_for
from tests.system.fork_server import ForkedProcess, fork_server

REPO = Path(__file__).resolve().parents[2]
READY = re.compile(rb"elf: ready at (http://\S+)\nelf: admin at (http://\S+)\nelf: mcp at (http://\S+)\n")
GRPC = re.compile(rb"elf: grpc at (\S+)\n")

# A look is a request as a rule, and costs the service and the test a few milliseconds of the processor.
SHORTEST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 0.2
PAUSE_GROWTH = 1.2
# Until no more is written of what was logged before; a service that logs all the time is not waited for.
LONGEST_LINE_S = 0.03
LONGEST_WRITING_S = 1.0

T = TypeVar("T")


def write_config(folder: Path, original: Path = REPO / "elf.example.toml", **changes: str) -> Path:
    """Write a config into `folder`, on free ports; `changes` replace whole lines by their key."""
    text = original.read_text(encoding="utf-8")
    lines = {
        "http_bind": '"127.0.0.1:0"',
        "mcp_bind": '"127.0.0.1:0"',
        "admin_bind": '"127.0.0.1:0"',
        "grpc_bind": '"127.0.0.1:0"',
    } | changes
    for key, value in lines.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        assert count >= 1, f"{original} has no key {key}"
    path = folder / "elf.toml"
    path.write_text(text, encoding="utf-8")
    return path


class RunningService:
    """`elf up` in a process of its own; a context manager that starts it and stops it with SIGTERM."""

    quick = False
    """Whether services are forked, on a copy of a prepared database; tests/conftest.py says so for all tests."""
    start_timeout_s = 180.0  # a start takes two seconds; a busy machine must not fail a test

    def __init__(
        self,
        config: Path,
        *,
        name: str = "service",
        program: Sequence[str | Path] = (),
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path = REPO,
    ) -> None:
        """`program` is a module that runs the service in place of `elf up`, and its arguments.

        `command` starts it in another way, `environment` with other variables than the test's, in a `folder`. Without
        either of them, the tests fork the service from a process that has imported its code, and give it a database
        that has the schema: see `quick`.
        """
        self.config = config
        self.log_file = config.parent / f"{name}.log"
        self._program = program or ("elf", "up", "-c", config)
        is_plain = command is None and environment is None
        self._command = None if is_plain and self.quick else command or _command(*self._program)
        self._environment = environment
        self._folder = folder
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._said = b""
        self.url = self.admin_url = self.mcp_url = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.stop()

    @property
    def process(self) -> subprocess.Popen[bytes] | ForkedProcess:
        assert self._process is not None, "the service is not running"
        return self._process

    @property
    def log(self) -> str:
        """Everything the service has logged since it was made. A line is written a moment after what it tells of."""
        size = -1
        deadline = time.monotonic() + LONGEST_WRITING_S
        while size != (size := self.log_file.stat().st_size) and time.monotonic() < deadline:
            time.sleep(LONGEST_LINE_S)
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    def events(self, name: str, **fields: str) -> list[dict[str, Any]]:
        """The log lines of one event, with these fields."""
        lines = [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name and fields.items() <= line.items()]

    def complaints(self) -> list[str]:
        """The log lines that no outage explains: errors, tracebacks, and what is no log line at all."""
        return [line for line in self.log.splitlines() if _is_complaint(line)]

    def start(self) -> None:
        """Start and wait until it says that it is ready."""
        self.launch()
        self.wait_started()

    def launch(self) -> None:
        """Start without waiting."""
        with self.log_file.open("ab") as log:
            if self._command is None:
                copy_template_for(self.config)
                self._process = fork_server().start(
                    *self._program, folder=self.config.parent, stdout=subprocess.PIPE, stderr=log
                )
            else:
                self._process = subprocess.Popen(
                    self._command, stdout=subprocess.PIPE, stderr=log, cwd=self._folder, env=self._environment
                )

    def wait_started(self) -> None:
        """Wait until a launched service says that it is ready."""
        self.url, self.admin_url, self.mcp_url = self._read_addresses()
        self.client = httpx.Client(base_url=self.url, timeout=30.0)
        self.admin = httpx.Client(base_url=self.admin_url, timeout=60.0)

    def stop(self, *, timeout_s: float = 60.0) -> int:
        """Send SIGTERM and return the exit code."""
        self.send(signal.SIGTERM)
        return self.wait_exit(timeout_s=timeout_s)

    def kill(self) -> None:
        """Send SIGKILL, as a machine that runs out of memory does."""
        self.send(signal.SIGKILL)
        self.wait_exit()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the main process."""
        self.process.send_signal(number)

    def wait_exit(self, *, timeout_s: float = 60.0) -> int:
        """Wait for the end of the main process and return its exit code."""
        process = self.process
        try:
            return process.wait(timeout_s)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
            if self.url:
                self.client.close()
                self.admin.close()
            self.url = ""
            self._process = None

    @property
    def grpc_address(self) -> str:
        """Where a service listens that offers gRPC: host and port."""
        return self._read_until(GRPC)[1].decode()

    def _read_addresses(self) -> tuple[str, str, str]:
        self._said = b""
        match = self._read_until(READY)
        return match[1].decode(), match[2].decode(), match[3].decode()

    def _read_until(self, pattern: re.Pattern[bytes]) -> re.Match[bytes]:
        """Read what the service says until it has said this."""
        stdout = self.process.stdout
        assert stdout is not None
        deadline = time.monotonic() + self.start_timeout_s
        while (match := pattern.search(self._said)) is None:
            ready, _, _ = select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(stdout.fileno(), 4096) if ready else b""
            if not chunk:
                self.kill()
                raise AssertionError(f"the service did not become ready:\n{self.log[-4000:]}")
            self._said += chunk
        return match

    # Processes

    def postmaster(self) -> psutil.Process:
        """The main process of the embedded Postgres."""
        pid_file = next(self.config.parent.rglob("postmaster.pid"))
        return psutil.Process(int(pid_file.read_text().split()[0]))

    def index_process(self) -> psutil.Process:
        """The process that owns the embedded index."""
        process = self.index_process_or_none()
        assert process is not None, "the service has no index process"
        return process

    def index_process_or_none(self) -> psutil.Process | None:
        """The same; None while there is none, or another service has it."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return next((child for child in children if is_index_process(child)), None)

    # The API

    def post(self, name: str, body: Mapping[str, Any]) -> httpx.Response:
        return self.client.post(f"/v1/memory/{name}", json=body)

    def add(self, tenant: str, *notes: Mapping[str, Any], **context: str) -> list[dict[str, Any]]:
        """Add notes and return their results; fails on an error."""
        response = self.post("add_note", add_body(tenant, *notes, **context))
        assert response.status_code == 200, response.text
        results: list[dict[str, Any]] = response.json()["results"]
        return results

    def search(self, tenant: str, query: str, **fields: Any) -> list[dict[str, Any]]:
        """Search with all scopes and return the items; fails on an error."""
        response = self.post("search", search_body(tenant, query, **fields))
        assert response.status_code == 200, response.text
        items: list[dict[str, Any]] = response.json()["items"]
        return items

    def wait_found(self, tenant: str, query: str, note_id: str, **fields: Any) -> dict[str, Any]:
        """Search until the note is among the items, and return its item."""

        def look() -> dict[str, Any] | None:
            items = self.search(tenant, query, **fields)
            return next((item for item in items if item["note_id"] == note_id), None)

        return wait_for(look, f"{query!r} finds {note_id}")

    def wait_ready(self) -> None:
        """Wait until /ready says so."""
        wait_for(lambda: self.client.get("/ready").status_code == 200, "/ready answers 200")


def started_already(service: RunningService) -> type:
    """Return what stands for the service that `local` would start, which takes seconds: one that runs already."""

    class Started:
        def __init__(self, _: object) -> None: ...

        def start(self) -> str:
            return service.url.removeprefix("http://")

        def stop(self) -> None: ...

    return Started


def up_command(config: Path) -> list[str]:
    return _command("elf", "up", "-c", config)


def _command(*program: str | Path) -> list[str]:
    return [sys.executable, "-m", *map(str, program)]


def _is_complaint(line: str) -> bool:
    if not line.startswith("{"):
        return True
    fields = json.loads(line)
    return "exception" in fields or fields["level"] not in ("debug", "info", "warning")


def is_index_process(process: psutil.Process) -> bool:
    """Tell whether it serves an embedded index; false when it is gone."""
    try:
        return "elf.index.edge.server" in process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def processes_of(folder: Path) -> list[psutil.Process]:
    """All living processes that work in or on a folder: services on its config, Postgres, index processes."""
    return [process for process in psutil.process_iter() if _works_on(process, f"{folder}/")]


def _works_on(process: psutil.Process, folder: str) -> bool:
    try:
        if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        return f"{process.cwd()}/".startswith(folder) or any(folder in part for part in process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def wait_for(look: Callable[[], T | None], what: str, *, timeout_s: float = 60.0) -> T:
    """Call `look` until it returns something true: often at first, and less often when that takes long."""
    deadline = time.monotonic() + timeout_s
    pause_s = SHORTEST_PAUSE_S
    while not (seen := look()):
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain until {what}"
        time.sleep(pause_s)
        pause_s = min(LONGEST_PAUSE_S, pause_s * PAUSE_GROWTH)
    return seen


def note(text: str, **fields: Any) -> dict[str, Any]:
    """A note as a client sends it."""
    return {"type": "fact", "text": text, "importance": 0.5, "confidence": 0.9} | fields


def add_body(tenant: str, *notes: Mapping[str, Any], **context: str) -> dict[str, Any]:
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "scope": "project_shared"} | context
    return place | {"notes": list(notes)}


def search_body(tenant: str, query: str, **fields: Any) -> dict[str, Any]:
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "read_profile": "all_scopes"}
    return place | {"query": query} | fields
