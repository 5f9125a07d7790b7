"""A whole service in a thread of somebody else's process, with an event loop of its own."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future
from contextvars import copy_context

import anyio
from anyio import to_thread

from actors.kernel.failure import unwrapped
from actors.processes.diverted_logs import LogDiversion
from actors.system import open_system
from elf.config.model import Config
from elf.config.places import Address
from elf.core.errors import StartupError
from elf.providers.local.model_cache import fetch_models
from elf.providers.local.progress import LogReport

STOP_TIMEOUT_S = 30.0  # every part has a deadline of its own; this is the last resort
LOOK_EVERY_S = 0.5


class BackgroundSystem:
    """Starts once and stops once. Use: `start`, then `stop`, whatever became of the start.

    It has a thread of its own so that a host that blocks does not hold it up, and so that it can be used from code that
    is not async, or is async on something else than asyncio.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._stop = threading.Event()
        self._ready: Future[Address] = Future()
        self._failure: BaseException | None = None
        self._logs = LogDiversion(config.service.log_level)
        self._thread = threading.Thread(target=self._run, name="elf")

    def start(self) -> Address:
        """Start and return where the HTTP API listens once every part is ready. Raises StartupError, ActorGaveUp."""
        # In the thread that starts it, where Ctrl-C ends a download.
        with self._logs.installed():
            copy_context().run(self._fetch_models)
        self._thread.start()
        return self._ready.result()

    def stop(self) -> None:
        """Stop and wait for the end. Raises what ended the service, if it had ended by itself after its start."""
        self._stop.set()
        if self._thread.ident is None:
            return
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive():
            raise StartupError(f"the embedded service does not stop within {STOP_TIMEOUT_S:.0f} s")
        if self._failure is not None:
            raise self._failure

    def _fetch_models(self) -> None:
        self._logs.enter()
        fetch_models(self._config, report=LogReport())

    def _run(self) -> None:
        self._logs.enter()
        try:
            with self._logs.installed():
                # uvloop is this loop's alone: no policy is set, the host's loops stay what they are.
                anyio.run(self._serve, backend_options={"use_uvloop": sys.platform != "win32"})
        except BaseException as error:  # noqa: BLE001 - handed to the thread that started or stops this one
            self._end(unwrapped(error))
        else:
            self._end(StartupError("the embedded service was stopped before it was ready"))
        finally:
            self._stop.set()

    def _end(self, error: BaseException) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
        elif not self._stop.is_set():
            self._failure = error

    async def _serve(self) -> None:
        async with anyio.create_task_group() as everything:
            everything.start_soon(self._cancel_when_told, everything.cancel_scope)
            async with open_system(self._config) as system, anyio.create_task_group() as running:
                await running.start(system.run)
                assert system.http_address is not None
                self._ready.set_result(system.http_address)

    async def _cancel_when_told(self, everything: anyio.CancelScope) -> None:
        await to_thread.run_sync(self._wait, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
        everything.cancel()

    def _wait(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            # A host that ends without a word would wait for this thread for ever.
            if not threading.main_thread().is_alive():
                self._stop.set()
