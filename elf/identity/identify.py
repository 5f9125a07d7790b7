"""The seam between a front and whoever knows who calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from werkzeug.datastructures import Headers

from elf.api.caller import ANONYMOUS, Caller

Identify: TypeAlias = Callable[[Headers], Awaitable[Caller]]
"""Says by the headers of a request who makes it.

Raises Unauthorized, ScopeDenied for identities that contradict each other, Unavailable when nobody can say it now.
"""


async def anonymous(_: Headers) -> Caller:
    """Know nobody."""
    return ANONYMOUS
