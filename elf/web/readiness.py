"""What /health and /ready say: that the process runs; whether it can work, and the state of each of its parts."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Health(BaseModel):
    """The process runs."""

    model_config = ConfigDict(frozen=True)

    status: Literal["ok"] = Field(default="ok", description="Always ok.")


class Part(BaseModel):
    """One part of the service as it is now."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(
        description="Which part; reads and writes are what can be done with the database, as tried every few seconds."
    )
    state: str = Field(
        description="ready, starting, backoff (it failed and is tried again), failing, and so on."
    )
    restarts: int = Field(description="How often it was started again.")
    last_error: str | None = Field(description="Why it failed last; null when it never did.")


def database_part(name: str, why: str | None) -> Part:
    """Return what can be done with the database, reads or writes, as a part; `why` says why it cannot."""
    return Part(name=name, state="ready" if why is None else "failing", restarts=0, last_error=why)


class Readiness(BaseModel):
    """All parts; `ready` when every one of them is."""

    model_config = ConfigDict(frozen=True)

    ready: bool = Field(description="Whether every part is ready.")
    process: str | None = Field(
        default=None, description="Which of several processes answers; null when there is only one."
    )
    parts: list[Part] = Field(description="Every part of this process.")
    warnings: list[str] = Field(
        default=[],
        description="What is wrong beside that: processes whose models differ, and work that waits for nobody.",
    )
