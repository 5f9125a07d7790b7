"""An ASGI application: a request is found its route, answered, logged, and counted.

A failure is answered as well, in the form of the operation at which it happened, or of the path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote

import structlog

from elf.api.audit import AuditLog
from elf.api.path_policy import PathPolicy, policy_of
from elf.config.access import Visitors
from elf.core.errors import InvalidRequest, NotFound
from elf.identity.refusal import refusal_reason
from elf.web.access_log import log_request
from elf.web.auditing import RequestAudit
from elf.web.exchange import Exchange, Receive, Scope, Send
from elf.web.failures import Misdirected, as_service_error, error_response, is_a_fault
from elf.web.measures import UNMATCHED
from elf.web.response import Response
from elf.web.routes import Answer, MethodNotAllowed, Route, Routes
from elf.web.spans import continued_trace

log = structlog.get_logger()

Notice: TypeAlias = Callable[[Exchange, Response], None]
"""Is told of each request and its answer."""

PAGE_METHODS = ("GET", "HEAD", "OPTIONS")


class Application:
    """Serves what is added to it. `visitors` says who is served, `policies` what holds for paths.

    Calls of audited operations are recorded in `audit_log`, where there is one.
    """

    def __init__(
        self,
        *,
        visitors: Visitors,
        policies: Sequence[PathPolicy] = (),
        audit_log: AuditLog | None = None,
    ) -> None:
        self._visitors = visitors
        self._policies = policies
        self._audit_log = audit_log
        self._routes = Routes()
        self._notices: list[Notice] = []

    def add(self, route: Route) -> None:
        """Serve a route."""
        self._routes.add(route)

    def add_page(self, path: str, answer: Answer) -> None:
        """Serve something that is there to be read, and belongs to no operation."""
        self.add(Route(path, PAGE_METHODS, partial(_page, answer)))

    def after_each(self, notice: Notice) -> None:
        """Have somebody told of each request from now on."""
        self._notices.append(notice)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await Exchange(scope, receive, send).run(self._answer)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, exchange: Exchange) -> Response:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=exchange.request_id)
        try:
            with continued_trace(exchange.headers):
                response = await self._routed(exchange)
                if not exchange.audit.is_followed:
                    await exchange.audit.ended("done")
        except Exception as error:  # noqa: BLE001 - each is answered
            response = await self._failed(exchange, error)
        response.headers["x-request-id"] = exchange.request_id
        log_request(exchange, response.status)
        for notice in self._notices:
            notice(exchange, response)
        return response

    async def _routed(self, exchange: Exchange) -> Response:
        failure: NotFound | MethodNotAllowed | None = None
        try:
            exchange.route, exchange.values = self._found(exchange)
        except (NotFound, MethodNotAllowed) as error:
            failure = error
        else:
            self._open_audit(exchange, exchange.route)
        _refuse_hidden_slashes(exchange)
        if refusal := self._visitors.refusal(exchange.scope):
            raise (Misdirected if refusal.cause == "host" else InvalidRequest)(refusal.message)
        if exchange.route is None:
            assert failure is not None
            raise failure
        return await exchange.route.answer(exchange)

    def _found(self, exchange: Exchange) -> tuple[Route, dict[str, str]]:
        """Return the route of a request: by its decoded path, or by its parts where one of them may have slashes.

        Raises NotFound and MethodNotAllowed.
        """
        sent = exchange.raw_path.partition(b"?")[0]
        if b"%2f" in sent.lower():
            parts = [unquote(part.decode("ascii", "replace")) for part in sent.split(b"/")[1:]]
            with suppress(NotFound, MethodNotAllowed):
                route, values = self._routes.find_parts(parts, exchange.method, path=exchange.path)
                slashed = [name for name, value in values.items() if "/" in value]
                if route.operation is not None and slashed == [route.operation.slashed]:
                    exchange.has_slashed_value = True
                    return route, values
        return self._routes.find(exchange.path, exchange.method)

    def _open_audit(self, exchange: Exchange, route: Route) -> None:
        """Begin with a request before anything of it is judged."""
        operation = route.operation
        if operation is None or not (operation.is_audited or operation.audit is not None):
            return
        in_query = operation.query if operation.has_body else tuple(operation.request.model_fields)
        sent = dict(reversed(parse_qsl(exchange.query.decode("latin-1"), keep_blank_values=True)))
        given = {name: sent[name] for name in in_query if name in sent} | exchange.values
        exchange.audit = RequestAudit(operation, self._audit_log, request_id=exchange.request_id, given=given)

    async def _failed(self, exchange: Exchange, error: Exception) -> Response:
        policy = policy_of(self._policies, exchange.path)
        if isinstance(error, MethodNotAllowed) and policy is not None and policy.hides_methods:
            error = NotFound(f"there is nothing at {exchange.path}")
        failure = as_service_error(error)
        await exchange.audit.ended(failure)
        if reason := refusal_reason(failure):
            exchange.refusal = reason
        if is_a_fault(failure):
            route = exchange.route_path or UNMATCHED
            log.error("request_failed", route=route, error=type(error).__name__, exc_info=error)
        operation = None if exchange.route is None else exchange.route.operation
        styled = (one.error_style for one in (operation, policy) if one is not None)
        return error_response(failure, style=next(filter(None, styled), None))


def _refuse_hidden_slashes(exchange: Exchange) -> None:
    # Routes are looked up in the decoded path, where what was meant as one part of it may have become two.
    path = exchange.raw_path.partition(b"?")[0]
    if b"%2f" in path.lower() and not exchange.has_slashed_value:
        raise NotFound(f"there is nothing at {path.decode('ascii', 'replace')}")


async def _page(answer: Answer, exchange: Exchange) -> Response:
    if exchange.method == "OPTIONS":
        return Response(headers={"allow": ", ".join(PAGE_METHODS)})
    return await answer(exchange)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message: Any = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
