"""Who makes a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from elf.core.errors import Forbidden, Unauthorized

DEFAULT_TENANT: Final = "default"
"""The tenant of users whose token names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever makes a request, as far as it is known: made once for each, and given to its handler.

    `user` is the person it is made for, `client` the program that makes it, each None when nobody proved it. `bound`
    are the fields of a request, such as `tenant_id`, that this caller may fill in with no other value; `needed` those
    that are not left out where a request has them; `denied` those whose values are all refused, and why.
    `is_default_user` when nobody named the user: it is that of mode off, which stands for all on one machine.
    """

    user: str | None = None
    is_default_user: bool = False
    client: str | None = None
    roles: frozenset[str] = frozenset()
    bound: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    needed: frozenset[str] = frozenset()
    denied: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def named_user(self) -> str | None:
        """The user for whom a call is, from whom the data of other users is kept; None when no user is named."""
        return None if self.is_default_user else self.user

    def require_user(self) -> None:
        """Raise Unauthorized when nobody knows for whom this is."""
        if self.user is None:
            raise Unauthorized(
                "this is done for a user: say for whom, by a token, by a key that has a user, or in X-User-ID with "
                "a key that acts for users"
            )

    def require(self, role: str) -> None:
        """Raise Unauthorized when nobody knows who this is, and Forbidden for somebody who has not this role."""
        if role in self.roles:
            return
        if self.user is None and self.client is None:
            raise Unauthorized(f"this needs the role {role}: say who you are")
        raise Forbidden(f"this needs the role {role}")


ANONYMOUS: Final = Caller()
"""Somebody of whom nothing is known, and who is bound by nothing."""
