"""grpc.health.v1: the service and each of its parts can be used when /ready says so."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

import anyio
import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

SERVICE: Final = "grpc.health.v1.Health"
WATCH_EVERY_S: Final = 1.0
WHOLE: Final = ""


class Health:
    """Answers for the services of these names, and for all of them as "".

    Those who watch are told of a change within a second, and of the end when `stop` is called.
    """

    def __init__(self, services: Collection[str], is_ready: Callable[[], bool]) -> None:
        self._services = (WHOLE, *services)
        self._is_ready = is_ready
        self._stopping = anyio.Event()

    def handler(self) -> grpc.GenericRpcHandler:
        """Return what a gRPC server needs to know of this."""
        bytes_of = HealthCheckResponse.SerializeToString
        methods = {
            "Check": grpc.unary_unary_rpc_method_handler(self.check, HealthCheckRequest.FromString, bytes_of),
            "Watch": grpc.unary_stream_rpc_method_handler(
                self.watch, HealthCheckRequest.FromString, bytes_of
            ),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def stop(self) -> None:
        """Say from now on that nothing can be used, and let go those who watch."""
        self._stopping.set()

    async def check(self, request: HealthCheckRequest, context: Any) -> HealthCheckResponse:
        if request.service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service")
        return self._now(request.service)

    async def watch(self, request: HealthCheckRequest, context: Any) -> None:
        told = None
        is_last = False
        while not is_last:
            is_last = self._stopping.is_set()
            now = self._now(request.service)
            if now != told:
                await context.write(now)
                told = now
            with anyio.move_on_after(WATCH_EVERY_S):
                await self._stopping.wait()

    def _now(self, service: str) -> HealthCheckResponse:
        if service not in self._services:
            return HealthCheckResponse(status=HealthCheckResponse.SERVICE_UNKNOWN)
        if self._is_ready() and not self._stopping.is_set():
            return HealthCheckResponse(status=HealthCheckResponse.SERVING)
        return HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING)
