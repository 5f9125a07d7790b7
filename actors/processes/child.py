"""One of the processes that `elf up` starts for [processes].

    python -m actors.processes.child NAME SOURCE

It reads its assignment, a line of JSON, from standard input, prints a line when it is ready, and ends on SIGTERM or
when standard input closes, which happens when its parent dies in whatever way.
"""

from __future__ import annotations

import os
import socket
import sys
from functools import partial
from pathlib import Path

import anyio
import structlog
from pydantic import ValidationError

from actors.families import FAMILIES
from actors.fronts.sockets import Sockets
from actors.processes.child_process import READY_LINE, Assignment
from actors.processes.entry import run_entry
from actors.processes.process import Say, exit_in_any_case, run_process
from elf.config import Config, load
from elf.config.places import reachable_from_here
from elf.core.allocator import use_one_arena
from elf.core.errors import StartupError
from elf.core.logs import configure_logging
from elf.family import families_on, tables_of

log = structlog.get_logger()


def main() -> int:
    """Run the process; returns its exit code."""
    use_one_arena()
    name = sys.argv[1]
    return run_entry(f"elf: {name}", _run)


def _run() -> int:
    try:
        assignment = Assignment.model_validate_json(sys.stdin.buffer.readline())
    except ValidationError as error:
        raise StartupError("it was not told what to do") from error
    service = assignment.config.service
    configure_logging(service.log_level, form=service.log_format, process=assignment.name)
    return run_process(partial(_serve, assignment), say=lambda line: log.info("said", line=line))


async def _serve(assignment: Assignment, say: Say) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_end_with_parent, group.cancel_scope)
        if assignment.mcp is not None:
            await _serve_mcp(assignment, assignment.mcp)
        else:
            await _serve_system(assignment)
        group.cancel_scope.cancel()


async def _serve_mcp(assignment: Assignment, descriptor: int) -> None:
    from actors.processes.mcp_process import serve_http  # this process needs nothing of the rest

    api = reachable_from_here(assignment.config.service.http_address)
    with socket.socket(fileno=descriptor) as sock:
        await serve_http(
            assignment.config,
            families_on(FAMILIES, assignment.config),
            sock,
            api=api,
            ready=_say_ready,
            reload=_reload,
        )


async def _serve_system(assignment: Assignment) -> None:
    from actors.system import serve

    await serve(
        assignment.config,
        frozenset({assignment.role}),
        sockets=Sockets.inherited(http=assignment.http, admin=assignment.admin, grpc=assignment.grpc),
        process=assignment.name,
        ready=lambda _: _say_ready(),
        reload=_reload,
    )


def _reload() -> Config:
    return load(Path(sys.argv[2]), tables_of(FAMILIES))


async def _end_with_parent(scope: anyio.CancelScope) -> None:
    descriptor = sys.stdin.fileno()
    await anyio.wait_readable(descriptor)
    while os.read(descriptor, 4096):
        await anyio.wait_readable(descriptor)
    log.warning("parent_gone")
    exit_in_any_case()
    scope.cancel()


def _say_ready() -> None:
    os.write(sys.stdout.fileno(), READY_LINE + b"\n")


if __name__ == "__main__":
    sys.exit(main())
