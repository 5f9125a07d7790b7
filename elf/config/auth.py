"""[security.auth]: who calls, how that is proved, and what it binds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field

from elf.config.names import Names
from elf.config.table import Table
from elf.config.values import Text

AuthMode = Literal["off", "required"]
RoleName = Literal["user", "indexer", "auditor", "admin"]
Algorithm = Literal[
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "HS256",
    "HS384",
    "HS512",
]
_ALGORITHMS: Final[tuple[Algorithm, ...]] = ("RS256", "ES256")
KeyHash = Annotated[
    str,
    Field(
        pattern=r"^sha256:[0-9a-f]{64}\z",
        description="sha256: and 64 hexadecimal digits, as `elf key new` prints",
    ),
]


class ApiKey(Names):
    """[[security.auth.keys]]: a key of a client, by its digest, and what binds whoever has it; an empty name is free.

    `user` is for whom a call is that names no user; with `acts_for_users` the client may name one in X-User-ID.
    """

    name: Text
    hash: KeyHash
    role: RoleName = "user"
    user: str = ""
    acts_for_users: bool = False


class Jwt(Table):
    """[security.auth.jwt]: whose tokens prove a user, and which of their claims say what.

    The keys of the issuer come from `jwks_file`, else `jwks_url`, else what the issuer says of itself. A claim within
    another is named with dots. `project` and `agent` are claims, or text with {user} in it.
    """

    issuer: Text
    jwks_url: str = ""
    jwks_file: str = ""
    audience: str = ""
    algorithms: list[Algorithm] = Field(min_length=1, default_factory=lambda: list(_ALGORITHMS))
    user_claims: list[Text] = Field(
        min_length=1, default_factory=lambda: ["preferred_username", "upn", "sub"]
    )
    tenant_claim: str = ""
    project: str = ""
    agent: str = ""
    roles_claims: list[Text] = Field(default_factory=lambda: ["realm_access.roles", "roles"])
    users_share_projects: bool = False

    def anchored(self, folder: Path) -> Self:
        """Return the table with a relative `jwks_file` taken as below `folder`."""
        return self.model_copy(update={"jwks_file": str(folder / self.jwks_file)}) if self.jwks_file else self


class RoleHolders(Table):
    """[security.auth.roles.*]: who has a role: by a role in a token, by user, or by client; any of them is enough."""

    claims: list[Text] = Field(default_factory=list)
    users: list[Text] = Field(default_factory=list)
    clients: list[Text] = Field(default_factory=list)


class Auth(Table):
    """[security.auth], optional: without it, mode off."""

    mode: AuthMode = "off"
    dev_user: Text = "local"
    keys: list[ApiKey] = Field(default_factory=list)
    jwt: Jwt | None = None
    roles: dict[Literal["indexer", "auditor", "admin"], RoleHolders] = Field(default_factory=dict)
