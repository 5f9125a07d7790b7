"""The keys of [security.auth]: what binds them has to be there."""

from __future__ import annotations

import pytest
from spec_template import SPEC_TEMPLATE, FaultsOf

from elf.config import loads
from elf.config.auth import Auth

END = "evidence_max_quote_chars = 320\n"
KEY = f'[[security.auth.keys]]\nname = "bot"\nhash = "sha256:{"0" * 64}"\n'
OTHER = KEY.replace("0" * 64, "1" * 64)


def test_a_key_may_be_bound_to_a_profile_that_is_there() -> None:
    config = loads(f'{SPEC_TEMPLATE}\n{KEY}{OTHER}read_profile = "private_only"\n', source="elf.toml")
    assert [key.read_profile for key in config.security.auth.keys] == ["", "private_only"]


@pytest.mark.parametrize("profile", ["everything", "All_Scopes"])
def test_a_key_of_a_profile_that_is_not_there_is_named_by_its_place(
    faults_of: FaultsOf, profile: str
) -> None:
    faults = faults_of((END, f'{END}\n{KEY}{OTHER}read_profile = "{profile}"\n'))
    assert list(faults) == ["security.auth.keys[1].read_profile"]
    assert "must be empty or one of scopes.read_profiles (private_only" in next(iter(faults.values()))


def test_a_key_with_a_fault_of_its_own_hides_no_other(faults_of: FaultsOf) -> None:
    keys = f'{KEY}read_profile = 1\n{OTHER}read_profile = "nothing"\n'
    faults = faults_of((END, f"{END}\n{keys}"))
    assert {*faults} == {f"security.auth.keys[{place}].read_profile" for place in (0, 1)}


def beyond_loopback(front: str) -> list[tuple[str, str]]:
    """The changes to the template by which others than this machine reach a front of it."""
    port = {"http_bind": 8080, "mcp_bind": 8081}[front]
    return [
        (f'{front} = "127.0.0.1:{port}"', f'{front} = "0.0.0.0:{port}"'),
        ("bind_localhost_only = true", "bind_localhost_only = false"),
    ]


@pytest.mark.parametrize("front", ["http_bind", "mcp_bind"])
def test_nobody_is_served_unasked_who_comes_from_elsewhere(faults_of: FaultsOf, front: str) -> None:
    faults = faults_of(*beyond_loopback(front))
    assert list(faults) == ["security.auth.mode"]
    assert f"service.{front} is 0.0.0.0" in faults["security.auth.mode"]
    assert "`elf key new NAME`" in faults["security.auth.mode"]


@pytest.mark.parametrize("front", ["http_bind", "mcp_bind"])
def test_with_a_key_the_fronts_may_listen_anywhere(front: str) -> None:
    text = f'{SPEC_TEMPLATE}\n[security.auth]\nmode = "required"\n{KEY}'
    for old, new in beyond_loopback(front):
        assert old in text
        text = text.replace(old, new)
    assert loads(text, source="elf.toml").security.auth.mode == "required"


def test_a_service_that_lets_nobody_in_is_refused(faults_of: FaultsOf) -> None:
    faults = faults_of((END, f'{END}\n[security.auth]\nmode = "required"\n'))
    assert "lets nobody in" in faults["security.auth.mode"]
    assert loads(SPEC_TEMPLATE, source="elf.toml").security.auth == Auth()


def test_a_key_that_is_listed_twice_is_named_by_both_places(faults_of: FaultsOf) -> None:
    faults = faults_of((END, f"{END}\n{KEY}{OTHER}{KEY}"))
    assert list(faults) == ["security.auth.keys[2].hash"]
    assert "security.auth.keys[0]" in faults["security.auth.keys[2].hash"]


def test_secrets_sign_tokens_by_a_file_alone(faults_of: FaultsOf) -> None:
    jwt = '[security.auth.jwt]\nissuer = "https://id.example"\nalgorithms = ["RS256", "HS256"]\n'
    faults = faults_of((END, f"{END}\n{jwt}"))
    assert list(faults) == ["security.auth.jwt.algorithms[1]"]
    loads(f'{SPEC_TEMPLATE}\n{jwt}jwks_file = "keys.json"\n', source="elf.toml")
