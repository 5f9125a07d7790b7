"""What a failure looks like over gRPC: the status, the text, the trailers."""

from __future__ import annotations

from typing import Final, NamedTuple

import grpc

from elf.core.errors import ServiceError, Unavailable
from elf.core.shares import ShareExceeded
from elf.web.failures import as_service_error, shown

MAX_TEXT_BYTES: Final = 2048
"""How much of a message is told: it travels in a header, and clients take some kilobytes of those."""

_WHOSE: Final = {"total": "the service", "tenant": "a tenant", "user": "a user"}

Metadata = tuple[tuple[str, str], ...]


class TooManyCalls(Unavailable):
    """As many calls are served as may be at a time, of this user, of its tenant, or of all."""

    rpc_status = "RESOURCE_EXHAUSTED"
    concerns_all = False

    def __init__(self, exceeded: ShareExceeded) -> None:
        super().__init__(f"{_WHOSE[exceeded.share]} has at most {exceeded.limit:,} gRPC calls at a time")


class Told(NamedTuple):
    """What a client is told of a failure."""

    code: grpc.StatusCode
    text: str
    trailers: Metadata


def told(error: Exception) -> tuple[ServiceError, Told]:
    """Return the failure that an error amounts to, and what is told of it; what failed within the service is not."""
    failure = as_service_error(error)
    text = shown(failure).message.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
    trailers = (("retry-after", str(failure.retry_after_s)),) if isinstance(failure, Unavailable) else ()
    return failure, Told(grpc.StatusCode[failure.rpc_status], text, trailers)
