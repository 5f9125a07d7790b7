"""[defaults]: who a caller is that does not say so."""

from __future__ import annotations

import pytest
from spec_template import SPEC_TEMPLATE, FaultsOf

from elf.config import loads
from elf.config.auth import Auth
from elf.core.api_key import hash_of

END = "evidence_max_quote_chars = 320\n"


def test_without_the_table_nothing_is_given_and_ids_are_default() -> None:
    defaults = loads(SPEC_TEMPLATE, source="elf.toml").defaults
    assert defaults.given == {}
    assert defaults.ids() == dict.fromkeys(("tenant_id", "project_id", "agent_id"), "default")


def test_each_key_may_be_given_alone_and_empty_is_not_given() -> None:
    table = '[defaults]\nproject_id = "ana"\nagent_id = ""\nscope = "project_shared"\n'
    defaults = loads(f"{SPEC_TEMPLATE}\n{table}", source="elf.toml").defaults
    assert defaults.given == {"project_id": "ana", "scope": "project_shared"}
    assert defaults.ids() == {"tenant_id": "default", "project_id": "ana", "agent_id": "default"}


@pytest.mark.parametrize(
    ("line", "key", "problem"),
    [
        ('read_profile = "everything"', "read_profile", "must be empty or one of scopes.read_profiles ("),
        ('scope = "everywhere"', "scope", "must be empty or one of scopes.allowed ("),
        ('tenant_id = " "', "tenant_id", "must be a name of at most 128 characters, or empty"),
        ('project_id = "项目"', "project_id", "must hold neither CJK characters nor NUL"),
        (
            'user = "ana lee"',
            "user",
            "must be a name of at most 128 printable ASCII characters without spaces",
        ),
    ],
)
def test_what_the_api_would_refuse_is_a_fault(faults_of: FaultsOf, line: str, key: str, problem: str) -> None:
    faults = faults_of((END, f"{END}\n[defaults]\n{line}\n"))
    assert list(faults) == [f"defaults.{key}"]
    assert problem in faults[f"defaults.{key}"]


def test_a_default_scope_may_be_written(faults_of: FaultsOf) -> None:
    closed = ("org_shared = true", "org_shared = false")
    faults = faults_of(closed, (END, f'{END}\n[defaults]\nscope = "org_shared"\n'))
    assert faults == {
        "defaults.scope": "must be a scope that may be written; scopes.write_allowed.org_shared is false"
    }


KEYS = [
    {"name": "plain", "hash": hash_of("plain")},
    {"name": "of-ana", "hash": hash_of("of-ana"), "user": "ana"},
    {"name": "acts", "hash": hash_of("acts"), "acts_for_users": True},
]
NOBODY: dict[str, str | None] = {"key": None, "token": None, "for_user": None}


@pytest.mark.parametrize(
    ("mode", "sent", "project"),
    [
        ("off", {}, "site"),
        ("off", {"token": "ben"}, "ben"),
        ("off", {"token": "long" * 50}, None),
        ("off", {"key": "plain"}, "site"),
        ("off", {"key": "plain", "token": "ben"}, "ben"),
        ("off", {"key": "of-ana"}, "ana"),
        ("off", {"key": "acts", "for_user": "ben"}, "ben"),
        ("required", {}, "site"),
        ("required", {"key": "plain"}, "site"),
        ("required", {"key": "of-ana"}, "ana"),
        ("required", {"key": "acts"}, "site"),
        ("required", {"key": "acts", "for_user": "ben"}, "ben"),
        ("required", {"token": "a.jwt"}, None),
        ("required", {"key": "plain", "token": "a.jwt"}, None),
        ("required", {"key": "of another config"}, None),
    ],
)
def test_who_has_a_user_means_the_project_of_that_user(
    mode: str, sent: dict[str, str], project: str | None
) -> None:
    config = loads(f"{SPEC_TEMPLATE}\n[defaults]\nproject_id = 'site'\n", source="elf.toml")
    auth = Auth.model_validate({"mode": mode, "keys": KEYS})
    config = config.model_copy(update={"security": config.security.model_copy(update={"auth": auth})})
    assert config.default_project(**NOBODY | sent) == project
