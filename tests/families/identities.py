"""What callers prove of themselves, where they are asked who they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from elf.core.api_key import hash_of, new_key
from tests.issuer import Issuer, SigningKey

ROLES: Final[Mapping[str, frozenset[str]]] = {
    "user": frozenset(),
    "indexer": frozenset({"indexer"}),
    "auditor": frozenset({"auditor"}),
    "admin": frozenset({"indexer", "auditor", "admin"}),
}
"""The roles that one has by another."""

AUTH: Final = """
[security.auth]
mode = "required"

[security.auth.jwt]
issuer = "{issuer}"
jwks_file = "jwks.json"
algorithms = ["ES256"]
user_claims = ["sub"]
tenant_claim = "tenant"
project = "{{user}}"
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """A key that may be bound to one field, or the token of a user: to its tenant, and to the user's own project.

    A key may have a `user`, or act for any, and name this one. A user with a token may come by a `client`, which sends
    its own key along. One that is `wrong` proves nothing.
    """

    proof: Literal["none", "key", "token"]
    bound: tuple[str, str] | None = None
    user: str = ""
    role: str = "admin"
    client: str = ""
    acts_for: str = ""
    wrong: bool = False


FREE: Final = Identity("key")
"""An operator, whom nothing binds."""


class Identities:
    """The identities that a service knows: the keys of its config, and the tokens of an issuer."""

    def __init__(self, identities: Iterable[Identity]) -> None:
        known = {*identities, FREE}
        self._keys = {one: new_key() for one in known if one.proof == "key"}
        self._clients = {one.client: new_key() for one in known if one.client}
        self._issuer = Issuer(SigningKey("known", "ES256"))
        self._stranger = SigningKey("known", "ES256")

    def headers(self, identity: Identity, context: Mapping[str, str]) -> Mapping[str, str]:
        """What a request proves it with. A token is of the tenant of this context."""
        if identity.proof == "none":
            return {}
        if identity.proof == "key":
            named = {"X-User-ID": identity.acts_for} if identity.acts_for else {}
            return {"X-API-Key": self._keys[identity], **named}
        claims = {"tenant": context["tenant_id"], "roles": [identity.role]}
        key = self._stranger if identity.wrong else None
        token = {"Authorization": f"Bearer {self._issuer.token(identity.user, key=key, **claims)}"}
        return token | ({"X-API-Key": self._clients[identity.client]} if identity.client else {})

    def config(self, folder: Path) -> str:
        """Return [security.auth]; what is in a file of its own is written into this folder."""
        (folder / "jwks.json").write_bytes(self._issuer.jwks())
        keys = [_table(one, key) for one, key in self._keys.items() if not one.wrong]
        keys += [
            _table(Identity("key", role="user", client=name), key) for name, key in self._clients.items()
        ]
        holders = [f'[security.auth.roles.{role}]\nclaims = ["{role}"]\n' for role in ROLES if role != "user"]
        return "\n".join([AUTH.format(issuer=self._issuer.url), *holders, *keys])


def _table(identity: Identity, key: str) -> str:
    lines = [
        "[[security.auth.keys]]",
        f'name = "{identity.client or "bot"}"',
        f'hash = "{hash_of(key)}"',
        f'role = "{identity.role}"',
    ]
    if identity.bound is not None:
        lines.append('{} = "{}"'.format(*identity.bound))
    if identity.user:
        lines.append(f'user = "{identity.user}"')
    if identity.acts_for:
        lines.append("acts_for_users = true")
    return "\n".join([*lines, ""])
