from __future__ import annotations

import pytest

from elf.core.errors import InvalidRequest
from elf.core.scopes import AGENT_PRIVATE, ScopeRules, is_readable

ALLOWED = ["agent_private", "project_shared", "org_shared"]
RULES = ScopeRules(
    allowed=ALLOWED,
    read_profiles={"private_only": ["agent_private"], "all_scopes": ALLOWED},
    precedence={"agent_private": 30, "project_shared": 20, "org_shared": 10},
    write_allowed={"agent_private": True, "project_shared": True, "org_shared": False, "elsewhere": True},
)


def test_only_allowed_scopes_are_known() -> None:
    assert RULES.allowed == tuple(ALLOWED)
    assert RULES.is_known(AGENT_PRIVATE)
    assert not RULES.is_known("elsewhere")


@pytest.mark.parametrize(
    ("scope", "writable"),
    [("agent_private", True), ("org_shared", False), ("elsewhere", False), ("unheard_of", False)],
)
def test_only_known_scopes_opened_for_writing_are_writable(scope: str, writable: bool) -> None:
    assert RULES.is_writable(scope) is writable


def test_a_profile_opens_its_scopes() -> None:
    assert RULES.readable("private_only") == ("agent_private",)
    assert RULES.readable("all_scopes") == tuple(ALLOWED)


def test_an_unknown_profile_is_refused_with_the_known_names() -> None:
    with pytest.raises(InvalidRequest, match="private_only, all_scopes") as caught:
        RULES.readable("everything")
    assert caught.value.fields == ("$.read_profile",)


def test_the_nearer_scope_wins_a_tie() -> None:
    assert max(ALLOWED, key=RULES.precedence) == "agent_private"
    with pytest.raises(KeyError):
        RULES.precedence("elsewhere")


def test_later_changes_of_the_data_do_not_reach_the_rules() -> None:
    profiles = {"mine": ["agent_private"]}
    rules = ScopeRules(allowed=["agent_private"], read_profiles=profiles, precedence={}, write_allowed={})
    profiles["mine"].append("org_shared")
    assert rules.readable("mine") == ("agent_private",)


def test_no_scopes_are_nothing_to_read_and_none_is_everything() -> None:
    assert is_readable("agent_private", None)
    assert is_readable("agent_private", ("agent_private",))
    assert not is_readable("agent_private", ("org_shared",))
    assert not is_readable("agent_private", ())
