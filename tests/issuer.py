"""An issuer of tokens that lives in the test."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER: Final = "https://id.example/realms/x"
AWAY: Final = 503


class SigningKey:
    """A key of the issuer, with its id."""

    def __init__(self, kid: str, algorithm: str = "RS256") -> None:
        self.kid = kid
        self.algorithm = algorithm
        is_rsa = algorithm.startswith(("RS", "PS"))
        self.private: Any = (
            rsa.generate_private_key(public_exponent=65537, key_size=2048)
            if is_rsa
            else ec.generate_private_key(ec.SECP256R1())
        )
        writer = RSAAlgorithm if is_rsa else ECAlgorithm
        self.public: dict[str, Any] = {
            **writer.to_jwk(self.private.public_key(), as_dict=True),
            "kid": kid,
            "use": "sig",
        }

    @property
    def pem(self) -> bytes:
        """The public key, as anybody can have it."""
        pem: bytes = self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem


class Issuer:
    """Signs tokens with the first of its keys, and publishes all; `away` makes it answer nothing but faults."""

    def __init__(self, *keys: SigningKey, url: str = ISSUER) -> None:
        self.url = url
        self.keys = list(keys) or [SigningKey("first")]
        self.away = False
        self.fetches = 0
        self.transport = httpx.MockTransport(self.answer)

    def rotate(self, kid: str) -> None:
        """Sign with another key from now on, and publish the former one no more."""
        self.keys = [SigningKey(kid)]

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            return httpx.Response(AWAY)
        if request.url.path.endswith("/.well-known/openid-configuration"):
            return httpx.Response(200, json={"issuer": self.url, "jwks_uri": f"{self.url}/certs"})
        self.fetches += 1
        return httpx.Response(200, content=self.jwks())

    def jwks(self) -> bytes:
        return json.dumps({"keys": [key.public for key in self.keys]}).encode()

    def token(
        self,
        user: str = "anna",
        *,
        key: SigningKey | None = None,
        headers: Mapping[str, Any] | None = None,
        without: Sequence[str] = (),
        **claims: Any,
    ) -> str:
        """Return a token that is right but for what is given: claims replace those it would have."""
        signed_by = key or self.keys[0]
        now = int(time.time())
        said = {"iss": self.url, "sub": user, "iat": now, "exp": now + 300} | claims
        for name in without:
            del said[name]
        return jwt.encode(
            said,
            signed_by.private,
            algorithm=signed_by.algorithm,
            headers={"kid": signed_by.kid, **(headers or {})},
        )
