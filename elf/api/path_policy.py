"""What holds for all paths below a prefix, also for those that lead nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elf.api.error_style import ErrorStyle
from elf.core.errors import NotFound


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPolicy:
    """How a family answers at its paths, where that is not the way of the front.

    It holds for `prefix` and what is below it. `error_style` is the form of errors. With `hides_methods` a path that
    has no such method is one that leads nowhere: 404, not 405. `missing` makes the failure of a path whose parameter of
    this name cannot be one, such as an id that is no UUID, given its value; without it such a request is malformed.
    """

    prefix: str
    error_style: ErrorStyle
    hides_methods: bool = False
    missing: Callable[[str, str], NotFound] | None = None

    def covers(self, path: str) -> bool:
        """Tell whether it holds for a path."""
        return path == self.prefix or path.startswith(f"{self.prefix}/")


def policy_of(policies: Sequence[PathPolicy], path: str) -> PathPolicy | None:
    """Return the policy of a path: that of the longest prefix, or None."""
    covering = [policy for policy in policies if policy.covers(path)]
    return max(covering, key=lambda policy: len(policy.prefix), default=None)
