"""Who speaks MCP: by the headers of a request, or by the config where standard input has none.

The API checks again whoever is known here, by the same headers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
from werkzeug.datastructures import Headers

from elf.api.caller import ANONYMOUS, Caller
from elf.api.key_file import is_open_to_others, read_key_file
from elf.config import Config
from elf.core.errors import ConfigError, ConfigFault, ScopeDenied, Unauthorized
from elf.identity.identify import Identify

log = structlog.get_logger()

IDENTITY_HEADERS: Final = ("Authorization", "X-API-Key", "X-User-ID", "X-Client-ID")


@dataclass(frozen=True, slots=True)
class Identified:
    """A caller, and the headers that prove it.

    `is_judged_elsewhere` when another config lists the keys: of the caller no more is known than the user it names.
    """

    caller: Caller = ANONYMOUS
    headers: Headers = field(default_factory=Headers, repr=False)
    is_judged_elsewhere: bool = False


NOBODY: Final = Identified()
IDENTIFIED: Final = "elf.identified"
"""The key of an ASGI scope under which the gate leaves whom it let in."""


class Callers:
    """Finds out who calls, by what is sent, [mcp.context] and [defaults].

    In mode off a request that names no user is of the user that the config names, and one that names no client of its
    client. A user or client that [mcp.context] fixes is the only one that is served.
    """

    def __init__(self, config: Config, identify: Identify) -> None:
        self._auth = config.security.auth
        self._context = config.mcp.context
        self._default_user = config.defaults.user
        self._identify = identify

    async def of_request(self, sent: Headers) -> Identified:
        """Say who makes a request. Raises Unauthorized, ScopeDenied, Unavailable."""
        headers = _of_identity(sent)
        if self._auth.mode == "off":
            self._name(headers)
        caller = await self._identify(headers)
        self._check(caller)
        return Identified(caller, headers)

    async def of_config(self, *, source: str) -> Identified:
        """Say who is at standard input. Raises ConfigError, naming `source`, when the config does not say."""
        headers = self._own_headers(source)
        try:
            caller = await self._identify(headers)
        except Unauthorized as error:
            if self._auth.mode == "required" or self._auth.keys:
                raise _fault(source, f"is refused: {error.message}") from None
            named = Caller(user=headers.get("X-User-ID"))
            return Identified(named, headers, is_judged_elsewhere=True)
        return Identified(caller, headers)

    def _own_headers(self, source: str) -> Headers:
        headers = Headers()
        has_key = bool(self._context.key_file)
        if has_key:
            headers["X-API-Key"] = self._key(source)
        elif self._auth.mode == "required":
            raise _fault(source, "is missing: by security.auth.mode nobody is served without a key")
        if self._auth.takes_names(has_key=has_key):
            self._name(headers)
        elif user := self._user(headers):
            headers["X-User-ID"] = user
        return headers

    def _key(self, source: str) -> str:
        file = Path(self._context.key_file)
        if is_open_to_others(file):
            log.warning("mcp.key_file_open_to_others", file=str(file))
        try:
            return read_key_file(file)
        except ValueError as error:
            raise _fault(source, str(error)) from error

    def _user(self, headers: Headers) -> str:
        """Return the user that the config names for whoever sends these headers, who may be one of its own."""
        default = self._default_user if self._auth.lets_name_user(headers.get("X-API-Key")) else ""
        return self._context.user or default

    def _name(self, headers: Headers) -> None:
        user = self._user(headers)
        if user and "Authorization" not in headers and "X-User-ID" not in headers:
            headers["Authorization"] = f"Bearer {user}"
        if self._context.client and "X-API-Key" not in headers and "X-Client-ID" not in headers:
            headers["X-Client-ID"] = self._context.client

    def _check(self, caller: Caller) -> None:
        fixed = {"user": (self._context.user, caller.user), "client": (self._context.client, caller.client)}
        denied = [
            name for name, (only, name_given) in fixed.items() if only and name_given not in (None, only)
        ]
        if denied:
            raise ScopeDenied(
                f"this server's config serves one {' and one '.join(denied)} only, and not this one"
            )


def _of_identity(sent: Headers) -> Headers:
    return Headers([(name, value) for name in IDENTITY_HEADERS for value in sent.getlist(name)])


def _fault(source: str, problem: str) -> ConfigError:
    return ConfigError(source, [ConfigFault("mcp.context.key_file", problem)])
