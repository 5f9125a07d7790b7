"""The Quart application: operations become routes, errors become bodies, every response carries a request id."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from uuid import UUID, uuid4

import structlog
from quart import Quart, Response, g, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from elf.api.error_style import ErrorStyle
from elf.api.operation import Handler, Operation
from elf.api.path_policy import PathPolicy, policy_of
from elf.config.access import EVERYBODY, Visitors
from elf.core.errors import InvalidRequest, NotFound, NotOffered, Unavailable
from elf.identity.identify import Identify, anonymous
from elf.identity.refusal import refusal_reason
from elf.web.access_log import log_request, route
from elf.web.admission import Admission
from elf.web.connection import GroupedConnection
from elf.web.docs import POLICY, docs_page
from elf.web.failures import (
    BODY_TIMEOUT_S,
    RESPONSE_TIMEOUT_S,
    as_service_error,
    error_response,
)
from elf.web.openapi import PUBLIC, About, openapi_document
from elf.web.readiness import Health, Readiness
from elf.web.rendering import JSON, json_response
from elf.web.views import largest_body, view

log = structlog.get_logger()


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
) -> Quart:
    """Build the application that serves `operations`, /health, /ready, and their description for programs and people.

    `handlers` has what carries out each operation, by its name. `about` says in the description what the application
    is, `visitors` who is served, and `admission` when the operations are; None means at once. `identify` says by the
    headers of a request who makes it, and `policies` what holds for paths, also where there is no operation.
    """
    app = Quart("elf", static_folder=None)
    app.asgi_http_class = GroupedConnection
    app.config["MAX_CONTENT_LENGTH"] = largest_body(operations)
    app.config["BODY_TIMEOUT"] = BODY_TIMEOUT_S
    app.config["RESPONSE_TIMEOUT"] = RESPONSE_TIMEOUT_S
    app.config["PROPAGATE_EXCEPTIONS"] = False
    app.config["DEBUG"] = False  # a variable of the environment would switch it on
    for operation in operations:
        app.add_url_rule(
            _rule(operation.path),
            operation.name,
            view(
                operation, handlers[operation.name], admission, identify, policy_of(policies, operation.path)
            ),
            methods=[operation.method],
            provide_automatic_options=False,
        )
    _add_probes(app, readiness)
    _add_description(app, operations, about)
    app.before_request(_begin)
    app.before_request(_refuse_hidden_slashes)
    app.before_request(partial(_keep_strangers_out, visitors))
    app.after_request(_end)
    styles = {operation.name: operation.error_style for operation in operations}
    app.register_error_handler(Exception, partial(_error_response, styles, policies))
    return app


def _rule(path: str) -> str:
    return path.replace("{", "<").replace("}", ">")


def _add_probes(app: Quart, readiness: Callable[[], Readiness]) -> None:
    async def health() -> Response:
        return await json_response(Health())

    async def ready() -> Response:
        report = readiness()
        return await json_response(report, status=200 if report.ready else 503)

    app.add_url_rule("/health", "health", health, methods=["GET"])
    app.add_url_rule("/ready", "ready", ready, methods=["GET"])


def _add_description(app: Quart, operations: Sequence[Operation], about: About) -> None:
    document = openapi_document(operations, about)
    encoded = json.dumps(document)

    async def openapi() -> Response:
        return Response(encoded, content_type=JSON)

    async def docs() -> Response:
        page = docs_page(document, base_url=request.host_url.rstrip("/"))
        return Response(
            page, content_type="text/html; charset=utf-8", headers={"Content-Security-Policy": POLICY}
        )

    app.add_url_rule("/openapi.json", "openapi", openapi, methods=["GET"])
    app.add_url_rule("/docs", "docs", docs, methods=["GET"])


async def _begin() -> None:
    g.started = time.perf_counter()
    g.request_id = _request_id(request.headers.get("X-Request-Id"))
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)


async def _refuse_hidden_slashes() -> None:
    # Routes are looked up in the decoded path, where what was meant as one part of it may have become two.
    path = request.scope.get("raw_path", b"").partition(b"?")[0]
    if b"%2f" in path.lower():
        raise NotFound(f"there is nothing at {path.decode('ascii', 'replace')}")


async def _keep_strangers_out(visitors: Visitors) -> None:
    if refusal := visitors.refusal(request.scope):
        raise InvalidRequest(refusal.message)


def _request_id(given: str | None) -> str:
    try:
        return str(UUID(given)) if given else str(uuid4())
    except ValueError:
        return str(uuid4())


async def _end(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.get("request_id") or str(uuid4())
    log_request(response)
    return response


async def _error_response(
    styles: Mapping[str, ErrorStyle | None], policies: Sequence[PathPolicy], error: Exception
) -> Response:
    policy = policy_of(policies, request.path)
    if isinstance(error, MethodNotAllowed) and policy is not None and policy.hides_methods:
        error = NotFound(f"there is nothing at {request.path}")
    failure = as_service_error(error)
    if reason := refusal_reason(failure):
        g.refusal = reason
    if failure.status >= 500 and not isinstance(failure, (Unavailable, NotOffered)):
        log.error("request_failed", route=route(), error=type(error).__name__, exc_info=error)
    status = error.code if isinstance(error, HTTPException) and error.code else failure.status
    style = styles.get(request.endpoint or "") or (None if policy is None else policy.error_style)
    response = error_response(failure, status=status, style=style)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response
