"""What a supervisor tells about its actors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ActorState(StrEnum):
    """Where an actor is in its life.

    waiting   not running; its turn comes when what it waits for is ready
    starting  running, not ready yet
    ready     running and ready
    backoff   crashed; waits before its restart
    stopping  cancelled; cleans up
    stopped   ended for good, as asked
    stuck     cancelled, and still running after its deadline
    failed    crashed, and its failure went up
    """

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    BACKOFF = "backoff"
    STOPPING = "stopping"
    STOPPED = "stopped"
    STUCK = "stuck"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ActorStatus:
    """One actor at one moment.

    `restarts` counts the restarts its crashes led to; going down and up with an actor it needs is none.
    `last_error` is the class name and message of its last failure, at most 200 characters. `since_s` is how
    many seconds it has been in its state.
    """

    name: str
    state: ActorState
    restarts: int
    last_error: str | None
    ready: bool
    needs: tuple[str, ...]
    since_s: float


@dataclass(frozen=True, slots=True)
class SupervisorSnapshot:
    """All actors at one moment, in the order they were added. `ready` is true when every one of them is."""

    actors: tuple[ActorStatus, ...]
    ready: bool

    def __getitem__(self, name: str) -> ActorStatus:
        """The status of the actor of that name; raises KeyError when there is none."""
        for status in self.actors:
            if status.name == name:
                return status
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class SupervisorEvent:
    """An actor has come into `state`.

    `error` and `exception` tell the failure that led there, if one did: `error` as in
    `ActorStatus.last_error`, `exception` for a traceback. `delay_s` is the wait before the restart, set with
    the state backoff only.
    """

    actor: str
    state: ActorState
    restarts: int
    error: str | None = None
    exception: BaseException | None = None
    delay_s: float | None = None
