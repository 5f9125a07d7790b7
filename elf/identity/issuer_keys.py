"""The keys that an issuer signs its tokens with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import anyio
import anyio.to_thread
import httpx
import msgspec
import structlog
from jwt import PyJWK
from jwt.exceptions import InvalidKeyError, PyJWKError

from elf.core.errors import StartupError, Unavailable
from elf.core.structs import read_json
from elf.identity.refusal import Refused

FETCH_TIMEOUT_S: Final = 5.0
REFRESH_S: Final = 600.0
"""How often the keys of an issuer are fetched without being asked for, so that one that it withdraws is gone."""

FETCH_EVERY_S: Final = 30.0
"""Tokens of unknown keys make the keys be fetched anew so often at most."""

RETRY_S: Final = 1.0
MAX_BYTES: Final = 1024 * 1024
DISCOVERY: Final = "/.well-known/openid-configuration"

_log = structlog.get_logger()


class SigningKeys(Protocol):
    """Where the keys of an issuer come from."""

    async def key(self, kid: str | None, algorithm: str) -> PyJWK:
        """Return the key of this id for an algorithm; without an id, the only one there is for it.

        Raises Refused when there is none, Unavailable when nobody can say.
        """
        ...


class KeySet:
    """A JSON Web Key Set (RFC 7517)."""

    def __init__(self, keys: Sequence[Mapping[str, Any]]) -> None:
        self._keys = [key for key in keys if key.get("use", "sig") == "sig"]
        self._read: dict[tuple[str | None, str], PyJWK | None] = {}

    @classmethod
    def parse(cls, content: bytes) -> KeySet:
        """Read one. Raises ValueError for what is none."""
        try:
            return cls(read_json(content, _Jwks).keys)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise ValueError("is not a JSON Web Key Set") from None

    def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """Return the key of this id for an algorithm, None when there is none that fits."""
        known = [key for key in self._keys if kid is None or key.get("kid") == kid]
        place = (kid if known else None, algorithm)
        if not known:
            return None  # ids that strangers make up are not kept
        if place not in self._read:
            fitting = [read for key in known if (read := _read(key, algorithm)) is not None]
            self._read[place] = fitting[0] if len(fitting) == 1 else None
        return self._read[place]


class _Jwks(msgspec.Struct):
    keys: list[dict[str, Any]]


def _read(key: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    if key.get("alg", algorithm) != algorithm:
        return None
    try:
        return PyJWK(dict(key), algorithm)
    except (InvalidKeyError, PyJWKError):
        return None  # of another kind than the algorithm takes, or of none that is known


class FileKeys:
    """The keys of a file."""

    def __init__(self, path: str) -> None:
        """Raises StartupError when the file cannot be read."""
        try:
            self._set = KeySet.parse(Path(path).read_bytes())
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise StartupError(f"security.auth.jwt.jwks_file: {path}: {why}") from error

    async def key(self, kid: str | None, algorithm: str) -> PyJWK:
        """Return a key, as SigningKeys has it."""
        if (found := self._set.find(kid, algorithm)) is None:
            raise _unknown()
        return found


class FetchedKeys:
    """The keys that an issuer publishes, kept here.

    One that is not known makes them be fetched anew, for all who wait for it at once, at most every FETCH_EVERY_S, or
    every RETRY_S while the issuer does not answer. Those that are kept serve on meanwhile.
    """

    def __init__(
        self, issuer: str, jwks_url: str = "", *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        self._issuer = issuer
        self._jwks_url = jwks_url
        self._transport = transport
        self._set: KeySet | None = None
        self._fetching = anyio.Lock()
        self._rounds = 0
        self._next_s = -math.inf  # before then, unknown keys fetch nothing
        self._is_away = False

    async def key(self, kid: str | None, algorithm: str) -> PyJWK:
        """Return a key, as SigningKeys has it."""
        found = self._find(kid, algorithm)
        if found is None:
            await self._renew(self._rounds)
            found = self._find(kid, algorithm)
        if found is not None:
            return found
        if self._set is None or self._is_away:
            raise Unavailable("whoever issues the tokens does not answer, so that none can be checked")
        raise _unknown()

    def _find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        return None if self._set is None else self._set.find(kid, algorithm)

    async def refresh(self) -> None:
        """Fetch the keys now; when the issuer does not answer, those that are kept stay."""
        async with self._fetching:
            await self._fetch()

    async def _renew(self, seen: int) -> None:
        async with self._fetching:
            if self._rounds != seen or anyio.current_time() < self._next_s:
                return  # somebody else has just fetched them
            is_first = self._set is None
            await self._fetch()
            if not self._is_away and not is_first:
                self._next_s = anyio.current_time() + FETCH_EVERY_S

    async def _fetch(self) -> None:
        try:
            with anyio.fail_after(FETCH_TIMEOUT_S):
                fetched = await self._published()
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError) as error:
            self._is_away = True
            self._next_s = anyio.current_time() + RETRY_S
            _log.warning("issuer_away", issuer=self._issuer, error=f"{type(error).__name__}: {error}")
        else:
            if self._is_away:
                _log.info("issuer_back", issuer=self._issuer)
            self._is_away = False
            self._set = fetched
        self._rounds += 1

    async def _published(self) -> KeySet:
        verify = await anyio.to_thread.run_sync(httpx.create_ssl_context)
        async with httpx.AsyncClient(
            transport=self._transport, verify=verify, trust_env=False, timeout=FETCH_TIMEOUT_S
        ) as http:
            url = self._jwks_url or await self._discovered(http)
            return KeySet.parse(await _content(http, url))

    async def _discovered(self, http: httpx.AsyncClient) -> str:
        """Return where the keys are, by what the issuer says of itself (OpenID Connect Discovery 1.0, section 4)."""
        content = await _content(http, self._issuer.rstrip("/") + DISCOVERY)
        try:
            said = read_json(content, _Issuer)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise ValueError("what the issuer says of itself cannot be read") from None
        if said.issuer != self._issuer:
            raise ValueError("what is there is another issuer")
        return said.jwks_uri


class _Issuer(msgspec.Struct):
    issuer: str
    jwks_uri: str


async def _content(http: httpx.AsyncClient, url: str) -> bytes:
    content = bytearray()
    async with http.stream("GET", url, headers={"Accept": "application/json"}) as response:
        response.raise_for_status()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > MAX_BYTES:
                raise ValueError(f"the answer has more than {MAX_BYTES} bytes")
    return bytes(content)


def _unknown() -> Refused:
    return Refused("bad_token", "the token is signed with a key that its issuer does not have")
