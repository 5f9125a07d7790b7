"""What an actor is."""

from __future__ import annotations

from typing import Protocol

from anyio.abc import TaskStatus


class Actor(Protocol):
    """A long-lived object that a supervisor runs.

    `run` calls `task_status.started()` once when the actor is ready, then works until its scope is cancelled.
    It cleans up inside a finite shielded scope. Raising an exception is a crash: the supervisor decides what
    follows. `run` may be called again after it ended, so it keeps no state from an earlier run.
    """

    @property
    def name(self) -> str:
        """The name in snapshots, logs and dependencies; unique within a supervisor."""
        ...

    async def run(self, *, task_status: TaskStatus[None]) -> None: ...
