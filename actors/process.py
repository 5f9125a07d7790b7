"""A process of ELF: its actors run until SIGTERM or SIGINT, and then it ends in time."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.descriptors import raise_limit
from actors.kernel import ActorState, RestartPolicy, Supervisor, SupervisorEvent
from actors.kernel.failure import unwrapped
from elf.core.errors import StartupError

STOP_DEADLINE_S = 9.0
# No outage is so long that the service gives up: with waits of up to 5 s there are fewer restarts in a window.
RESTARTS = RestartPolicy(initial_s=0.1, max_s=5.0, healthy_after_s=10.0, max_restarts=200, window_s=600.0)

Say = Callable[[str], object]

log = structlog.get_logger()


def run_process(
    serve: Callable[[Say], Awaitable[None]],
    *,
    say: Say | None = None,
    stop_deadline_s: float = STOP_DEADLINE_S,
) -> int:
    """Run `serve` until the process is told to stop; then it is cancelled. Returns the process's exit code.

    A process that has not wound up `stop_deadline_s` seconds later ends all the same.
    `say` (by default, print) gets lines for people: those of `serve`, to which it is passed on, and one when the
    process stops. Raises what `serve` raises; a failure that is alone in its group without it.
    """
    raise_limit()
    options = {"use_uvloop": sys.platform != "win32"}
    try:
        anyio.run(_until_told_to_stop, serve, say or _print, stop_deadline_s, backend_options=options)
    except BaseExceptionGroup as group:
        raise unwrapped(group) from group
    return 0


def new_supervisor() -> Supervisor:
    """Return a supervisor for the actors of a process: it logs what befalls them, and restarts them for ever."""
    return Supervisor(policy=RESTARTS, fatal=(StartupError,), on_event=_log_event)


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the line for the person who started the process


async def _until_told_to_stop(
    serve: Callable[[Say], Awaitable[None]], say: Say, stop_deadline_s: float
) -> None:
    async with anyio.create_task_group() as listening:
        serving = anyio.CancelScope()
        await listening.start(_stop_on_signal, serving, say, stop_deadline_s)
        with serving:
            await serve(say)
        listening.cancel_scope.cancel()


async def _stop_on_signal(
    scope: anyio.CancelScope, say: Say, stop_deadline_s: float, *, task_status: TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            name = signal.Signals(number).name
            if scope.cancel_called:  # listened to on: by default it would end the process amid its stop
                log.info("already_stopping", signal=name)
                continue
            say(f"elf: stopping ({name})")
            exit_in_any_case(stop_deadline_s)
            scope.cancel()


def exit_in_any_case(deadline_s: float = STOP_DEADLINE_S) -> None:
    """End the process in so many seconds if it is still there."""
    # Everything acknowledged is in Postgres, so a process that cannot wind up in time may as well end.
    watchdog = threading.Timer(deadline_s, lambda: os._exit(3))
    watchdog.daemon = True
    watchdog.start()


def _log_event(event: SupervisorEvent) -> None:
    if event.state in (ActorState.BACKOFF, ActorState.FAILED, ActorState.STUCK):
        log.warning("actor", actor=event.actor, state=event.state, error=event.error, delay_s=event.delay_s)
    else:
        log.info("actor", actor=event.actor, state=event.state)
