"""[service.limits]: how many requests are served at once, and how much memory their bodies may take."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from elf.config.table import Table
from elf.core.body_budget import DEFAULT_PEER_BYTES, DEFAULT_TIMEOUT_S, DEFAULT_TOTAL_BYTES, BodyBudget

MIB: Final = 1024 * 1024
LARGEST_BODY_BYTES: Final = 64 * MIB
"""As much one body may have by the largest bounds of any family."""

Count = Annotated[int, Field(ge=1, le=100_000)]


class Limits(Table):
    """[service.limits], optional, and so is each key: what the HTTP API of a process takes on at once.

    Without the table: everything, with the bounds of bodies that are shown. Bodies of more than 64 KiB have three
    quarters of `max_inflight_body_bytes`, and those from one address `max_inflight_body_bytes_per_peer` of these.
    """

    max_concurrent: Count = 4
    max_per_tenant: Count = 1
    max_concurrent_events: Count = 4
    max_waiting: Annotated[int, Field(ge=0, le=100_000)] = 64
    max_wait_ms: Annotated[int, Field(ge=1, le=600_000)] = 5000
    max_connections: Annotated[int, Field(ge=8, le=1_000_000)] = 1000
    max_inflight_body_bytes: Annotated[int, Field(ge=2 * LARGEST_BODY_BYTES, le=1024 * 1024 * MIB)] = (
        DEFAULT_TOTAL_BYTES
    )
    max_inflight_body_bytes_per_peer: Annotated[int, Field(ge=LARGEST_BODY_BYTES, le=1024 * 1024 * MIB)] = (
        DEFAULT_PEER_BYTES
    )
    body_timeout_ms: Annotated[int, Field(ge=1, le=600_000)] = int(DEFAULT_TIMEOUT_S * 1000)

    @model_validator(mode="after")
    def _leaves_room_for_a_peer(self) -> Self:
        if self.max_inflight_body_bytes_per_peer > self.max_inflight_body_bytes:
            raise ValueError("max_inflight_body_bytes_per_peer must not be more than max_inflight_body_bytes")
        return self


def body_budget(limits: Limits | None) -> BodyBudget:
    """Return what the bodies of requests to a process may take."""
    limits = limits or Limits()
    return BodyBudget(
        total_bytes=limits.max_inflight_body_bytes,
        peer_bytes=limits.max_inflight_body_bytes_per_peer,
        timeout_s=limits.body_timeout_ms / 1000,
    )
