"""The composition root: what a process runs is put together here, from the parts that its actors need."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import anyio
import httpx
from werkzeug.datastructures import Headers

from actors.assembly.identity import add_identity
from actors.assembly.work import Work, add_work
from actors.families import FAMILIES
from actors.fronts.connections import Connections
from actors.fronts.descriptors import MOST, MOST_GRPC, connection_limit
from actors.fronts.host_names import visitors_of
from actors.fronts.http_front import HttpFront, bound_address
from actors.fronts.mcp_front import McpFront
from actors.fronts.sockets import Sockets, bound
from actors.kernel import Supervisor
from actors.processes.addresses import Fronts
from actors.processes.changed_auth import warn_of
from actors.processes.process import Say, new_supervisor, run_process, start_log
from actors.telemetry.metrics import Metrics
from actors.telemetry.span_exporter import tracer_for
from elf.api.audit import AuditLog
from elf.api.operation import Handler, Operation
from elf.api.path_policy import PathPolicy
from elf.api.rpc import Servicer
from elf.audit.operations import LIST_AUDIT
from elf.audit.sparing import SparingAuditLog
from elf.config.limits import Limits, body_budget
from elf.config.load import load
from elf.config.model import Config
from elf.config.places import Address, reachable_from_here
from elf.config.processes import EVERY_ROLE, OPERATED, Role
from elf.core.body_budget import BodyBudget
from elf.family import Family, families_on, local_answers_of, refuse_doubles, tables_of
from elf.ground import Models, Roles
from elf.identity.identify import Identify
from elf.identity.roles import ADMIN as ADMIN_ROLE
from elf.identity.roles import AUDITOR
from elf.indexing.admin_operations import INDEX_OPERATIONS
from elf.mcp.api import client_of_address, client_of_app
from elf.outbox.admin_operations import JOB_OPERATIONS
from elf.providers.factory import open_consolidator, open_embedder, open_extractor, open_providers
from elf.providers.local.answers import LocalAnswer
from elf.providers.local.model_cache import fetch_models
from elf.providers.local.progress import LogReport
from elf.providers.port import Chat
from elf.search.guards import guarded_consolidator
from elf.web.admin import COLLECT_GARBAGE
from elf.web.admission import Admission
from elf.web.app import create_app
from elf.web.application import Application
from elf.web.openapi import ADMIN, PUBLIC, About
from elf.web.readiness import Part, Readiness, database_part
from elf.web.spans import traced


def run(
    config: Config,
    *,
    source: str,
    roles: Collection[Role] = EVERY_ROLE,
    families: Sequence[Family] = FAMILIES,
) -> int:
    """Run a process with these roles until SIGTERM or SIGINT. Returns the process's exit code.

    `source` says to people which config that is. Where the service listens once it is ready, and that it stops, is
    printed. Raises StartupError when it cannot start, ActorGaveUp when a part of it fails again and again.
    """
    start_log(config.service, source=source)
    warn_of(config.security.auth)
    if any(role in OPERATED for role in roles):
        fetch_models(config, report=LogReport())  # before there is a loop that a download would hold up
    return run_process(partial(_serve, config, frozenset(roles), source, families))


async def _serve(
    config: Config, roles: frozenset[Role], source: str, families: Sequence[Family], say: Say
) -> None:
    def ready(system: System) -> None:
        system.fronts.announce(config, source=source, say=say)

    reload = partial(load, Path(source), tables_of(families))
    await serve(config, roles, ready=ready, families=families, reload=reload)


async def serve(
    config: Config,
    roles: frozenset[Role],
    *,
    ready: Callable[[System], object],
    sockets: Sockets | None = None,
    process: str | None = None,
    families: Sequence[Family] = FAMILIES,
    reload: Callable[[], Config] | None = None,
) -> None:
    """Run a process with these roles until cancelled, and call `ready` once it is; the rest is as for `open_system`."""
    opened = open_system(
        config, roles=roles, sockets=sockets, process=process, families=families, reload=reload
    )
    async with opened as system, anyio.create_task_group() as group:
        await group.start(system.run)
        _collect_garbage_less_often()
        ready(system)


def _collect_garbage_less_often() -> None:
    # What start-up made stays for good and need not be looked through again, and a search makes thousands of objects
    # that die by themselves. Measured: 0.7 ms less a search, and no more pauses of 60 ms. The second generation is
    # looked through at 60,000 objects, which takes 10 ms, and not at more: a large request makes half a million.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 3, 300)


class System:
    """All actors of one process under their supervisor, and where its fronts listen."""

    def __init__(self, supervisor: Supervisor, sockets: Sockets) -> None:
        self.run = supervisor.run
        self.snapshot = supervisor.snapshot
        self.http_address = _address(sockets.http)
        self.fronts = Fronts(
            self.http_address, _address(sockets.admin), _address(sockets.mcp), _address(sockets.grpc)
        )


@asynccontextmanager
async def open_system(
    config: Config,
    *,
    roles: frozenset[Role] = EVERY_ROLE,
    sockets: Sockets | None = None,
    process: str | None = None,
    families: Sequence[Family] = FAMILIES,
    reload: Callable[[], Config] | None = None,
) -> AsyncIterator[System]:
    """Build the actors of these roles. `sockets` are bound ones for the fronts; without them they are taken now.

    `process` is the name of this process when it is one of several; /ready tells it. `reload` reads the config file
    again at SIGHUP, for who calls; only in the main thread.
    Raises StartupError, before anything is started, when a port is taken, a provider cannot be opened, or two families
    cannot be told apart.
    """
    refuse_doubles(families)
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        serves, works = "api" in roles, "worker" in roles
        if sockets is None:
            taken = bound(config.service, http=serves, admin=serves, mcp="mcp" in roles, grpc=serves)
            sockets = stack.enter_context(taken)
        here = Roles(serves=serves, administers=sockets.admin is not None, works=works)
        on = families_on(families, config)
        models = await stack.enter_async_context(_models(config, here, metrics, local_answers_of(on)))
        builder = _Builder(config, on, here, sockets, models, metrics, process, reload)
        builder.build()
        stack.push_async_callback(builder.close)
        yield System(builder.supervisor, sockets)


@asynccontextmanager
async def _models(
    config: Config, roles: Roles, metrics: Metrics, local_answers: Sequence[LocalAnswer]
) -> AsyncIterator[Models]:
    if not (roles.serves or roles.works):
        yield Models()
        return
    async with _consolidator(config, metrics, local_answers) as consolidator:
        if roles.serves:
            opening = open_providers(config, local_answers=local_answers, measures=metrics.measures)
            async with await opening as providers:
                # A pass of its own for each text would cost what a remote embedder saves: searches make what they need.
                late = providers.late if config.providers.embedding.is_local else None
                extractor = None if config.providers.llm_extractor.is_local else providers.extractor
                yield Models(
                    embedder=providers.embedder, late=late, consolidator=consolidator, extractor=extractor,
                    all=providers,
                )  # fmt: skip
        else:
            async with (
                open_embedder(config, measures=metrics.measures) as (embedder, late),
                open_extractor(config, measures=metrics.measures) as extractor,
            ):
                yield Models(embedder=embedder, late=late, consolidator=consolidator, extractor=extractor)


@asynccontextmanager
async def _consolidator(
    config: Config, metrics: Metrics, local_answers: Sequence[LocalAnswer]
) -> AsyncIterator[Chat | None]:
    opening = open_consolidator(config, local_answers=local_answers, measures=metrics.measures)
    async with opening as chat:
        guarded = guarded_consolidator(config, chat)
        if guarded is not None:
            metrics.watch_breakers([guarded.breaker])
        yield guarded


class _Builder:
    """Puts the actors of a process together."""

    def __init__(
        self,
        config: Config,
        families: Sequence[Family],
        roles: Roles,
        sockets: Sockets,
        models: Models,
        metrics: Metrics,
        process: str | None,
        reload: Callable[[], Config] | None,
    ) -> None:
        self._reload = reload
        self._config = config
        self._families = families
        self._roles = roles
        self._sockets = sockets
        self._models = models
        self._metrics = metrics
        self._process = process
        self._work: Work | None = None
        self.supervisor = new_supervisor()
        metrics.watch_actors(self.supervisor.snapshot)

    def build(self) -> None:
        api = None
        if self._roles.serves or self._roles.works:
            self._work = self._add_work()
            api = self._add_fronts(self._work)
        if self._sockets.mcp is not None:
            front = McpFront(
                self._config,
                self._sockets.mcp,
                families=self._families,
                identify=self._metrics.count_refusals(self._identify, front=McpFront.name),
                connect=self._way_to(api),
                connections=self._connections(McpFront.name),
                bodies=self._bodies,
            )
            self.supervisor.add(front, stop_timeout_s=6.0)

    async def close(self) -> None:
        if self._work is not None:
            await self._work.close()

    def _add_work(self) -> Work:
        return add_work(
            self._config,
            self._families,
            self.supervisor,
            self._metrics,
            self._models,
            roles=self._roles,
            process=self._process,
            is_crowded=self._is_crowded,
        )

    def _add_fronts(self, work: Work) -> Application | None:
        """Add the fronts that this process has; returns the public one."""
        api = None
        if self._sockets.http is not None:
            spans = {name: span for family in self._families for name, span in family.spans.items()}
            handlers = traced(work.handlers, spans, tracer_for(self._config.tracing, self.supervisor))
            api = self._add_front(
                "http_front",
                [operation for family in self._families for operation in family.operations],
                handlers,
                self._sockets.http,
                about=PUBLIC,
                admission=self._admission,
                policies=[policy for family in self._families for policy in family.paths],
                audit_log=SparingAuditLog(work.audit, time.monotonic),
            )
            if self._sockets.grpc is not None:
                self._add_grpc(self._sockets.grpc, work.servicers, handlers)
        if self._sockets.admin is not None:
            admin = self._add_front(
                "admin_front",
                self._guarded(
                    [
                        COLLECT_GARBAGE,
                        LIST_AUDIT,
                        *(one for family in self._families for one in family.admin_operations),
                        *INDEX_OPERATIONS,
                        *JOB_OPERATIONS,
                    ]
                ),
                work.handlers,
                self._sockets.admin,
                about=ADMIN,
                audit_log=work.audit,
            )
            self._metrics.add_page(admin, admits=self._admits_auditor)
        return api

    def _add_grpc(
        self, held: socket.socket, servicers: Sequence[Servicer], handlers: Mapping[str, Handler]
    ) -> None:
        from actors.assembly.grpc import (
            add_grpc_front,
        )  # which loads gRPC: half of its services are without it

        add_grpc_front(
            self.supervisor,
            held,
            servicers,
            handlers,
            identify=self._identify,
            measures=self._metrics.measures,
            admission=self._admission,
            is_ready=lambda: self._readiness().ready,
            max_calls=self._connection_limit,
            max_connections=self._connections_of(None, most=MOST_GRPC),
            bodies=self._bodies,
        )

    def _guarded(self, operations: Sequence[Operation]) -> Sequence[Operation]:
        """Return what operators do, audited; for those who have its role, once it must be proved who calls.

        It is for admins where it does not say otherwise.
        """
        is_open = self._config.security.auth.mode == "off"
        return [
            replace(one, role=None if is_open else one.role or ADMIN_ROLE, is_audited=True)
            for one in operations
        ]

    async def _admits_auditor(self, headers: Headers) -> None:
        if self._config.security.auth.mode != "off":
            (await self._identify(headers)).require(AUDITOR)

    @cached_property
    def _identify(self) -> Identify:
        return add_identity(self._config.security.auth, self.supervisor, reload=self._reload)

    @cached_property
    def _admission(self) -> Admission | None:
        limits = self._config.service.limits
        return None if limits is None or self._sockets.http is None else Admission(limits)

    @cached_property
    def _bodies(self) -> BodyBudget:
        bodies = body_budget(self._config.service.limits)
        self._metrics.watch_bodies(bodies)
        return bodies

    def _is_crowded(self) -> bool:
        return self._admission is not None and self._admission.is_crowded

    def _add_front(
        self,
        name: str,
        operations: Sequence[Operation],
        handlers: Mapping[str, Handler],
        sock: socket.socket,
        *,
        about: About,
        audit_log: AuditLog,
        admission: Admission | None = None,
        policies: Sequence[PathPolicy] = (),
    ) -> Application:
        visitors = visitors_of(name, self._config.service, sock)
        app = create_app(
            operations,
            handlers,
            readiness=self._readiness,
            about=replace(about, asks_who=self._config.security.auth.mode != "off"),
            visitors=visitors,
            admission=admission,
            identify=self._identify,
            policies=policies,
            bodies=self._bodies,
            audit_log=audit_log,
        )
        self._metrics.count_requests(app, front=name)
        if admission is not None:
            self._metrics.watch_admission(admission.statistics)
        front = HttpFront(name, app, sock, self._connections(name))
        self.supervisor.add(front, stop_timeout_s=6.0)
        return app

    @cached_property
    def _connection_limit(self) -> int:
        return self._connections_of(self._config.service.limits)

    def _connections_of(self, limits: Limits | None, *, most: int = MOST) -> int:
        postgres = self._config.storage.postgres
        return connection_limit(
            limits,
            fronts=sum(sock is not None for sock in self._sockets),
            pooled=postgres.pool_max_conns * (2 if postgres.read_dsn else 1),
            most=most,
        )

    def _connections(self, front: str) -> Connections:
        connections = Connections(front, self._connection_limit)
        self._metrics.watch_connections(connections)
        return connections

    def _way_to(self, api: Application | None) -> Callable[[], httpx.AsyncClient]:
        if api is not None:
            return partial(client_of_app, api)
        return partial(client_of_address, reachable_from_here(self._config.service.http_address))

    def _readiness(self) -> Readiness:
        snapshot = self.supervisor.snapshot()
        parts = [
            Part(name=actor.name, state=actor.state, restarts=actor.restarts, last_error=actor.last_error)
            for actor in snapshot.actors
        ]
        assert self._work is not None, "only what works on the database has fronts that tell"
        database = self._work.health.state
        works = [database_part(name, why) for name, why in database._asdict().items()]
        return Readiness(
            ready=snapshot.ready and not any(database),
            process=self._process,
            parts=[*parts, *works],
            warnings=list(self._work.warnings()),
        )


def _address(sock: socket.socket | None) -> Address | None:
    return None if sock is None else bound_address(sock)
