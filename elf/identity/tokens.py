"""The tokens of users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import jwt
from jwt.exceptions import (
    DecodeError,
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAudienceError,
    InvalidIssuerError,
    InvalidSignatureError,
    MissingRequiredClaimError,
    PyJWTError,
)

from elf.config.auth import Jwt
from elf.identity.issuer_keys import SigningKeys
from elf.identity.refusal import Refused

LEEWAY_S: Final = 30.0
"""How far the clocks of an issuer and of this service may be apart."""

_WRONG: Final[Mapping[type[PyJWTError], str]] = {
    ExpiredSignatureError: "is expired",
    ImmatureSignatureError: "is not valid yet",
    InvalidAudienceError: "is for another audience",
    InvalidIssuerError: "is of another issuer",
    InvalidSignatureError: "has a wrong signature",
    MissingRequiredClaimError: "lacks a claim that every token needs: exp, iss, or aud where one is expected",
    DecodeError: "is no JSON Web Token",
}


class Tokens:
    """Checks JSON Web Tokens (RFC 7519)."""

    def __init__(self, config: Jwt, keys: SigningKeys) -> None:
        self._config = config
        self._keys = keys
        self._algorithms = frozenset[str](config.algorithms)

    async def claims(self, token: str) -> dict[str, Any]:
        """Return the claims of a token that is right. Raises Refused, Unavailable when its issuer's keys are away."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm, kid = header.get("alg"), header.get("kid")
            if not isinstance(algorithm, str) or algorithm not in self._algorithms:
                raise Refused("bad_token", "the token is signed in a way that is not taken here")
            key = await self._keys.key(kid, algorithm)
            return self._decoded(token, key, algorithm)
        except PyJWTError as error:
            wrong = next(
                (text for kind, text in _WRONG.items() if isinstance(error, kind)), "cannot be taken"
            )
            raise Refused("bad_token", f"the token {wrong}") from None

    def _decoded(self, token: str, key: jwt.PyJWK, algorithm: str) -> dict[str, Any]:
        audience = self._config.audience or None
        return jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            issuer=self._config.issuer,
            audience=audience,
            leeway=LEEWAY_S,
            options={
                "require": ["exp", "iss", *(["aud"] if audience else [])],
                "verify_aud": audience is not None,
            },
        )


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim; one that is within another is named with dots. None when there is none.

    A claim whose own name has dots, such as a URL, is taken before one that is within another.
    """
    if name in claims:
        return claims[name]
    head, dot, rest = name.partition(".")
    inner = claims.get(head) if dot else None
    return claim(inner, rest) if isinstance(inner, Mapping) else None


def texts(value: Any) -> list[str]:
    """Return the words of a claim that is a list of them, or a text with blanks between them."""
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
