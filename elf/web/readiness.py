"""What /ready says: whether the whole service can work, and the state of each of its parts."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """One part of the service as it is now."""

    model_config = ConfigDict(frozen=True)

    name: str
    state: str
    restarts: int
    last_error: str | None


class Readiness(BaseModel):
    """All parts; `ready` when every one of them is."""

    model_config = ConfigDict(frozen=True)

    ready: bool
    parts: list[Part]
