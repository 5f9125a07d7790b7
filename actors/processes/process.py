"""A process of ELF: its actors run until SIGTERM or SIGINT, and then it ends in time."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable

import anyio
import structlog
from anyio.abc import TaskStatus

from actors.fronts.descriptors import raise_limit
from actors.kernel import ActorState, RestartPolicy, Supervisor, SupervisorEvent
from actors.kernel.failure import unwrapped
from elf.commands import beside_echo
from elf.config.model import Service
from elf.core.errors import ElfError, StartupError
from elf.core.log_writer import drain_standard_streams, write_in_background
from elf.core.logs import configure_logging

STOP_DEADLINE_S = 9.0
DRAIN_TIMEOUT_S = 0.2  # a process that is late for its end does not wait long for who reads its log
REPEAT_EVERY_S = 10.0
# No outage is so long that the service gives up: with waits of up to 5 s there are fewer restarts in a window.
RESTARTS = RestartPolicy(initial_s=0.1, max_s=5.0, healthy_after_s=10.0, max_restarts=200, window_s=600.0)

Say = Callable[[str], object]

log = structlog.get_logger()


def start_log(service: Service, *, source: str) -> None:
    """Set up the log of this process, whose first line tells what starts on which config."""
    write_in_background("stderr")
    configure_logging(service.log_level, form=service.log_format)
    log.info("service_starting", version=importlib.metadata.version("elf-memory"), config=source)


def run_process(
    serve: Callable[[Say], Awaitable[None]],
    *,
    say: Say | None = None,
    stop_deadline_s: float = STOP_DEADLINE_S,
) -> int:
    """Run `serve` until the process is told to stop; then it is cancelled. Returns the process's exit code.

    A process that has not wound up `stop_deadline_s` seconds later ends all the same.
    `say` (by default, print) gets lines for people: those of `serve`, to which it is passed on, one when the process
    begins to stop, and one when it has. Raises what `serve` raises; a failure that is alone in its group without it.
    """
    raise_limit()
    if say is None:
        write_in_background("stdout")  # who waits for the line that it is ready may go away, or read no more
    options = {"use_uvloop": sys.platform != "win32"}
    try:
        anyio.run(_until_told_to_stop, serve, say or _print, stop_deadline_s, backend_options=options)
    except BaseExceptionGroup as group:
        raise unwrapped(group) from group
    return 0


def new_supervisor() -> Supervisor:
    """Return a supervisor for the actors of a process: it logs what befalls them, and restarts them for ever."""
    return Supervisor(policy=RESTARTS, fatal=(StartupError,), on_event=ActorLog())


def _print(line: str) -> None:
    print(f"{beside_echo(sys.stdout.isatty())}{line}", flush=True)  # noqa: T201 - for whoever started the process


async def _until_told_to_stop(
    serve: Callable[[Say], Awaitable[None]], say: Say, stop_deadline_s: float
) -> None:
    async with anyio.create_task_group() as listening:
        serving = anyio.CancelScope()
        await listening.start(_stop_on_signal, serving, say, stop_deadline_s)
        with serving:
            await serve(say)
        if serving.cancel_called:
            say("elf: stopped")
        listening.cancel_scope.cancel()


async def _stop_on_signal(
    scope: anyio.CancelScope, say: Say, stop_deadline_s: float, *, task_status: TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            name = signal.Signals(number).name
            if scope.cancel_called:  # listened to on: by default it would end the process amid its stop
                say(f"elf: stopping already, within {stop_deadline_s:.0f} s ({name})")
                continue
            say(f"elf: stopping ({name})")
            exit_in_any_case(stop_deadline_s)
            scope.cancel()


def exit_in_any_case(deadline_s: float = STOP_DEADLINE_S) -> None:
    """End the process in so many seconds if it is still there."""
    # Everything acknowledged is in Postgres, so a process that cannot wind up in time may as well end.
    watchdog = threading.Timer(deadline_s, _exit_now, [deadline_s])
    watchdog.daemon = True
    watchdog.start()


def _exit_now(after_s: float) -> None:
    log.error("not_stopped_in_time", after_s=after_s)
    drain_standard_streams(DRAIN_TIMEOUT_S)
    os._exit(3)


class ActorLog:
    """Logs what befalls actors: their states at level debug, their failures as warnings.

    An actor that fails again for the same reason is waiting for something. It says so again every ten seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, tuple[str | None, float]] = {}

    def __call__(self, event: SupervisorEvent) -> None:
        if event.state not in (ActorState.BACKOFF, ActorState.FAILED, ActorState.STUCK):
            log.debug("actor", actor=event.actor, state=event.state)
            return
        # The class of an error of ours says nothing that its message does not.
        error = str(event.exception) if isinstance(event.exception, ElfError) else event.error
        say = log.debug if self._is_repeated(event) else log.warning
        say("actor_failed", actor=event.actor, state=event.state, error=error, delay_s=event.delay_s)

    def _is_repeated(self, event: SupervisorEvent) -> bool:
        error, at = self._said.get(event.actor, (None, float("-inf")))
        now = self._clock()
        if event.state is ActorState.BACKOFF and error == event.error and now < at + REPEAT_EVERY_S:
            return True
        self._said[event.actor] = (event.error, now)
        return False
