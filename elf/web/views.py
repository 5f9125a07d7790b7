"""From a request to its answer: what an operation's route does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

import anyio
import structlog
from pydantic import BaseModel
from quart import Response, g, request
from werkzeug.exceptions import RequestEntityTooLarge, RequestTimeout

from elf.api.caller import ANONYMOUS, Caller
from elf.api.operation import Handler, Operation, Outcome
from elf.api.path_policy import PathPolicy
from elf.core.errors import InvalidRequest, NotFound, PayloadTooLarge
from elf.core.slices import in_slices
from elf.identity.identify import Identify
from elf.web.admission import Admission, tenant_of
from elf.web.event_stream import event_response
from elf.web.failures import BODY_TIMEOUT_S, MAX_BODY_BYTES
from elf.web.parsing import parse_values, reading_body
from elf.web.query_strings import check_path, query_values
from elf.web.rendering import json_response


def largest_body(operations: Sequence[Operation]) -> int:
    """Return how many bytes the body of any of the operations may have."""
    return max([MAX_BODY_BYTES, *(operation.max_body_bytes or 0 for operation in operations)])


def view(
    operation: Operation,
    handle: Handler,
    admission: Admission | None,
    identify: Identify,
    policy: PathPolicy | None = None,
) -> Callable[..., Awaitable[Response]]:
    """Return what answers the requests for an operation, given the parameters of their path."""

    async def carried_out(body: bytes, values: dict[str, str], caller: Caller) -> Outcome:
        try:
            parsed = await _parsed(operation, body, values, caller)
        except InvalidRequest as error:
            raise _missing(operation, policy, values, error) or error from None
        structlog.contextvars.bind_contextvars(tenant=getattr(parsed, "tenant_id", None))
        return await handle(parsed, caller)

    async def answered(**path_values: str) -> Response:
        if path_values:
            check_path(request.scope["raw_path"], operation.path)
        caller = ANONYMOUS if operation.is_open else await identify(request.headers)
        structlog.contextvars.bind_contextvars(**_who(caller))
        g.changes = operation.changes
        if operation.needs_user:
            caller.require_user()
        if operation.role is not None:
            caller.require(operation.role)
        if operation.has_body:
            body = await _body(operation.max_body_bytes or MAX_BODY_BYTES)
            values = _from_query(operation) | path_values
        else:
            body, values = b"", query_values(request.query_string) | path_values
        if admission is None:
            return await _response(operation, await carried_out(body, values, caller))
        tenant = caller.bound.get("tenant_id") or values.get("tenant_id")
        async with admission.turn(operation, tenant_of(body) if tenant is None else tenant):
            return await _response(operation, await carried_out(body, values, caller))

    return answered


def _missing(
    operation: Operation, policy: PathPolicy | None, values: Mapping[str, str], error: InvalidRequest
) -> NotFound | None:
    """Return the failure of a path whose parameter cannot be one, where that is how a family tells it."""
    if policy is None or policy.missing is None:
        return None
    wrong = next((name for name in operation.path_parameters if f"$.{name}" in error.fields), None)
    return None if wrong is None else policy.missing(wrong, values[wrong])


def _who(caller: Caller) -> dict[str, str]:
    """Return who does what is done, for the log."""
    return {name: value for name in ("user", "client") if (value := getattr(caller, name)) is not None}


def _from_query(operation: Operation) -> dict[str, str]:
    """Return what the query string says of a request that has a body. Raises InvalidRequest for what it may not say."""
    if not operation.query:
        return {}
    values = query_values(request.query_string)
    if unknown := [f"$.{name}" for name in values if name not in operation.query]:
        raise InvalidRequest(f"{unknown[0]}: is not a known parameter", fields=unknown)
    return values


async def _parsed(operation: Operation, body: bytes, values: dict[str, str], caller: Caller) -> BaseModel:
    if operation.has_body:
        reading = reading_body(
            operation.request, body, values, caller=caller, text=operation.text, whole=operation.body,
            bounds=operation.json_bounds,
        )  # fmt: skip
        return await in_slices(reading)
    return parse_values(operation.request, values, caller=caller, text=operation.text)


async def _response(operation: Operation, answer: Outcome) -> Response:
    if answer is None:
        return Response(status=operation.status)
    if not isinstance(answer, AsyncGenerator):
        return await json_response(answer, status=operation.status)
    if request.method == "HEAD":
        await answer.aclose()
    return event_response(answer, operation.error_style)


async def _body(most: int) -> bytes:
    """Return the body of the request. Raises PayloadTooLarge for more bytes than these."""
    too_large = PayloadTooLarge(f"the body is larger than {most} bytes")
    if (request.content_length or 0) > most:
        raise too_large
    body = bytearray()
    try:
        with anyio.fail_after(BODY_TIMEOUT_S):
            async for part in request.body:
                body += part
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise RequestTimeout from None
    except RequestEntityTooLarge:
        raise too_large from None
    return bytes(body)
