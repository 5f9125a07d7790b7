"""Who calls: what a process needs to know it."""

from __future__ import annotations

from typing import Final

from actors.kernel import Supervisor, Ticker
from elf.config.auth import Auth
from elf.identity.identify import Identify
from elf.identity.issuer_keys import REFRESH_S
from elf.identity.known_callers import KnownCallers

JITTER: Final = 0.1


def add_identity(auth: Auth, supervisor: Supervisor) -> Identify:
    """Return what says who calls; an actor keeps the keys of an issuer fresh. Raises StartupError."""
    callers = KnownCallers(auth)
    if callers.fetched is not None:
        supervisor.add(Ticker("issuer_keys", REFRESH_S, callers.fetched.refresh, jitter=JITTER))
    return callers
