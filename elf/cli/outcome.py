"""How a command ends: exit codes, and the errors that lead to them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What scripts can rely on."""

    DONE = 0
    REJECTED = 1
    USAGE = 2
    UNAVAILABLE = 3


class UsageError(Exception):
    """The command line asks for something that cannot be done; nothing was sent."""


class Refused(Exception):
    """The service answered that it will not do it."""


class Unreachable(Exception):
    """The service does not answer, or says that it is not available for now."""
