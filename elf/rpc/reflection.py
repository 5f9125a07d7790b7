"""grpc.reflection.v1alpha: tells callers which services there are, and the messages of each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from typing import Any, Final

from grpc_reflection.v1alpha import reflection_pb2 as pb
from grpc_reflection.v1alpha.reflection import aio

from elf.api.caller import Caller
from elf.api.rpc import OwnRpc, Servicer
from elf.core.errors import Unavailable
from elf.core.shares import ShareExceeded, Shares

_SERVICE: Final[Any] = pb.DESCRIPTOR.services_by_name["ServerReflection"]
SERVICE: Final[str] = _SERVICE.full_name
MAX_STREAMS: Final = 16


class TooManyReflections(Unavailable):
    """As many clients ask what there is as may at a time."""

    rpc_status = "RESOURCE_EXHAUSTED"

    def __init__(self) -> None:
        super().__init__(f"at most {MAX_STREAMS} reflection streams are served at a time")


def reflection_servicer(services: Collection[str]) -> Servicer:
    """Return the service that tells of these. It has a caller like any other, and is no way around a key."""
    responses: Any = aio.ReflectionServicer([*services, SERVICE]).ServerReflectionInfo
    shares = Shares(MAX_STREAMS)

    async def run(asked: AsyncGenerator[Any], caller: Caller) -> AsyncGenerator[Any]:
        try:
            shares.take(1)
        except ShareExceeded:
            raise TooManyReflections from None
        try:
            async with aclosing(responses(asked, None)) as answers:
                async for answer in answers:
                    yield answer
        finally:
            shares.give_back(1)

    return Servicer(service=_SERVICE, rpcs={"ServerReflectionInfo": OwnRpc(run=run, needs_user=False)})
