"""Who makes a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever makes a request, as far as it is known: made once for each, and given to its handler.

    `user` is the person it is made for, `client` the program that makes it, each None when nobody proved it. `bound`
    are the fields of a request, such as `tenant_id`, that this caller may fill in with no other value.
    """

    user: str | None = None
    client: str | None = None
    roles: frozenset[str] = frozenset()
    bound: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


ANONYMOUS: Final = Caller()
"""Somebody of whom nothing is known, and who is bound by nothing."""
