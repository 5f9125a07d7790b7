"""The admin operations that belong to no family of memories."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from elf.api.operation import Handler, Operation, for_anyone
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


COLLECT_GARBAGE: Final = Operation(
    "collect_garbage", "POST", "/v1/admin/gc", "Expire, purge and clean up now", CollectRequest, CollectResponse,
    counted=("counts",),
)  # fmt: skip


def common_admin_handlers(collector: GarbageCollector) -> dict[str, Handler]:
    """Return what does the operations above."""

    async def collect(_: CollectRequest) -> CollectResponse:
        collected = await collector.collect()
        return CollectResponse(ran=collected.ran, counts=collected.counts, failed=collected.failed)

    return {COLLECT_GARBAGE.name: for_anyone(collect)}
