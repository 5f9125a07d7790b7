"""What a key or a token binds by a config, for those who send it."""

from __future__ import annotations

import pytest

from elf.config.auth import Auth, Jwt
from elf.core.api_key import hash_of

KEYS = [
    {
        "name": "bot",
        "hash": hash_of("elf_a"),
        "tenant_id": "acme",
        "read_profile": "all_scopes",
        "user": "ana",
    },
    {"name": "bot", "hash": hash_of("elf_b"), "agent_id": "{user}", "acts_for_users": True},
]
JWT = {"issuer": "https://id.example", "project": "{user}"}


def auth(mode: str = "required", **tables: object) -> Auth:
    return Auth.model_validate({"mode": mode, "keys": KEYS, **tables})


@pytest.mark.parametrize(
    ("key", "has_token", "bound"),
    [
        (None, False, set()),
        ("elf_a", False, {"tenant_id", "read_profile"}),
        ("elf_b", False, {"agent_id"}),
        ("elf_other", False, set()),
        (None, True, {"tenant_id", "project_id"}),
        ("elf_b", True, {"tenant_id", "project_id", "agent_id"}),
    ],
)
def test_what_is_bound_is_left_out_by_who_sends_it(key: str | None, has_token: bool, bound: set[str]) -> None:
    assert auth(jwt=JWT).bound_names(key=key, has_token=has_token) == bound


def test_a_token_binds_only_where_it_is_checked() -> None:
    assert auth().bound_names(key=None, has_token=True) == set()
    assert auth("off", jwt=JWT).bound_names(key="elf_b", has_token=True) == {"agent_id"}


def test_a_name_is_a_token_only_where_nobody_proves_anything() -> None:
    assert auth("off").takes_names(has_key=True)
    assert Auth().takes_names(has_key=False)
    assert not Auth().takes_names(has_key=True)  # its service has another config, which lists the key
    assert not auth().takes_names(has_key=False)


@pytest.mark.parametrize(
    ("key", "may"), [(None, True), ("elf_a", False), ("elf_b", True), ("elf_of_another_config", True)]
)
def test_a_default_user_is_named_beside_a_key_that_may(key: str | None, may: bool) -> None:
    assert auth().lets_name_user(key) is may


def test_the_user_of_a_token_is_its_subject_unless_the_config_says_otherwise() -> None:
    assert Jwt(issuer="https://id.example").user_claims == ["sub"]
