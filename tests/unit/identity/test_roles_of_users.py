"""Which roles a caller has by each way to name a user: whom only a key names has no role that the key has not."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from werkzeug.datastructures import Headers

from elf.config.auth import ApiKey, Auth, Jwt, RoleHolders
from elf.core.api_key import hash_of, new_key
from elf.identity.known_callers import KnownCallers
from elf.identity.refusal import Refused
from tests.issuer import Issuer

pytestmark = pytest.mark.anyio

ISSUER = Issuer()
KEYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "auditor": {"role": "auditor"},
    "acts": {"acts_for_users": True},
    "acts, auditor": {"acts_for_users": True, "role": "auditor"},
    "of boss": {"user": "boss"},
    "client list": {"acts_for_users": True},
}
SECRETS = {name: new_key() for name in KEYS}
HOLDERS = {
    "admin": RoleHolders(users=["boss", "local"], claims=["elf-admin"]),
    "indexer": RoleHolders(clients=["client list"]),
}

U = {"user"}
AUDITS = {"user", "auditor"}
INDEXES = {"user", "indexer"}
ALL = {"user", "auditor", "indexer", "admin"}
REFUSED = None

# Of each key (none is "-"), the roles when it names, in X-User-ID, nobody and boss; by what proves a user beside it.
WITHOUT_KEY = {"-": (REFUSED, REFUSED)}
REQUIRED = {
    "no token": {
        **WITHOUT_KEY,
        "plain": (U, REFUSED),
        "auditor": (AUDITS, REFUSED),
        "acts": (U, U),
        "acts, auditor": (AUDITS, AUDITS),
        "of boss": (U, REFUSED),
        "client list": (INDEXES, INDEXES),
    },
    "token of boss": {
        "-": (ALL, REFUSED),
        "plain": (ALL, REFUSED),
        "auditor": (ALL, REFUSED),
        "acts": (ALL, ALL),
        "acts, auditor": (ALL, ALL),
        "of boss": (ALL, REFUSED),
        "client list": (ALL, ALL),
    },
    "token of ana": {
        "-": (U, REFUSED),
        "plain": (U, REFUSED),
        "auditor": (AUDITS, REFUSED),
        "acts": (U, REFUSED),
        "acts, auditor": (AUDITS, REFUSED),
        "of boss": (REFUSED, REFUSED),
        "client list": (INDEXES, REFUSED),
    },
    "token of ana with the claim": {
        "-": (ALL, REFUSED),
        "plain": (ALL, REFUSED),
        "auditor": (ALL, REFUSED),
        "acts": (ALL, REFUSED),
        "acts, auditor": (ALL, REFUSED),
        "of boss": (REFUSED, REFUSED),
        "client list": (ALL, REFUSED),
    },
}
# In mode off a name is taken for who it is; "local", the default user, is an admin here. What a key names is not.
OFF = {
    "no token": {
        "-": (ALL, REFUSED),
        "plain": (ALL, REFUSED),
        "auditor": (ALL, REFUSED),
        "acts": (ALL, U),
        "acts, auditor": (ALL, AUDITS),
        "of boss": (U, REFUSED),
        "client list": (ALL, INDEXES),
    },
    "boss": {
        "-": (ALL, REFUSED),
        "plain": (ALL, REFUSED),
        "auditor": (ALL, REFUSED),
        "acts": (ALL, ALL),
        "acts, auditor": (ALL, ALL),
        "of boss": (ALL, REFUSED),
        "client list": (ALL, ALL),
    },
    "ana": {
        "-": (U, REFUSED),
        "plain": (U, REFUSED),
        "auditor": (AUDITS, REFUSED),
        "acts": (U, U),
        "acts, auditor": (AUDITS, AUDITS),
        "of boss": (U, REFUSED),
        "client list": (INDEXES, INDEXES),
    },
}
TABLES = {"required": REQUIRED, "off": OFF}
CASES = [
    pytest.param(mode, bearer, key, named, roles[named is not None], id=f"{mode}, {bearer}, {key}, {named}")
    for mode, table in TABLES.items()
    for bearer, keys in table.items()
    for key, roles in keys.items()
    for named in (None, "boss")
]


def test_every_combination_stands_in_the_table() -> None:
    for table in TABLES.values():
        stated = [(bearer, key) for bearer, keys in table.items() for key in keys]
        assert sorted(stated) == sorted(product(table, ["-", *KEYS]))


@pytest.mark.parametrize(("mode", "bearer", "key", "named", "roles"), CASES)
async def test_a_user_whom_a_key_names_has_no_role_beyond_that_of_the_key(
    mode: str, bearer: str, key: str, named: str | None, roles: set[str] | None
) -> None:
    headers = Headers()
    if (token := token_of(mode, bearer)) is not None:
        headers["Authorization"] = f"Bearer {token}"
    if key != "-":
        headers["X-API-Key"] = SECRETS[key]
    if named is not None:
        headers["X-User-ID"] = named
    if roles is None:
        with pytest.raises(Refused):
            await callers(mode)(headers)
        return
    assert (await callers(mode)(headers)).roles == roles


def token_of(mode: str, bearer: str) -> str | None:
    if bearer == "no token":
        return None
    if mode == "off":
        return bearer
    claims = {"roles": ["elf-admin"]} if "claim" in bearer else {}
    return ISSUER.token("boss" if "boss" in bearer else "ana", **claims)


def callers(mode: str) -> KnownCallers:
    keys = [ApiKey(name=name, hash=hash_of(SECRETS[name]), **table) for name, table in KEYS.items()]
    auth = Auth(
        mode=mode,  # type: ignore[arg-type]
        keys=keys,
        jwt=Jwt(issuer=ISSUER.url) if mode == "required" else None,
        roles=HOLDERS,  # type: ignore[arg-type]
    )
    return KnownCallers(auth, transport=ISSUER.transport)
