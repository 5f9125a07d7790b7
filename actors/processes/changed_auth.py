"""Taking a changed [security.auth] at SIGHUP, without a restart."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Final

import anyio
import anyio.to_thread
import structlog
from anyio.abc import TaskStatus

from elf.config.auth import Auth
from elf.config.auth_rules import auth_warnings
from elf.config.model import Config
from elf.core.errors import ElfError

HANGUP: Final[signal.Signals | None] = getattr(signal, "SIGHUP", None)
"""The signal; None where the system has none."""

log = structlog.get_logger()


def warn_of(auth: Auth) -> None:
    """Tell in the log what a [security.auth] allows that most operators do not mean."""
    for warning in auth_warnings(auth):
        log.warning("config_warning", key=warning.key, problem=warning.problem)


class ChangedAuth:
    """The actor that reads the config file again at SIGHUP and has its [security.auth] taken.

    `load` reads the file, `take` gets the table. A file that cannot be used, or a table that cannot be taken, is told
    in the log, and who calls stays as it was. Everything else in the file needs a restart.
    """

    name = "changed_auth"

    def __init__(self, load: Callable[[], Config], take: Callable[[Auth], object]) -> None:
        self._load = load
        self._take = take

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        if HANGUP is None:
            task_status.started()
            await anyio.sleep_forever()
            return
        with anyio.open_signal_receiver(HANGUP) as signals:
            task_status.started()
            async for _ in signals:
                await self._reload()

    async def _reload(self) -> None:
        try:
            config = await anyio.to_thread.run_sync(self._load)
            self._take(config.security.auth)
        except ElfError as error:
            log.error("auth_not_changed", error=str(error))
        else:
            log.info("auth_changed", keys=len(config.security.auth.keys))
            warn_of(config.security.auth)
