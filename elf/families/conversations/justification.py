"""Operators may have to say why they look at conversations."""

from __future__ import annotations

from functools import wraps
from typing import Any

from elf.api.caller import Caller
from elf.api.operation import Handler, Outcome
from elf.core.blank_text import is_blank
from elf.families.conversations.errors import JustificationRequired


def justified(handle: Handler) -> Handler:
    """Return a handler of requests that carries none out which leaves its `justification` out, or blank."""

    @wraps(handle)
    async def judged(request: Any, caller: Caller) -> Outcome:
        if request.justification is None or is_blank(request.justification):
            raise JustificationRequired
        return await handle(request, caller)

    return judged
