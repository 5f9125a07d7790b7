"""Who may read and write which scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from elf.core.errors import InvalidRequest

AGENT_PRIVATE: Final = "agent_private"
"""The scope whose notes only their own agent sees."""

Readable: TypeAlias = Sequence[str] | None
"""The scopes that somebody may read at all, None for every one."""


def is_readable(scope: str, readable: Readable) -> bool:
    """Tell whether what is in a scope may be read by somebody who may read these."""
    return readable is None or scope in readable


class ScopeRules:
    """The scopes of this installation: which exist, who reads what, who may write, and what wins a tie.

    Built from the plain data of the [scopes] table, which is copied. `allowed` keeps its order.
    """

    def __init__(
        self,
        *,
        allowed: Sequence[str],
        read_profiles: Mapping[str, Sequence[str]],
        precedence: Mapping[str, int],
        write_allowed: Mapping[str, bool],
    ) -> None:
        self.allowed = tuple(allowed)
        self._profiles = {name: tuple(scopes) for name, scopes in read_profiles.items()}
        self._precedence = dict(precedence)
        self._writable = frozenset(scope for scope in allowed if write_allowed.get(scope, False))

    def is_known(self, scope: str) -> bool:
        """Tell whether the scope exists."""
        return scope in self.allowed

    def is_writable(self, scope: str) -> bool:
        """Tell whether notes may be written to the scope; an unknown one is not writable."""
        return scope in self._writable

    def readable(self, profile: str) -> tuple[str, ...]:
        """Return the scopes that a read profile opens. Raises InvalidRequest for an unknown one."""
        scopes = self._profiles.get(profile)
        if scopes is None:
            known = ", ".join(self._profiles)
            raise InvalidRequest(f"the read profile must be one of {known}", fields=["$.read_profile"])
        return scopes

    def precedence(self, scope: str) -> int:
        """Return the scope's rank in a tie, the higher wins. Raises KeyError for an unknown scope."""
        return self._precedence[scope]
