"""Several processes that are one service: `elf up` with [processes] starts them and keeps them running.

This process binds the addresses and passes the sockets on, so any number of processes listen at one address, and
connections wait, rather than being refused, while one of them starts again.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import structlog

from actors.fronts.http_front import bind, bound_address
from actors.fronts.sockets import Sockets, bound
from actors.processes.addresses import Fronts
from actors.processes.changed_auth import ChangedAuth, warn_of
from actors.processes.child_process import KILL_AFTER_S, REAP_S, Assignment, ChildProcess
from actors.processes.process import Say, new_supervisor, run_process, start_log
from elf.config.auth import Auth
from elf.config.load import load
from elf.config.model import Config
from elf.config.places import Address
from elf.config.processes import OPERATED, Processes, admin_ports

STOP_TIMEOUT_S = KILL_AFTER_S + REAP_S

log = structlog.get_logger()


def run_processes(config: Config, processes: Processes, *, source: str) -> int:
    """Run these processes until SIGTERM or SIGINT. Returns the exit code of this one.

    `source` says to people which config that is. Raises StartupError when a port is taken or one of them cannot start,
    ActorGaveUp when one ends again and again.
    """
    start_log(config.service, source=source)
    warn_of(config.security.auth)
    return run_process(partial(_serve, config, processes, source), stop_deadline_s=STOP_TIMEOUT_S)


async def _serve(config: Config, processes: Processes, source: str, say: Say) -> None:
    with _taken(config, processes) as ports:
        children = [
            ChildProcess(assignment, source=source, leads=place == 0)
            for place, assignment in enumerate(ports.assignments)
        ]

        def told(auth: Auth) -> None:
            for child in children:
                child.take(auth)

        supervisor = new_supervisor()
        for child in children:
            supervisor.add(child, stop_timeout_s=STOP_TIMEOUT_S)
        supervisor.add(ChangedAuth(partial(load, Path(source)), told))
        async with anyio.create_task_group() as group:
            try:
                await group.start(supervisor.run)
                for child in children:
                    await child.ready.wait()
                ports.fronts.announce(config, source=source, say=say)
                await anyio.sleep_forever()
            finally:
                # All at once: the supervisor stops one after the other.
                for child in children:
                    child.tell_to_stop()


class _Ports(NamedTuple):
    """The addresses of the service, and what each process is told: some of their sockets among it."""

    fronts: Fronts
    assignments: Sequence[Assignment]


@contextmanager
def _taken(config: Config, processes: Processes) -> Iterator[_Ports]:
    """Take the ports of all processes. Raises StartupError naming the key of one that is taken."""
    with ExitStack() as stack:
        shared = stack.enter_context(
            bound(config.service, http=processes.api > 0, mcp=processes.mcp > 0, grpc=processes.api > 0)
        )
        told = _resolved(config, shared)
        admins: dict[str, socket.socket] = {}
        free = _admin_ports(config, processes)
        assignments = []
        for name, role in processes.named():
            if role in OPERATED:
                address = config.service.admin_address._replace(port=free.pop(0))
                admins[name] = stack.enter_context(bind(address, key="service.admin_bind"))
                log.info("admin_address", process=name, address=str(bound_address(admins[name])))
            assignments.append(
                Assignment(
                    name=name,
                    role=role,
                    config=told,
                    http=_descriptor(shared.http if role == "api" else None),
                    admin=_descriptor(admins.get(name)),
                    mcp=_descriptor(shared.mcp if role == "mcp" else None),
                    grpc=_descriptor(shared.grpc if role == "api" else None),
                )
            )
        yield _Ports(fronts=_fronts(shared, admins), assignments=assignments)


def _admin_ports(config: Config, processes: Processes) -> list[int]:
    grpc = config.service.grpc_address
    count = sum(role in OPERATED for _, role in processes.named())
    return admin_ports(config.service.admin_address.port, count, skipped=grpc and grpc.port)


def _resolved(config: Config, shared: Sockets) -> Config:
    """Return what each process is told: the ports that were chosen, and nothing about other processes."""
    binds = {"http_bind": shared.http, "mcp_bind": shared.mcp, "grpc_bind": shared.grpc}
    chosen = {key: str(bound_address(sock)) for key, sock in binds.items() if sock is not None}
    service = config.service.model_copy(update=chosen)
    return config.model_copy(update={"service": service, "processes": None})


def _fronts(shared: Sockets, admins: dict[str, socket.socket]) -> Fronts:
    addresses = [(name, bound_address(sock)) for name, sock in admins.items()]
    return Fronts(
        http=_address(shared.http),
        admin=addresses[0][1] if addresses else None,
        mcp=_address(shared.mcp),
        grpc=_address(shared.grpc),
        others=addresses[1:],
    )


def _address(sock: socket.socket | None) -> Address | None:
    return None if sock is None else bound_address(sock)


def _descriptor(sock: socket.socket | None) -> int | None:
    return None if sock is None else sock.fileno()
