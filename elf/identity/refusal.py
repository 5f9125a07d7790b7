"""Why somebody is not let in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from elf.core.errors import Unauthorized

Reason: TypeAlias = Literal["no_identity", "bad_header", "unknown_key", "bad_token", "not_for_users"]
"""What a refusal is counted under."""


class Refused(Unauthorized):
    """Nobody is let in with what came. `reason` is what it is counted under; the message shows nothing of what came."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
