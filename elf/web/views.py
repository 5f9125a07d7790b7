"""From a request to its answer: what an operation's route does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace

import structlog
from pydantic import BaseModel
from werkzeug.datastructures import Headers, MIMEAccept
from werkzeug.http import parse_accept_header

from elf.api.caller import ANONYMOUS, DEFAULT_TENANT, Caller
from elf.api.operation import WATCHED_BY, Events, Handler, Operation, Outcome, Stream, Watchable
from elf.api.path_policy import PathPolicy
from elf.core.body_budget import BodyBudget
from elf.core.errors import InvalidRequest, NotFound
from elf.core.slices import read_in_slices
from elf.identity.identify import Identify
from elf.web.admission import Admission, tenant_of
from elf.web.event_stream import EVENT_STREAM, EventStreams, event_response
from elf.web.exchange import Exchange
from elf.web.failures import MAX_BODY_BYTES
from elf.web.parsing import parse_values, reading_body
from elf.web.query_strings import check_path, query_values
from elf.web.rendering import json_response
from elf.web.response import Response


class View:
    """Answers the requests for an operation."""

    def __init__(
        self,
        operation: Operation,
        handle: Handler,
        admission: Admission | None,
        identify: Identify,
        streams: EventStreams,
        bodies: BodyBudget,
        policy: PathPolicy | None = None,
    ) -> None:
        self._operation = operation
        self._handle = handle
        self._admission = admission
        self._identify = identify
        self._streams = streams
        self._bodies = bodies
        self._policy = policy

    async def __call__(self, exchange: Exchange) -> Response:
        operation = self._operation
        if exchange.values:
            check_path(exchange.raw_path, operation.path)
        exchange.changes = operation.changes
        caller = await self._caller(exchange)
        if operation.has_body:
            body = await exchange.body(operation.max_body_bytes or MAX_BODY_BYTES, self._bodies)
            values = _from_query(operation, exchange.query) | exchange.values
        else:
            body, values = b"", query_values(exchange.query) | exchange.values
        exchange.listen()
        tenant = caller.bound.get("tenant_id") or values.get("tenant_id")
        if self._admission is None:
            return await self._response(exchange, body, values, caller, tenant)
        async with self._admission.turn(operation, tenant_of(body) if tenant is None else tenant):
            return await self._response(exchange, body, values, caller, tenant)

    async def _response(
        self, exchange: Exchange, body: bytes, values: dict[str, str], caller: Caller, tenant: str | None
    ) -> Response:
        if isinstance(self._operation, Stream):
            exchange.held.enter_context(self._streams.one(caller, tenant or ""))
        return await _response(exchange, self._operation, await self._outcome(exchange, body, values, caller))

    async def _caller(self, exchange: Exchange) -> Caller:
        async def noted(headers: Headers) -> Caller:
            exchange.audit.caller = caller = await self._identify(headers)
            return caller

        return await caller_of(self._operation, noted, exchange.headers)

    async def _outcome(
        self, exchange: Exchange, body: bytes, values: dict[str, str], caller: Caller
    ) -> Outcome:
        try:
            parsed = await _parsed(self._operation, body, values, caller)
        except InvalidRequest as error:
            raise _missing(self._operation, self._policy, values, error) or error from None
        if (tenant := getattr(parsed, "tenant_id", None)) is not None:
            structlog.contextvars.bind_contextvars(tenant=tenant)
        exchange.audit.request = parsed
        await exchange.audit.begin()
        outcome = await self._handle(parsed, caller)
        await exchange.audit.done(outcome)
        return outcome


async def caller_of(operation: Operation, identify: Identify, headers: Headers) -> Caller:
    """Return who asks for an operation, by the headers of the request. Raises what refuses one who may not."""
    caller = ANONYMOUS if operation.is_open else await identify(headers)
    bind_caller(caller, needs_user=operation.needs_user)
    if operation.needs_user:
        caller.require_user()
    if operation.role is not None:
        caller.require(operation.role)
    return replace(caller, needed=caller.needed - {"tenant_id"}) if operation.spans_tenants else caller


def bind_caller(caller: Caller, *, needs_user: bool) -> None:
    """Have the log tell who does what is done from here on, and for which tenant.

    What is done for a user who is bound to no tenant is of the default one. Other requests may name theirs.
    """
    known = {name: value for name in ("user", "client") if (value := getattr(caller, name)) is not None}
    tenant = caller.bound.get("tenant_id", DEFAULT_TENANT if needs_user else None)
    structlog.contextvars.bind_contextvars(tenant=tenant, **known)


def _missing(
    operation: Operation, policy: PathPolicy | None, values: Mapping[str, str], error: InvalidRequest
) -> NotFound | None:
    """Return the failure of a path whose parameter cannot be one, where that is how a family tells it."""
    if policy is None or policy.missing is None:
        return None
    wrong = next((name for name in operation.path_parameters if f"$.{name}" in error.fields), None)
    return None if wrong is None else policy.missing(wrong, values[wrong])


def _from_query(operation: Operation, query: bytes) -> dict[str, str]:
    """Return what the query string says of a request that has a body. Raises InvalidRequest for what it may not say."""
    if not operation.query and not isinstance(operation, Watchable):
        return {}
    values = query_values(query)
    if isinstance(operation, Watchable):
        _check_watched(values.pop(WATCHED_BY, "false"))
    if unknown := [f"$.{name}" for name in values if name not in operation.query]:
        raise InvalidRequest(f"{unknown[0]}: is not a known parameter", fields=unknown)
    return values


def _check_watched(value: str) -> None:
    if value not in ("true", "false"):
        raise InvalidRequest(f"$.{WATCHED_BY}: should be true or false", fields=[f"$.{WATCHED_BY}"])


def _is_watched(exchange: Exchange) -> bool:
    """Tell whether the client wants to see how it goes."""
    accepted = parse_accept_header(exchange.headers.get("Accept"), MIMEAccept)
    wants_events = any(kind == EVENT_STREAM and quality > 0 for kind, quality in accepted)
    return wants_events or query_values(exchange.query).get(WATCHED_BY) == "true"


async def _parsed(operation: Operation, body: bytes, values: dict[str, str], caller: Caller) -> BaseModel:
    if operation.has_body:
        reading = reading_body(
            operation.request, body, values, caller=caller, text=operation.text, whole=operation.body,
            bounds=operation.json_bounds,
        )  # fmt: skip
        return await read_in_slices(reading, len(body))
    return parse_values(operation.request, values, caller=caller, text=operation.text)


async def _response(exchange: Exchange, operation: Operation, answer: Outcome) -> Response:
    if answer is None:
        return Response(status=operation.status)
    if not isinstance(answer, AsyncGenerator):
        return await json_response(answer, status=operation.status)
    if isinstance(operation, Watchable) and not _is_watched(exchange):
        await _exhaust(answer)
        return Response(status=operation.status)
    if exchange.method == "HEAD":
        await answer.aclose()
    return event_response(exchange.audit.following(answer), operation.error_style)


async def _exhaust(events: Events) -> None:
    async with aclosing(events):
        async for _ in events:
            pass
