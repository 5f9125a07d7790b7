"""Puts the gRPC front together."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from actors.fronts.grpc_front import GrpcFront
from actors.kernel import Supervisor
from elf.api.operation import Handler
from elf.api.rpc import Servicer
from elf.core.body_budget import BodyBudget
from elf.core.errors import StartupError
from elf.core.measures import Measures
from elf.identity.identify import Identify
from elf.rpc.calls import Calls
from elf.rpc.server import create_server
from elf.web.admission import Admission

STOP_TIMEOUT_S = 6.0


def add_grpc_front(
    supervisor: Supervisor,
    held: socket.socket,
    servicers: Sequence[Servicer],
    handlers: Mapping[str, Handler],
    *,
    identify: Identify,
    measures: Measures,
    admission: Admission | None,
    is_ready: Callable[[], bool],
    max_calls: int,
    max_connections: int,
    bodies: BodyBudget,
) -> None:
    """Add the actor that serves these services at a held port; `handlers` carry out their operations, by name.

    Raises StartupError when two services have one name.
    """
    names = Counter(servicer.service.full_name for servicer in servicers)
    if doubled := [name for name, count in names.items() if count > 1]:
        raise StartupError(f"two services of gRPC are called {doubled[0]}")
    calls = Calls(
        handlers,
        front=GrpcFront.name,
        identify=identify,
        measures=measures,
        max_calls=max_calls,
        admission=admission,
        bodies=bodies,
    )
    build = partial(create_server, servicers, calls, is_ready=is_ready, max_connections=max_connections)
    supervisor.add(GrpcFront(held, build), stop_timeout_s=STOP_TIMEOUT_S)
