"""Who calls: what a process needs to know it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.kernel import Supervisor, Ticker
from actors.processes.changed_auth import ChangedAuth
from elf.config.auth import Auth
from elf.config.model import Config
from elf.identity.issuer_keys import REFRESH_S
from elf.identity.known_callers import KnownCallers

JITTER: Final = 0.1


def add_identity(
    auth: Auth, supervisor: Supervisor, *, reload: Callable[[], Config] | None = None
) -> KnownCallers:
    """Return what says who calls, with the actors that keep it up to date.

    `reload` reads the config file again; without it, nothing is changed but the keys of an issuer. Raises StartupError.
    """
    callers = KnownCallers(auth)
    if auth.mode != "off":
        supervisor.add(Ticker("issuer_keys", REFRESH_S, callers.refresh, jitter=JITTER))
    if reload is not None:
        supervisor.add(ChangedAuth(reload, callers.take))
    return callers
