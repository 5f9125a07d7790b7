"""A service that does nothing, behind the front of the house: what a request costs that carries so many bytes."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Annotated, Any, Final

import anyio
import msgspec
import structlog
from pydantic import Field

from actors.fronts.connections import Connections
from actors.fronts.http_front import HttpFront, bind, bound_address
from elf.api.bodies import Request, Response
from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.config.places import Address
from elf.families.assistant.api.checkpoints import BOUNDS
from elf.web.app import create_app
from elf.web.readiness import Readiness

EMPTY_PATH: Final = "/v1/empty"
MOST_BYTES: Final = 16 << 20


class Empty(Request):
    """So many bytes, and how many the answer is to have."""

    data: str
    answered: Annotated[int, Field(ge=0, le=MOST_BYTES)] = 0


class Answered(Response):
    data: str


class _Answer(msgspec.Struct, frozen=True):
    data: str


OPERATION: Final = Operation(
    "empty", "POST", EMPTY_PATH, "Do nothing", Empty, Answered, text="any", max_body_bytes=MOST_BYTES,
    json_bounds=BOUNDS,
)  # fmt: skip


async def _answer(request: Empty, _: Caller) -> _Answer:
    return _Answer("x" * request.answered)


async def _serve(told: Connection) -> None:
    ready = Readiness(ready=True, parts=[])
    app = create_app([OPERATION], {OPERATION.name: _answer}, readiness=lambda: ready)
    with bind(Address("127.0.0.1", 0), key="empty") as sock:
        front: Any = HttpFront("empty_front", app, sock, Connections("empty_front", 100))
        async with anyio.create_task_group() as group:
            await group.start(front.run)
            told.send(str(bound_address(sock)))


def _run(told: Connection) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    anyio.run(_serve, told, backend_options={"use_uvloop": True})


@contextmanager
def empty_front() -> Iterator[str]:
    """Serve it in a process of its own, and give its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there,))
    process.start()
    try:
        yield f"http://{here.recv()}"
    finally:
        process.terminate()
        process.join()
