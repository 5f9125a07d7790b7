"""[security.auth]: who calls, how that is proved, and what it binds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field

from elf.config.names import Names
from elf.config.table import Table
from elf.config.values import Text
from elf.core.api_key import hash_of

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

    `user` is for whom a call is that names no user; with `acts_for_users` the client may name one in X-User-ID. Either
    way the role is that of the key: [security.auth.roles.*] gives users roles, but not those whom a key names.
    """

    name: Text
    hash: KeyHash
    role: RoleName = "user"
    user: str = ""
    acts_for_users: bool = False


class Jwt(Table):
    """[security.auth.jwt]: whose tokens prove a user, and which of their claims say what.

    The user is the first of `user_claims` that is there: claims that no user can change, or one could become another.
    The keys of the issuer come from `jwks_file`, else `jwks_url`, else what the issuer says of itself. A claim within
    another is named with dots. `project` and `agent` are claims, or text with {user} in it.
    """

    issuer: Text
    jwks_url: str = ""
    jwks_file: str = ""
    audience: str = ""
    algorithms: list[Algorithm] = Field(min_length=1, default_factory=lambda: list(_ALGORITHMS))
    user_claims: list[Text] = Field(min_length=1, default_factory=lambda: ["sub"])
    tenant_claim: str = ""
    project: str = ""
    agent: str = ""
    roles_claims: list[Text] = Field(default_factory=lambda: ["realm_access.roles", "roles"])
    users_share_projects: bool = False

    def anchored(self, folder: Path) -> Self:
        """Return the table with a relative `jwks_file` taken as below `folder`."""
        return self.model_copy(update={"jwks_file": str(folder / self.jwks_file)}) if self.jwks_file else self


class RoleHolders(Table):
    """[security.auth.roles.*]: who has a role: by a role in a token, by user, or by client; any of them is enough.

    A user has it by a token, or by name in mode off; a user whom a key names does not.
    """

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

    def takes_names(self, *, has_key: bool) -> bool:
        """Tell whether a user's name is a token for the service, as in mode off.

        Where no keys are listed, whoever has one calls a service that another config describes, and requires it.
        """
        return self.mode == "off" and not (has_key and not self.keys)

    def lets_name_user(self, key: str | None) -> bool:
        """Tell whether who sends a key, or none, may have to say for which user; a key of another config may."""
        listed = self.listed(key)
        return listed is None or listed.acts_for_users

    def bound_names(self, *, key: str | None, has_token: bool) -> frozenset[str]:
        """Return the fields of requests that a key, or any token, fills in by this config: `tenant_id` and the like.

        For who sends them, so that no default is sent in their place.
        """
        listed = self.listed(key)
        names = set() if listed is None else listed.given.keys() & Names.model_fields.keys()
        if has_token and self.jwt is not None and self.mode == "required":
            bound = {"tenant_id": "always", "project_id": self.jwt.project, "agent_id": self.jwt.agent}
            names |= {name for name, by in bound.items() if by}
        return frozenset(names)

    def listed(self, key: str | None) -> ApiKey | None:
        """Return the table of a key; None for no key, and for one of another config."""
        digest = None if key is None else hash_of(key)
        return next((listed for listed in self.keys if listed.hash == digest), None)
