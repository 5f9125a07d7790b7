"""What /ready says: whether the whole service can work, and the state of each of its parts."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """One part of the service as it is now."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="Which part.")
    state: str = Field(description="ready, starting, backoff (it failed and is tried again), and so on.")
    restarts: int = Field(description="How often it was started again.")
    last_error: str | None = Field(description="Why it failed last; null when it never did.")


class Readiness(BaseModel):
    """All parts; `ready` when every one of them is."""

    model_config = ConfigDict(frozen=True)

    ready: bool = Field(description="Whether every part is ready.")
    parts: list[Part] = Field(description="Every part of this process.")
