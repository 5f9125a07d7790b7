"""Who calls, by keys and tokens: what is right is known, what is wrong is refused and never ignored."""

from __future__ import annotations

import base64
import hmac
import json
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.config.auth import ApiKey, Auth, Jwt, RoleHolders
from elf.core.api_key import hash_of, new_key
from elf.core.errors import ScopeDenied, StartupError, Unavailable
from elf.identity.issuer_keys import FETCH_EVERY_S, RETRY_S
from elf.identity.known_callers import KnownCallers
from elf.identity.refusal import Refused
from tests.issuer import ISSUER, Issuer, SigningKey

pytestmark = pytest.mark.anyio

KEY = new_key()
OTHER_KEY = new_key()


def known(issuer: Issuer | None = None, *keys: ApiKey, mode: str = "required", **auth: Any) -> KnownCallers:
    """Return the callers of a config with an issuer and these keys; `auth` holds its other keys, and those of jwt."""
    jwt = {name: auth.pop(name) for name in list(auth) if name in Jwt.model_fields}
    table = Auth(
        mode=mode,  # type: ignore[arg-type]
        keys=list(keys),
        jwt=None if issuer is None else Jwt(issuer=issuer.url, **jwt),
        **auth,
    )
    return KnownCallers(table, transport=None if issuer is None else issuer.transport)


def api_key(secret: str = KEY, **values: Any) -> ApiKey:
    return ApiKey(**{"name": "bot", "hash": hash_of(secret), **values})


async def called(callers: KnownCallers, *, bearer: str | None = None, **headers: str) -> Caller:
    sent = Headers([(name.replace("_", "-"), value) for name, value in headers.items()])
    if bearer is not None:
        sent["Authorization"] = f"Bearer {bearer}"
    return await callers(sent)


async def refusal(callers: KnownCallers, **sent: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        await called(callers, **sent)
    return caught.value


async def test_a_token_says_who_the_user_is_and_binds_the_tenant() -> None:
    issuer = Issuer()
    callers = known(issuer, tenant_claim="org.id", project="{user}", agent="azp")
    token = issuer.token("anna", preferred_username="x", upn="x", org={"id": "acme"}, azp="desk")
    caller = await called(callers, bearer=token)
    assert (caller.user, caller.client, caller.roles) == ("anna", None, {"user"})
    assert caller.bound == {"tenant_id": "acme", "project_id": "anna", "agent_id": "desk"}
    assert (caller.needed, caller.denied) == ({"tenant_id"}, {})


async def test_a_token_bound_to_no_project_has_none_unless_users_share_them() -> None:
    issuer = Issuer()
    alone = await called(known(issuer), bearer=issuer.token())
    assert (alone.bound, list(alone.denied)) == ({"tenant_id": "default"}, ["project_id"])
    shared = await called(known(issuer, users_share_projects=True), bearer=issuer.token())
    assert (shared.bound, shared.denied) == ({"tenant_id": "default"}, {})


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "ES256"])
async def test_each_algorithm_of_the_config_is_taken(algorithm: str) -> None:
    issuer = Issuer(SigningKey("one", algorithm))
    callers = known(issuer, algorithms=[algorithm])
    assert (await called(callers, bearer=issuer.token())).user == "anna"


def unsigned(issuer: Issuer) -> str:
    """A token that says of itself that nobody signed it."""
    return _put_together({"alg": "none", "kid": issuer.keys[0].kid}, issuer, lambda _: b"")


def signed_with_the_public_key(issuer: Issuer) -> str:
    """A token whose signature anybody can make who reads what the issuer publishes."""
    secret = issuer.keys[0].pem
    return _put_together(
        {"alg": "HS256", "kid": issuer.keys[0].kid},
        issuer,
        lambda content: hmac.digest(secret, content, sha256),
    )


def _put_together(header: dict[str, Any], issuer: Issuer, sign: Any) -> str:
    claims = {"iss": issuer.url, "sub": "anna", "exp": int(time.time()) + 300}
    parts = [_encoded(json.dumps(part).encode()) for part in (header, claims)]
    content = ".".join(parts)
    return f"{content}.{_encoded(sign(content.encode()))}"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


NOW = int(time.time())
WRONG = {
    "is expired": lambda issuer: issuer.token(exp=NOW - 60, aud="elf"),
    "is not valid yet": lambda issuer: issuer.token(nbf=NOW + 3600, aud="elf"),
    "is of another issuer": lambda issuer: issuer.token(iss="https://elsewhere.example", aud="elf"),
    "is for another audience": lambda issuer: issuer.token(aud="shop"),
    "lacks a claim that every token needs": lambda issuer: issuer.token(without=["exp"], aud="elf"),
    "is signed in a way that is not taken here": unsigned,
    "is signed in a way": signed_with_the_public_key,
    "has a wrong signature": lambda issuer: issuer.token(key=SigningKey(issuer.keys[0].kid), aud="elf"),
    "is signed with a key that its issuer does not have": lambda issuer: issuer.token(
        key=SigningKey("other")
    ),
    "names no user": lambda issuer: issuer.token(sub=" ", aud="elf"),
    "is no JSON Web Token": lambda _: "anna",
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_token_is_refused(wrong: str) -> None:
    issuer = Issuer()
    found = await refusal(known(issuer, audience="elf"), bearer=WRONG[wrong](issuer))
    assert found.reason == "bad_token"
    assert wrong in found.message
    assert "anna" not in found.message


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["RS256", "none"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=5,
)
HEADERS = st.dictionaries(
    st.sampled_from(["alg", "kid", "crit", "b64", "typ", "jwk", "x5c", "enc", "zip"]), JSON
)


@given(st.one_of(JSON, HEADERS, HEADERS.map(lambda header: {"alg": "RS256", **header})), JSON)
@example({"alg": []}, {})
@example({"alg": {}}, {})
def test_a_token_of_any_header_and_claims_is_refused(header: Any, claims: Any) -> None:
    parts = [_encoded(json.dumps(part).encode()) for part in (header, claims)]

    async def ask() -> None:
        found = await refusal(known(Issuer()), bearer=".".join([*parts, "AAAA"]))
        assert found.reason == "bad_token"

    anyio.run(ask)


async def test_an_rsa_key_is_no_secret_even_where_secrets_are_taken(tmp_path: Path) -> None:
    issuer = Issuer()
    file = tmp_path / "keys.json"
    file.write_bytes(issuer.jwks())
    jwt = Jwt(issuer=ISSUER, jwks_file=str(file), algorithms=["RS256", "HS256"])
    callers = KnownCallers(Auth(mode="required", jwt=jwt))
    assert (await called(callers, bearer=issuer.token())).user == "anna"
    await refusal(callers, bearer=signed_with_the_public_key(issuer))


def test_a_file_that_holds_no_keys_is_told_of_at_start(tmp_path: Path) -> None:
    for content in (None, b"", b"[]", b'{"keys": 1}'):
        file = tmp_path / "keys.json"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(StartupError, match=r"security\.auth\.jwt\.jwks_file: .*keys\.json"):
            KnownCallers(Auth(mode="required", jwt=Jwt(issuer=ISSUER, jwks_file=str(file))))


async def test_a_key_says_which_client_it_is_and_binds_what_it_names() -> None:
    key = api_key(
        tenant_id="acme", project_id="p", agent_id="a", read_profile="all", user="anna", role="auditor"
    )
    caller = await called(known(None, key), X_API_Key=KEY)
    assert (caller.user, caller.client, caller.roles) == ("anna", "bot", {"user", "auditor"})
    assert caller.bound == {"tenant_id": "acme", "project_id": "p", "agent_id": "a", "read_profile": "all"}


async def test_unknown_wrong_and_revoked_keys_are_refused_alike() -> None:
    before = known(None, api_key(), api_key(OTHER_KEY, name="other"))
    assert (await called(before, X_API_Key=OTHER_KEY)).client == "other"
    after = known(None, api_key())
    tried = [OTHER_KEY, new_key(), KEY[:-1], KEY + "x", KEY.swapcase(), "x"]
    found = [await refusal(after, X_API_Key=key) for key in tried]
    assert {(one.reason, one.message) for one in found} == {
        ("unknown_key", "X-API-Key is no key of this service")
    }


async def test_nobody_is_refused_and_what_is_wrong_is_never_ignored() -> None:
    issuer = Issuer()
    callers = known(issuer, api_key())
    assert (await refusal(callers)).reason == "no_identity"
    assert (await refusal(callers, X_User_ID="anna")).reason == "not_for_users"
    assert (await refusal(callers, X_API_Key=KEY, X_User_ID="anna")).reason == "not_for_users"
    assert (await refusal(callers, X_API_Key=KEY, bearer="x")).reason == "bad_token"
    assert (await refusal(callers, X_API_Key="x", bearer=issuer.token())).reason == "unknown_key"
    for odd in ("Basic YTpi", "Bearer", "Bearer a b", "Bearer \x7f", "anna"):
        assert (await refusal(callers, X_API_Key=KEY, Authorization=odd)).reason == "bad_header"
    for odd in ("", " ", "k\u00e9y", "x" * 20_000):
        assert (await refusal(callers, X_API_Key=odd)).reason == "bad_header"
    with pytest.raises(Refused, match="X-API-Key comes more than once"):
        await callers(Headers([("X-API-Key", KEY), ("X-API-Key", KEY)]))
    assert (await refusal(known(None, api_key()), bearer=issuer.token())).reason == "bad_token"


async def test_a_key_that_acts_for_users_says_which() -> None:
    callers = known(None, api_key(acts_for_users=True, tenant_id="acme", project_id="of-{user}"))
    caller = await called(callers, X_API_Key=KEY, X_User_ID="anna")
    assert (caller.user, caller.client) == ("anna", "bot")
    assert caller.bound == {"tenant_id": "acme", "project_id": "of-anna"}
    assert (await refusal(callers, X_API_Key=KEY)).reason == "not_for_users"


async def test_a_key_and_a_token_bind_together_and_may_not_contradict() -> None:
    issuer = Issuer()
    callers = known(issuer, api_key(agent_id="desk"), project="{user}", tenant_claim="org")
    caller = await called(callers, bearer=issuer.token(org="acme"), X_API_Key=KEY)
    assert (caller.user, caller.client) == ("anna", "bot")
    assert caller.bound == {"tenant_id": "acme", "project_id": "anna", "agent_id": "desk"}
    other = known(issuer, api_key(tenant_id="other"), tenant_claim="org")
    with pytest.raises(ScopeDenied) as caught:
        await called(other, bearer=issuer.token(org="acme"), X_API_Key=KEY)
    assert caught.value.fields == ("$.tenant_id",)
    speaks = known(issuer, api_key(user="bert"))
    assert (await refusal(speaks, bearer=issuer.token(), X_API_Key=KEY)).reason == "not_for_users"


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({}, {"user"}),
        ({"realm_access": {"roles": ["elf-audit", 7]}}, {"user", "auditor"}),
        ({"roles": "other elf-admin"}, {"user", "admin", "auditor", "indexer"}),
        ({"sub": "ida"}, {"user", "indexer"}),
    ],
)
async def test_roles_come_from_claims_users_and_clients(claims: dict[str, Any], roles: set[str]) -> None:
    issuer = Issuer()
    holders = {
        "auditor": RoleHolders(claims=["elf-audit"]),
        "admin": RoleHolders(claims=["elf-admin"], clients=["bot"]),
        "indexer": RoleHolders(users=["ida"]),
    }
    callers = known(issuer, api_key(), roles=holders)
    assert (await called(callers, bearer=issuer.token(**claims))).roles == roles
    assert (await called(callers, X_API_Key=KEY)).roles == {"user", "admin", "auditor", "indexer"}


async def test_mode_off_takes_names_for_who_they_are_but_keys_only_when_they_are_listed() -> None:
    callers = known(
        None, api_key(tenant_id="acme"), mode="off", roles={"auditor": RoleHolders(users=["eve"])}
    )
    nobody = await called(callers)
    assert (nobody.user, nobody.client, nobody.bound, nobody.needed) == ("local", None, {}, frozenset())
    assert nobody.named_user is None, "the default user stands for whoever uses the machine"
    named = await called(callers, bearer="eve", X_Client_ID="desk")
    assert (named.user, named.client, named.roles) == ("eve", "desk", {"user", "auditor"})
    assert named.named_user == "eve"
    keyed = await called(callers, X_API_Key=KEY, X_Client_ID="desk")
    assert (keyed.user, keyed.client, keyed.bound) == ("local", "bot", {"tenant_id": "acme"})
    assert keyed.named_user is None
    assert (await refusal(callers, X_API_Key=OTHER_KEY)).reason == "unknown_key"


class Clocked:
    """Time as the keys of an issuer see it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(anyio, "current_time", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clocked:
    return Clocked(monkeypatch)


async def test_new_keys_are_fetched_once_in_a_while_however_many_strangers_come(clock: Clocked) -> None:
    issuer = Issuer()
    callers = known(issuer)
    await called(callers, bearer=issuer.token())
    issuer.rotate("second")
    assert (await called(callers, bearer=issuer.token())).user == "anna"
    for number in range(20):
        await refusal(callers, bearer=issuer.token(key=SigningKey(f"stranger {number}", "ES256")))
    assert issuer.fetches == 2
    issuer.rotate("third")
    await refusal(callers, bearer=issuer.token())
    clock.now += FETCH_EVERY_S
    assert (await called(callers, bearer=issuer.token())).user == "anna"
    assert issuer.fetches == 3


async def test_all_who_wait_for_the_same_keys_share_a_fetch() -> None:
    issuer = Issuer()
    callers = known(issuer)
    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(lambda: called(callers, bearer=issuer.token()))
    assert issuer.fetches == 1


async def test_an_issuer_that_is_away_stops_nobody_whose_key_is_known(clock: Clocked) -> None:
    issuer = Issuer()
    callers = known(issuer)
    issuer.away = True
    with pytest.raises(Unavailable):
        await called(callers, bearer=issuer.token())
    issuer.away = False
    clock.now += RETRY_S
    early = issuer.token()
    assert (await called(callers, bearer=early)).user == "anna"
    issuer.away = True
    issuer.rotate("second")
    assert (await called(callers, bearer=early)).user == "anna"
    with pytest.raises(Unavailable):
        await called(callers, bearer=issuer.token())
    issuer.away = False
    clock.now += RETRY_S
    assert (await called(callers, bearer=issuer.token())).user == "anna"
    assert (await refusal(callers, bearer=early)).reason == "bad_token"


async def test_a_key_that_the_issuer_withdraws_is_gone_with_the_next_refresh() -> None:
    issuer = Issuer()
    callers = known(issuer)
    early = issuer.token()
    await called(callers, bearer=early)
    issuer.rotate("second")
    await callers.refresh()
    assert (await refusal(callers, bearer=early)).reason == "bad_token"
    assert (await called(callers, bearer=issuer.token())).user == "anna"


async def test_a_changed_list_is_taken_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    issuer = Issuer()
    callers = known(issuer, api_key())
    await called(callers, bearer=issuer.token())
    issuer.away = True
    jwt = Jwt(issuer=issuer.url, users_share_projects=True)
    callers.take(Auth(mode="required", keys=[api_key(OTHER_KEY, name="other")], jwt=jwt))
    assert (await called(callers, X_API_Key=OTHER_KEY)).client == "other"
    assert (await refusal(callers, X_API_Key=KEY)).reason == "unknown_key"
    assert (await called(callers, bearer=issuer.token())).denied == {}
    bad = jwt.model_copy(update={"jwks_file": str(tmp_path / "nothing.json")})
    for auth in (Auth(mode="off"), Auth(mode="required", jwt=bad)):
        with pytest.raises(StartupError):
            callers.take(auth)
    assert (await called(callers, X_API_Key=OTHER_KEY)).client == "other"
