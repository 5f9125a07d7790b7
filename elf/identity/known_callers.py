"""From what a request brings along to who makes it, and what that binds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import httpx
from werkzeug.datastructures import Headers

from elf.api.caller import DEFAULT_TENANT, Caller
from elf.config.auth import ApiKey, Auth, Jwt
from elf.config.names import MAX_NAME_CHARS
from elf.core.errors import ScopeDenied, StartupError
from elf.identity.credentials import Credentials
from elf.identity.issuer_keys import FetchedKeys, FileKeys
from elf.identity.keys import Keys
from elf.identity.refusal import Refused
from elf.identity.roles import USER, roles_of
from elf.identity.tokens import Tokens, claim, texts

TENANT: Final = "tenant_id"
USER_PLACE: Final = "{user}"
_HAS_TENANT: Final = frozenset({TENANT})

_SHARES_NOTHING: Final = (
    "this token is bound to no project; security.auth.jwt.project binds one, users_share_projects lets all users of a "
    "tenant share its projects"
)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one credential says.

    `proved_user` is the user where the roles of users are theirs to have: one that a token proves, or that mode off
    takes at its word. A user whom only a key names has the role of the key.
    """

    user: str | None = None
    proved_user: str | None = None
    is_default_user: bool = False
    client: str | None = None
    bound: Mapping[str, str] = field(default_factory=dict)
    denied: Mapping[str, str] = field(default_factory=dict)
    claimed: tuple[str, ...] = ()
    role: str = USER


class KnownCallers:
    """Says who makes a request, by a list of keys and by the tokens of an issuer."""

    def __init__(self, auth: Auth, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`transport` replaces the network on the way to the issuer. Raises StartupError for a bad `jwks_file`."""
        self._transport = transport
        self._set_up(auth, None)

    def take(self, auth: Auth) -> None:
        """Go by a changed config from now on; what is known of the same issuer stays known.

        Raises StartupError, and stays as it was, for a bad `jwks_file` and for another mode, on which more hangs.
        """
        if auth.mode != self._auth.mode:
            raise StartupError("security.auth.mode: another mode needs a restart")
        same = (
            auth.jwt is not None
            and self._auth.jwt is not None
            and _source(auth.jwt) == _source(self._auth.jwt)
        )
        self._set_up(auth, self._fetched if same else None)

    def _set_up(self, auth: Auth, fetched: FetchedKeys | None) -> None:
        tokens = None
        if auth.jwt is not None and auth.jwt.jwks_file:
            tokens = Tokens(auth.jwt, FileKeys(auth.jwt.jwks_file))
        elif auth.jwt is not None:
            fetched = fetched or FetchedKeys(auth.jwt.issuer, auth.jwt.jwks_url, transport=self._transport)
            tokens = Tokens(auth.jwt, fetched)
        self._auth, self._tokens, self._fetched = auth, tokens, fetched
        self._keys = Keys(auth.keys)
        self._holders = {str(role): holders for role, holders in auth.roles.items()}

    async def refresh(self) -> None:
        """Fetch the keys of the issuer, if there is one that publishes them."""
        if self._fetched is not None:
            await self._fetched.refresh()

    async def __call__(self, headers: Headers) -> Caller:
        """Say who makes a request with these headers. Raises Refused, ScopeDenied, Unavailable."""
        sent = Credentials.of(headers)
        if self._auth.mode == "off":
            return self._named(sent)
        return await self._proved(sent)

    def _named(self, sent: Credentials) -> Caller:
        """Take a name for who it is, but a key only when it is one."""
        key = self._key_part(sent)
        named = sent.bearer or key.user
        user, client = named or self._auth.dev_user, key.client or sent.client
        proved = sent.bearer if named else user
        return self._caller(
            replace(key, user=user, proved_user=proved, is_default_user=named is None, client=client)
        )

    async def _proved(self, sent: Credentials) -> Caller:
        key = self._key_part(sent)
        if sent.bearer is None and sent.key is None:
            raise Refused("no_identity", "nobody is served here without X-API-Key or a bearer token")
        if sent.bearer is None:
            return self._caller(key, _HAS_TENANT)
        token = await self._token_part(sent.bearer)
        if key.user not in (None, token.user):
            raise Refused("not_for_users", "the key speaks for another user than the token")
        both = replace(token, client=key.client, role=key.role, bound=_both(token.bound, key.bound))
        return self._caller(both, _HAS_TENANT)

    def _caller(self, who: _Part, needed: frozenset[str] = frozenset()) -> Caller:
        roles = roles_of(
            self._holders,
            user=who.proved_user,
            client=who.client,
            claimed=who.claimed,
            given=who.role,
        )
        return Caller(
            user=who.user,
            is_default_user=who.is_default_user,
            client=who.client,
            roles=roles,
            bound=who.bound,
            needed=needed,
            denied=who.denied,
        )

    def _key_part(self, sent: Credentials) -> _Part:
        if sent.key is None:
            if sent.user is not None:
                raise Refused("not_for_users", "X-User-ID is taken from a key that acts for users only")
            return _Part()
        key = self._keys.of(sent.key)
        user = _user_of(key, sent.user)
        return _Part(user=user, client=key.name, bound=_bound_by(key, user), role=key.role)

    async def _token_part(self, token: str) -> _Part:
        if self._tokens is None or self._auth.jwt is None:
            raise Refused("bad_token", "tokens are not taken here: there is no [security.auth.jwt]")
        return _part_of(self._auth.jwt, await self._tokens.claims(token))


def _source(config: Jwt) -> tuple[str, str, str]:
    return config.issuer, config.jwks_url, config.jwks_file


def _user_of(key: ApiKey, named: str | None) -> str | None:
    if named is None:
        return key.user or None
    if not key.acts_for_users:
        raise Refused("not_for_users", "X-User-ID is taken from a key that acts for users only")
    return named


def _bound_by(key: ApiKey, user: str | None) -> dict[str, str]:
    names = {
        "tenant_id": key.tenant_id,
        "project_id": key.project_id,
        "agent_id": key.agent_id,
        "read_profile": key.read_profile,
    }
    return {name: _with_user(value, user) for name, value in names.items() if value}


def _with_user(value: str, user: str | None) -> str:
    if USER_PLACE not in value:
        return value
    if user is None:
        raise Refused("not_for_users", "this key has to name its user in X-User-ID")
    return _name(value.replace(USER_PLACE, user))


def _part_of(config: Jwt, claims: Mapping[str, Any]) -> _Part:
    user = next((name for one in config.user_claims if (name := _text(claim(claims, one)))), None)
    if user is None:
        raise Refused("bad_token", "the token names no user")
    bound = {TENANT: _claimed(claims, config.tenant_claim) if config.tenant_claim else DEFAULT_TENANT}
    for name, value in (("project_id", config.project), ("agent_id", config.agent)):
        if value:
            bound[name] = _with_user(value, user) if USER_PLACE in value else _claimed(claims, value)
    shares = config.users_share_projects or "project_id" in bound
    user = _name(user)
    return _Part(
        user=user,
        proved_user=user,
        bound=bound,
        denied={} if shares else {"project_id": _SHARES_NOTHING},
        claimed=tuple(role for name in config.roles_claims for role in texts(claim(claims, name))),
    )


def _claimed(claims: Mapping[str, Any], name: str) -> str:
    value = _text(claim(claims, name))
    if value is None:
        raise Refused("bad_token", f"the token lacks the claim {name}")
    return _name(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _name(value: str) -> str:
    if len(value) > MAX_NAME_CHARS or "\x00" in value:
        raise Refused(
            "bad_token", f"a name by which the caller is bound has more than {MAX_NAME_CHARS} characters"
        )
    return value


def _both(token: Mapping[str, str], key: Mapping[str, str]) -> dict[str, str]:
    paths = [f"$.{name}" for name, value in key.items() if token.get(name, value) != value]
    if paths:
        raise ScopeDenied(
            f"{', '.join(paths)}: the key and the token are bound to different values", fields=paths
        )
    return {**token, **key}
