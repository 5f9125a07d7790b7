"""What a client proves itself by."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from elf.core.api_key import checked_key

Token: TypeAlias = str | Callable[[], str | Awaitable[str]] | None
"""A bearer token, or what gives one that is fresh, which is asked before each request; an AsyncClient awaits it."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key, a token, and the user whom the key acts for. None of them is shown.

    Raises ValueError for what no header can carry, and for a user without a key.
    """

    api_key: str | None = field(default=None, repr=False)
    token: Token = field(default=None, repr=False)
    for_user: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("api_key", "token", "for_user"):
            if isinstance(value := getattr(self, name), str):
                _checked(name, value)
        if self.for_user is not None and self.api_key is None:
            raise ValueError("for_user: needs api_key, the key of a client that may act for users")

    def headers(self) -> dict[str, str]:
        """Return the headers of a request. Raises TypeError, ValueError when what gives tokens gives none."""
        return self._headers(self.token() if callable(self.token) else self.token)

    async def headers_soon(self) -> dict[str, str]:
        """The same, and waits for the token."""
        token = self.token() if callable(self.token) else self.token
        return self._headers(await token if inspect.isawaitable(token) else token)

    def _headers(self, token: object) -> dict[str, str]:
        headers = {}
        if self.api_key is not None:
            headers["X-API-Key"] = self.api_key
        if self.for_user is not None:
            headers["X-User-ID"] = self.for_user
        if callable(self.token) and not isinstance(token, str):
            raise TypeError(f"token: what gives tokens must give a str, not {type(token).__name__}")
        if isinstance(token, str):
            headers["Authorization"] = f"Bearer {_checked('token', token)}"
        return headers


def _checked(name: str, value: str) -> str:
    try:
        return checked_key(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
