"""The Quart application: endpoints become routes, errors become bodies, every response carries a request id."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import structlog
from pydantic import BaseModel
from quart import Quart, Response, g, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge, RequestTimeout

from elf.config.places import Address, is_loopback
from elf.core.endpoint import Endpoint
from elf.core.errors import (
    InternalError,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    ServiceError,
    Unavailable,
)
from elf.web.connection import GroupedConnection
from elf.web.parsing import parse_body, parse_values
from elf.web.readiness import Readiness

MAX_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_S = 15
JSON = "application/json"

log = structlog.get_logger()


def create_app(endpoints: Sequence[Endpoint], *, readiness: Callable[[], Readiness]) -> Quart:
    """Build the application that serves `endpoints`, /health and /ready."""
    app = Quart("elf", static_folder=None)
    app.asgi_http_class = GroupedConnection
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["BODY_TIMEOUT"] = BODY_TIMEOUT_S
    app.config["PROPAGATE_EXCEPTIONS"] = False
    for endpoint in endpoints:
        app.add_url_rule(
            _rule(endpoint.path),
            endpoint.name,
            _view(endpoint),
            methods=[endpoint.method],
            provide_automatic_options=False,
        )
    _add_probes(app, readiness)
    app.before_request(_begin)
    app.after_request(_end)
    app.register_error_handler(Exception, _error_response)
    return app


def _rule(path: str) -> str:
    return path.replace("{", "<").replace("}", ">")


def _view(endpoint: Endpoint) -> Callable[..., Awaitable[Response]]:
    async def view(**path_values: str) -> Response:
        if endpoint.method == "POST":
            parsed = parse_body(endpoint.request, await _body(), path_values)
        else:
            parsed = parse_values(endpoint.request, _single_values() | path_values)
        structlog.contextvars.bind_contextvars(tenant=getattr(parsed, "tenant_id", None))
        return _json(await endpoint.handle(parsed))

    return view


async def _body() -> bytes:
    body = await request.get_data(as_text=False, parse_form_data=False)
    assert isinstance(body, bytes)
    return body


def _single_values() -> dict[str, str]:
    values = request.args.to_dict(flat=False)
    if repeated := [name for name, given in values.items() if len(given) > 1]:
        raise InvalidRequest(
            f"{repeated[0]} is given more than once", fields=[f"$.{name}" for name in repeated]
        )
    return {name: given[0] for name, given in values.items()}


def _add_probes(app: Quart, readiness: Callable[[], Readiness]) -> None:
    async def health() -> Response:
        return Response('{"status":"ok"}', content_type=JSON)

    async def ready() -> Response:
        report = readiness()
        return _json(report, status=200 if report.ready else 503)

    app.add_url_rule("/health", "health", health, methods=["GET"])
    app.add_url_rule("/ready", "ready", ready, methods=["GET"])


def _json(body: BaseModel, *, status: int = 200) -> Response:
    return Response(body.model_dump_json(), status=status, content_type=JSON)


async def _begin() -> None:
    g.started = time.perf_counter()
    g.request_id = _request_id(request.headers.get("X-Request-Id"))
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)
    if (origin := request.headers.get("Origin")) is not None and not _is_own_site(origin, request.host):
        # Nobody logs in here, so any page open in the user's browser could write; browsers say where it is from.
        raise InvalidRequest("requests from the pages of other web sites are refused")


def _is_own_site(origin: str, host: str) -> bool:
    try:
        site = urlsplit(origin)
        return site.netloc == host or is_loopback(Address(site.hostname or "", 0))
    except ValueError:
        return False


def _request_id(given: str | None) -> str:
    try:
        return str(UUID(given)) if given else str(uuid4())
    except ValueError:
        return str(uuid4())


async def _end(response: Response) -> Response:
    response.headers["X-Request-Id"] = g.get("request_id") or str(uuid4())
    log.debug(
        "request",
        method=request.method,
        path=request.path,
        status=response.status_code,
        ms=round((time.perf_counter() - g.started) * 1000, 2) if "started" in g else None,
    )
    return response


async def _error_response(error: Exception) -> Response:
    failure = _as_service_error(error)
    if failure.status >= 500 and not isinstance(failure, Unavailable):
        log.error("request_failed", path=request.path, error=type(error).__name__, exc_info=error)
    status = error.code if isinstance(error, HTTPException) and error.code else failure.status
    response = error_body(failure, status=status)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def error_body(failure: ServiceError, *, status: int | None = None) -> Response:
    """Return the wire form of a failure."""
    shown = "the service failed; the log has the details" if failure.status == 500 else failure.message
    body: dict[str, Any] = {
        "error_code": failure.error_code,
        "message": shown,
        "fields": list(failure.fields) or None,
    }
    response = Response(
        _ErrorBody(**body).model_dump_json(), status=status or failure.status, content_type=JSON
    )
    if isinstance(failure, Unavailable):
        response.headers["Retry-After"] = str(failure.retry_after_s)
    return response


class _ErrorBody(BaseModel):
    error_code: str
    message: str
    fields: list[str] | None


def _as_service_error(error: BaseException) -> ServiceError:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, RequestEntityTooLarge):
        return PayloadTooLarge(f"the body is larger than {MAX_BODY_BYTES} bytes")
    if isinstance(error, RequestTimeout):
        return InvalidRequest(f"the body did not arrive within {BODY_TIMEOUT_S} seconds")
    if isinstance(error, HTTPException) and error.code == 404:
        return NotFound(f"there is nothing at {request.path}")
    if isinstance(error, HTTPException) and error.code is not None and error.code < 500:
        return InvalidRequest(error.description or error.name)
    return InternalError("the service failed")
