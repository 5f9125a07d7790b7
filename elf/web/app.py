"""The application over HTTP: operations become routes, beside them stand probes and what describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from anyio import to_thread

from elf.api.audit import AuditLog
from elf.api.operation import Handler, Operation
from elf.api.path_policy import PathPolicy, policy_of
from elf.config.access import EVERYBODY, Visitors
from elf.core.body_budget import BodyBudget
from elf.identity.identify import Identify, anonymous
from elf.web.admission import Admission
from elf.web.application import Application
from elf.web.docs import POLICY, docs_page
from elf.web.event_stream import EventStreams
from elf.web.exchange import Exchange
from elf.web.openapi import PUBLIC, About, Document, openapi_document
from elf.web.readiness import Health, Readiness
from elf.web.rendering import json_response
from elf.web.response import JSON, Response
from elf.web.routes import Route
from elf.web.views import View


def create_app(
    operations: Sequence[Operation],
    handlers: Mapping[str, Handler],
    *,
    readiness: Callable[[], Readiness],
    about: About = PUBLIC,
    visitors: Visitors = EVERYBODY,
    admission: Admission | None = None,
    identify: Identify = anonymous,
    policies: Sequence[PathPolicy] = (),
    bodies: BodyBudget | None = None,
    audit_log: AuditLog | None = None,
) -> Application:
    """Build the application that serves `operations`, /health, /ready, and their description for programs and people.

    `handlers` has what carries out each operation, by its name. `about` says in the description what the application
    is, `visitors` who is served, and `admission` when the operations are; None means at once. `identify` says by the
    headers of a request who makes it, `policies` what holds for paths, also where there is no operation, and `bodies`
    what bodies of requests may take. `audit_log` keeps the calls of audited operations.
    """
    app = Application(visitors=visitors, policies=policies, audit_log=audit_log)
    streams = EventStreams()
    bodies = bodies or BodyBudget()
    for operation in operations:
        policy = policy_of(policies, operation.path)
        answer = View(operation, handlers[operation.name], admission, identify, streams, bodies, policy)
        methods = ("GET", "HEAD") if operation.method == "GET" else (operation.method,)
        app.add(Route(operation.path, methods, answer, operation))
    _add_probes(app, readiness)
    _add_description(app, operations, about)
    return app


def _add_probes(app: Application, readiness: Callable[[], Readiness]) -> None:
    async def health(_: Exchange) -> Response:
        return await json_response(Health())

    async def ready(_: Exchange) -> Response:
        report = readiness()
        return await json_response(report, status=200 if report.ready else 503)

    app.add_page("/health", health)
    app.add_page("/ready", ready)


def _add_description(app: Application, operations: Sequence[Operation], about: About) -> None:
    async def described() -> tuple[Document, bytes]:
        # Not before somebody asks, for it takes longer than the rest of a start; and not on the loop.
        return await to_thread.run_sync(partial(_described, tuple(operations), about))

    async def openapi(_: Exchange) -> Response:
        return Response((await described())[1], content_type=JSON)

    async def docs(exchange: Exchange) -> Response:
        document = (await described())[0]
        page = docs_page(
            document, base_url=f"{exchange.scope['scheme']}://{exchange.headers.get('Host', '')}"
        )
        headers = {"content-security-policy": POLICY}
        return Response(page.encode(), content_type="text/html; charset=utf-8", headers=headers)

    app.add_page("/openapi.json", openapi)
    app.add_page("/docs", docs)


# It is the same for each application that a program opens with the same operations.
@lru_cache(maxsize=16)
def _described(operations: tuple[Operation, ...], about: About) -> tuple[Document, bytes]:
    """Return the document of a front, which nobody changes, and as it is sent."""
    document = openapi_document(operations, about)
    return document, json.dumps(document).encode()
