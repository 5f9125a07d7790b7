"""The admin endpoints that belong to no family of memories."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from elf.core.endpoint import Endpoint
from elf.db.garbage import GarbageCollector


class CollectRequest(BaseModel):
    """Asks for nothing; the body may be left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CollectResponse(BaseModel):
    """What was cleaned up."""

    model_config = ConfigDict(frozen=True)

    ran: bool = Field(description="False when another process was collecting already.")
    counts: dict[str, int] = Field(description="How many pieces each step did away with.")
    failed: dict[str, str] = Field(
        default={}, description="Why a step failed, by its name; it is tried again at the next collection."
    )


def collect_endpoint(collector: GarbageCollector) -> Endpoint:
    """Return the operation that collects garbage now."""

    async def collect(_: CollectRequest) -> CollectResponse:
        collected = await collector.collect()
        return CollectResponse(ran=collected.ran, counts=collected.counts, failed=collected.failed)

    return Endpoint(
        "collect_garbage", "POST", "/v1/admin/gc", "Expire, purge and clean up now",
        CollectRequest, CollectResponse, collect,
    )  # fmt: skip
