"""One of several processes under the actor that runs it: real processes, with the front that starts fastest."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import psutil
import pytest
from structlog.testing import capture_logs

from actors.kernel.failure import unwrapped
from actors.processes import child_process
from actors.processes.child_process import Assignment, ChildEnded, ChildProcess
from elf.config import load
from tests.system.service import REPO, wait_for, write_config

pytestmark = pytest.mark.anyio

PATIENCE_S = 60.0  # a bound on hanging, never a measure


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def assignment(tmp_path: Path) -> Iterator[Assignment]:
    config = load(write_config(tmp_path, http_bind='"127.0.0.1:9"', api_key='"s3cret"'))
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield Assignment(name="tools", role="mcp", config=config, mcp=sock.fileno())


def process_of(child: ChildProcess) -> psutil.Process:
    assert child.pid is not None
    return psutil.Process(child.pid)


@pytest.mark.parametrize("leads", [True, False])
async def test_a_process_runs_until_it_is_told_to_stop(assignment: Assignment, leads: bool) -> None:
    child = ChildProcess(assignment, source="elf.toml", leads=leads)
    with anyio.fail_after(PATIENCE_S), capture_logs() as logs:
        async with anyio.create_task_group() as group:
            await group.start(_run, child)
            assert child.ready.is_set() == leads
            await child.ready.wait()
            process = process_of(child)
            assert process.cmdline()[-2:] == ["tools", "elf.toml"]
            group.cancel_scope.cancel()
    assert not process.is_running()
    assert [log["event"] for log in logs] == ["process_started", "process_ready"]


async def test_a_process_that_is_killed_fails_its_actor_and_one_that_hangs_is_killed(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "KILL_AFTER_S", 0.05)
    child = ChildProcess(assignment, source="elf.toml", leads=False)
    with anyio.fail_after(PATIENCE_S):
        with pytest.raises(BaseExceptionGroup) as caught:
            await _start_and_kill(child)
        error = unwrapped(caught.value)
        assert isinstance(error, ChildEnded)
        assert str(error) == "the process tools ended with exit code -9"
        with capture_logs() as logs:
            async with anyio.create_task_group() as group:
                await group.start(_run, child)
                process = process_of(child)
                process.send_signal(signal.SIGSTOP)
                wait_for(lambda: process.status() == psutil.STATUS_STOPPED, "the process is frozen")
                group.cancel_scope.cancel()
    assert not process.is_running()
    assert [log["event"] for log in logs] == ["process_started", "process_killed"]


@pytest.mark.parametrize(
    "told", ["", "{}\n", '{"name": "tools", "role": "mcp", "config": {"api_key": "s3cret"}}\n']
)
def test_a_process_that_is_not_told_what_to_do_says_so(told: str) -> None:
    command = [sys.executable, "-m", "actors.processes.child", "tools", "elf.toml"]
    result = subprocess.run(
        command, input=told, capture_output=True, text=True, cwd=REPO, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == "elf: tools: it was not told what to do\n"


def test_an_assignment_arrives_as_it_was_sent(assignment: Assignment) -> None:
    line = assignment.model_dump_json()
    assert "\n" not in line
    assert Assignment.model_validate_json(line) == assignment
    assert json.loads(line)["mcp"] == assignment.descriptors[0]
    assert "s3cret" in line
    assert "s3cret" not in repr(assignment)


async def _start_and_kill(child: ChildProcess) -> None:
    async with anyio.create_task_group() as group:
        await group.start(_run, child)
        process_of(child).kill()


async def _run(child: ChildProcess, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    await child.run(task_status=task_status)
