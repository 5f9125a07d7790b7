"""From a call to its answer: what each method of a service does with the bytes that come in."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Any, Final, TypeAlias

import grpc
import msgspec
import structlog
from google.protobuf.message import Message
from pydantic import BaseModel
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.api.rpc import OwnRpc, Rpc, Servicer
from elf.core.body_budget import BodyBudget, HeldBody
from elf.core.errors import ServiceError
from elf.core.measures import Measures
from elf.core.shares import ShareExceeded, Shares
from elf.core.slices import in_slices, read_in_slices
from elf.identity.identify import Identify
from elf.identity.refusal import refusal_reason
from elf.rpc.failures import TooManyCalls, told
from elf.rpc.messages import Context, Shape, client_of, each_unpacked, packed, received, shapes_of
from elf.web.access_log import log_answer, request_id_of
from elf.web.admission import Admission
from elf.web.failures import is_a_fault
from elf.web.parsing import reading_body
from elf.web.spans import continued_trace
from elf.web.views import bind_caller, caller_of

Pack: TypeAlias = Callable[[Message], bytes]

REQUEST_ID: Final = "x-request-id"
CANCELLED: Final = 499  # not a status of HTTP, but what its servers log of a client that has gone

log = structlog.get_logger()


class Calls:
    """Answers the calls of services by the rules of the HTTP front: who calls, whose turn it is, what is logged.

    `handlers` has what carries out each operation, by its name. None for `admission` lets everybody in at once. At most
    `max_calls` are served at a time, a quarter of them for one user and three quarters for one tenant, and their
    messages take what `bodies` lets them. The caller is known before anything of a call is read or counted, so that
    calls without a key take nobody's place.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        front: str,
        identify: Identify,
        measures: Measures,
        max_calls: int,
        admission: Admission | None = None,
        bodies: BodyBudget | None = None,
    ) -> None:
        self._handlers = handlers
        self._front = front
        self._identify = identify
        self._measures = measures
        self._admission = admission
        self._bodies = bodies or BodyBudget()
        self._shares = Shares(max_calls, tenant=max(max_calls * 3 // 4, 1), user=max(max_calls // 4, 1))

    def handler_of(self, servicer: Servicer, *, max_bytes: int) -> grpc.GenericRpcHandler:
        """Return what a gRPC server needs to know of a service, of which no answer is larger than `max_bytes`."""
        pack = partial(packed, most=max_bytes)
        methods = {
            shape.name: self._method(shape, servicer.rpcs[shape.name], pack)
            for shape in shapes_of(servicer.service)
            if shape.name in servicer.rpcs
        }
        return grpc.method_handlers_generic_handler(servicer.service.full_name, methods)

    def _method(self, shape: Shape, rpc: Rpc | OwnRpc, pack: Pack) -> grpc.RpcMethodHandler[Any, Any]:
        answered = self._operation(shape, rpc, pack) if isinstance(rpc, Rpc) else self._own(shape, rpc, pack)
        # Of a client that may not stream, gRPC waits for the whole message before it runs any of this, without end.
        if shape.streams_out:
            return grpc.stream_stream_rpc_method_handler(answered)
        return grpc.stream_unary_rpc_method_handler(answered)

    def _operation(self, shape: Shape, rpc: Rpc, pack: Pack) -> Callable[..., Any]:
        operation = rpc.operation
        handle = self._handlers[operation.name]

        async def answered(_: Any, context: Context) -> bytes:
            async with self._told(shape, context, changes=operation.changes) as headers:
                caller = await caller_of(operation, self._identify, headers)
                with (
                    nullcontext() if operation.is_open else self._place(caller),
                    self._bodies.one(client_of(context)) as held,
                ):
                    asked, size = await received(shape, context, held)
                    async with self._turn(operation, caller):
                        request = await _request(rpc, asked, caller, size)
                        answer = await handle(request, caller)
                        if more := rpc.trailers(answer):
                            context.set_trailing_metadata((*context.trailing_metadata(), *more))
                        made = rpc.write(answer, asked)
                        return pack(await in_slices(made) if isinstance(made, Generator) else made)

        return answered

    def _own(self, shape: Shape, rpc: OwnRpc, pack: Pack) -> Callable[..., Any]:
        async def answered(_: Any, context: Context) -> bytes | None:
            async with self._told(shape, context, changes=rpc.changes) as headers:
                caller = await self._caller(headers, needs_user=rpc.needs_user)
                with self._place(caller), self._bodies.one(client_of(context)) as held:
                    async with _asked(shape, rpc, context, held) as asked:
                        if not shape.streams_out:
                            return pack(await rpc.run(asked, caller))
                        async with aclosing(rpc.run(asked, caller)) as answers:
                            async for answer in answers:
                                await context.write(pack(answer))
                        return None

        return answered

    @contextmanager
    def _place(self, caller: Caller) -> Iterator[None]:
        """Have one of the places for calls meanwhile. Raises TooManyCalls."""
        tenant = caller.bound.get("tenant_id", "")
        owners = {"tenant": tenant, "user": (tenant, caller.user or caller.client)}
        try:
            self._shares.take(1, **owners)
        except ShareExceeded as error:
            raise TooManyCalls(error) from None
        try:
            yield
        finally:
            self._shares.give_back(1, **owners)

    def _turn(self, operation: Operation, caller: Caller) -> AbstractAsyncContextManager[None]:
        if self._admission is None:
            return nullcontext()
        return self._admission.turn(operation, caller.bound.get("tenant_id", ""))

    async def _caller(self, headers: Headers, *, needs_user: bool) -> Caller:
        caller = await self._identify(headers)
        bind_caller(caller, needs_user=needs_user)
        if needs_user:
            caller.require_user()
        return caller

    @asynccontextmanager
    async def _told(self, shape: Shape, context: Context, *, changes: bool) -> AsyncIterator[Headers]:
        """Give a call its request id, tell its client what fails within, and log and count it when it ends."""
        started = time.perf_counter()
        headers = _headers(context)
        request_id = request_id_of(headers.get(REQUEST_ID))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        trailers = ((REQUEST_ID, request_id),)
        context.set_trailing_metadata(trailers)
        outcome, status = "CANCELLED", CANCELLED
        try:
            with continued_trace(headers):
                yield headers
            outcome, status = "OK", 200
        except Exception as error:  # noqa: BLE001 - whatever it is, the client is told and the others go on
            failure, said = told(error)
            outcome, status = said.code.name, failure.status
            self._note(shape, failure, error)
            await context.abort(said.code, said.text, (*trailers, *said.trailers))
        finally:
            seconds = time.perf_counter() - started
            self._measures.rpc(front=self._front, method=shape.path, code=outcome, seconds=seconds)
            log_answer(
                method="RPC", route=shape.path, status=status, shown=outcome, seconds=seconds, changes=changes
            )

    def _note(self, shape: Shape, failure: ServiceError, error: Exception) -> None:
        if reason := refusal_reason(failure):
            self._measures.refusal(front=self._front, reason=reason)
        if is_a_fault(failure):
            log.error("request_failed", route=shape.path, error=type(error).__name__, exc_info=error)


@asynccontextmanager
async def _asked(shape: Shape, rpc: OwnRpc, context: Context, held: HeldBody) -> AsyncIterator[Any]:
    """Return the message of a call, or those that its client streams."""
    if not shape.streams_in:
        yield (await received(shape, context, held))[0]
        return
    async with aclosing(each_unpacked(shape, context, may_pause=rpc.may_pause)) as messages:
        yield messages


async def _request(rpc: Rpc, asked: Message, caller: Caller, size: int) -> BaseModel:
    """Return the request in a message of so many bytes, with the bounds and the faults of the operation's own wire."""
    operation, fields = rpc.operation, rpc.read(asked)
    if isinstance(fields, Generator):
        fields = await read_in_slices(fields, size)
    body = msgspec.json.encode(fields if operation.body is None else fields[operation.body])
    reading = reading_body(
        rpc.request or operation.request, body, caller=caller, text=operation.text, whole=operation.body,
        bounds=operation.json_bounds,
    )  # fmt: skip
    return await read_in_slices(reading, size)


def _headers(context: Context) -> Headers:
    sent = context.invocation_metadata() or ()
    return Headers([(name, value) for name, value in sent if isinstance(value, str)])
