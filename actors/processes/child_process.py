"""One of several processes, as the process that keeps them running sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio
import structlog
from anyio.abc import Process, TaskStatus
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import BaseModel, ConfigDict, SerializeAsAny, field_validator

import elf
from actors.processes.changed_auth import HANGUP
from elf.config.auth import Auth
from elf.config.load import config_model
from elf.config.model import Config
from elf.config.processes import Role
from elf.core.errors import StartupError

READY_LINE: Final = b"ready"
KILL_AFTER_S: Final = 9.3  # a little after the process itself would have given up on an orderly end
REAP_S: Final = 1.0
NEVER_STARTS: Final = (2, 3)  # exit codes of a process that has said what is in its way
_MAX_LINE_BYTES: Final = 4096

log = structlog.get_logger()


class Assignment(BaseModel):
    """What a process is to do: told to it as a line of JSON, and nothing else is.

    `http`, `admin` and `mcp` are the descriptors of the sockets its fronts listen on, `grpc` that of one that holds a
    port. They were bound by the process that tells, and their addresses are those of the config.
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    name: str
    role: Role
    config: SerializeAsAny[Config]
    http: int | None = None
    admin: int | None = None
    mcp: int | None = None
    grpc: int | None = None

    @field_validator("config", mode="before")
    @classmethod
    def _has_the_tables_of_families(cls, value: object) -> object:
        return config_model().model_validate(value) if isinstance(value, dict) else value

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Those of the sockets that the process inherits."""
        return tuple(number for number in (self.http, self.admin, self.mcp, self.grpc) if number is not None)


class ChildEnded(Exception):
    """A process ended that should not have; the message says how."""


class ChildProcess:
    """The actor that runs a process: it starts it, listens whether it is ready, and fails when it ends.

    `ready` is set when the process first says that it works. As an actor it is ready then, too, when it `leads`, and
    otherwise as soon as the process has been started: the leader makes what all need (the model's files, the
    database, the index), and the others then start at once.

    Raises ChildEnded, or StartupError when the process never was ready and ended because it cannot be. Cancelled, it
    sends SIGTERM and, after KILL_AFTER_S seconds, SIGKILL.
    """

    def __init__(self, assignment: Assignment, *, source: str, leads: bool) -> None:
        self.name = assignment.name
        self.ready = anyio.Event()
        self._assignment = assignment
        self._source = source
        self._leads = leads
        self._process: Process | None = None
        self._told_to_stop = False

    @property
    def pid(self) -> int | None:
        """That of the process that was started last."""
        return None if self._process is None else self._process.pid

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        self._told_to_stop = False
        process = self._process = await self._start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._converse, process, task_status)
                code = await process.wait()
                group.cancel_scope.cancel()  # what it started may hold its end of the pipe
            self._raise_ended(code)
        finally:
            await self._end(process)

    def tell_to_stop(self) -> None:
        """Send SIGTERM, once, if the process runs."""
        process = self._process
        if process is not None and process.returncode is None and not self._told_to_stop:
            self._told_to_stop = True
            process.terminate()

    def take(self, auth: Auth) -> None:
        """Have the process, and every later one, go by a changed [security.auth], which it reads in the file itself."""
        config = self._assignment.config
        security = config.security.model_copy(update={"auth": auth})
        self._assignment = self._assignment.model_copy(
            update={"config": config.model_copy(update={"security": security})}
        )
        process = self._process
        if HANGUP is not None and process is not None and process.returncode is None and self.ready.is_set():
            process.send_signal(HANGUP)

    async def _start(self) -> Process:
        # -P: the folder this was started in is not a place to import from. The rest of the line is for people who look
        # at the list of processes.
        return await anyio.open_process(
            [sys.executable, "-P", "-m", "actors.processes.child", self.name, self._source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            start_new_session=True,  # Ctrl-C is meant for the parent, which ends its children in order
            env=os.environ | {"PYTHONPATH": _import_path()},
            pass_fds=self._assignment.descriptors,
        )

    async def _converse(self, process: Process, task_status: TaskStatus[None]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        log.info("process_started", process=self.name, pid=process.pid)
        if not self._leads:
            task_status.started()
        lines = BufferedByteReceiveStream(process.stdout)
        try:
            await process.stdin.send(self._assignment.model_dump_json().encode() + b"\n")
            while await lines.receive_until(b"\n", _MAX_LINE_BYTES) != READY_LINE:
                continue
        except (
            anyio.IncompleteRead,
            anyio.DelimiterNotFound,
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
        ):
            return  # it ends, or will never be ready; how it ends says more
        log.info("process_ready", process=self.name, pid=process.pid)
        self.ready.set()
        if self._leads:
            task_status.started()

    def _raise_ended(self, code: int) -> None:
        if code in NEVER_STARTS and not self.ready.is_set():
            raise StartupError(f"the process {self.name} cannot be started (exit code {code})")
        raise ChildEnded(f"the process {self.name} ended with exit code {code}")

    async def _end(self, process: Process) -> None:
        with anyio.move_on_after(KILL_AFTER_S, shield=True):
            self.tell_to_stop()
            await process.wait()
        if process.returncode is None:
            log.warning("process_killed", process=self.name, pid=process.pid, after_s=KILL_AFTER_S)
            process.kill()
        with anyio.move_on_after(REAP_S, shield=True):
            await process.aclose()


def _import_path() -> str:
    """Where the child finds this very package, whatever put it on the parent's path."""
    return os.pathsep.join(
        [str(Path(elf.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
