"""grpc.health.v1: the service and each of its parts can be used when /ready says so.

Both calls are for everybody, without a key. Check is counted against no limit, so that it responds whatever else goes
on. Watch has limits of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import anyio
import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from elf.core.shares import ShareExceeded, Shares
from elf.rpc.messages import Context, MessageTimeout, next_message

SERVICE: Final = "grpc.health.v1.Health"
WATCH_EVERY_S: Final = 1.0
MAX_WATCHES: Final = 256
MAX_WATCHES_PER_PEER: Final = 32
MAX_WATCH_AGE_S: Final = 600.0
WHOLE: Final = ""


class Health:
    """Answers for the services of these names, and for all of them as "".

    Those who watch are told of a change within a second, and of the end when `stop` is called. A stream ends with
    UNAVAILABLE after MAX_WATCH_AGE_S, as a connection would that is lost, and its client watches anew.
    """

    def __init__(self, services: Collection[str], is_ready: Callable[[], bool]) -> None:
        self._services = (WHOLE, *services)
        self._is_ready = is_ready
        self._stopping = anyio.Event()
        self._watches = Shares(MAX_WATCHES, peer=MAX_WATCHES_PER_PEER)

    def handler(self) -> grpc.GenericRpcHandler:
        """Return what a gRPC server needs to know of this."""
        bytes_of = HealthCheckResponse.SerializeToString
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            # Or gRPC would wait for the message of a client for ever.
            "Check": grpc.stream_unary_rpc_method_handler(self.check, response_serializer=bytes_of),
            "Watch": grpc.stream_stream_rpc_method_handler(self.watch, response_serializer=bytes_of),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def stop(self) -> None:
        """Say from now on that nothing can be used, and let go those who watch."""
        self._stopping.set()

    async def check(self, _: Any, context: Context) -> HealthCheckResponse:
        service = await _service(context)
        if service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service")
        return self._now(service)

    async def watch(self, _: Any, context: Context) -> None:
        peer = _host(context.peer())
        try:
            self._watches.take(1, peer=peer)
        except ShareExceeded as error:
            whose = "a peer" if error.share == "peer" else "the service"
            text = f"{whose} has at most {error.limit} Watch streams at a time; Check is not limited"
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        try:
            await self._watch(context)
        finally:
            self._watches.give_back(1, peer=peer)

    async def _watch(self, context: Any) -> None:
        ends_at = anyio.current_time() + MAX_WATCH_AGE_S
        service = await _service(context)
        told = None
        is_last = False
        while not is_last:
            is_last = self._stopping.is_set()
            now = self._now(service)
            if now != told:
                await context.write(now)
                told = now
            with anyio.move_on_after(WATCH_EVERY_S):
                await self._stopping.wait()
            if anyio.current_time() >= ends_at and not self._stopping.is_set():
                text = f"the stream is {MAX_WATCH_AGE_S:g} seconds old, which is the maximum: watch again"
                await context.abort(grpc.StatusCode.UNAVAILABLE, text)

    def _now(self, service: str) -> HealthCheckResponse:
        if service not in self._services:
            return HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)
        if self._is_ready() and not self._stopping.is_set():
            return HealthCheckResponse(status=HealthCheckResponse.SERVING)
        return HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING)


async def _service(context: Context) -> str:
    """Return which service a client asks about."""
    try:
        data = await next_message(context)
    except MessageTimeout as error:
        await context.abort(grpc.StatusCode[error.rpc_status], error.message)
    if (asked := _read(data)) is None:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "there is no HealthCheckRequest")
    return asked.service


def _read(data: bytes | None) -> HealthCheckRequest | None:
    try:
        return None if data is None else HealthCheckRequest.FromString(data)
    except DecodeError:
        return None


def _host(peer: str) -> str:
    """Return the address of a peer without its port, which is another one for each connection."""
    return peer.rpartition(":")[0]
