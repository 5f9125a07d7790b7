"""The keys of [security.auth]: what binds them has to be there."""

from __future__ import annotations

import pytest
from spec_template import SPEC_TEMPLATE, FaultsOf

from elf.config import loads

END = "evidence_max_quote_chars = 320\n"
KEY = f'[[security.auth.keys]]\nname = "bot"\nhash = "sha256:{"0" * 64}"\n'


def test_a_key_may_be_bound_to_a_profile_that_is_there() -> None:
    config = loads(f'{SPEC_TEMPLATE}\n{KEY}{KEY}read_profile = "private_only"\n', source="elf.toml")
    assert [key.read_profile for key in config.security.auth.keys] == ["", "private_only"]


@pytest.mark.parametrize("profile", ["everything", "All_Scopes"])
def test_a_key_of_a_profile_that_is_not_there_is_named_by_its_place(
    faults_of: FaultsOf, profile: str
) -> None:
    faults = faults_of((END, f'{END}\n{KEY}{KEY}read_profile = "{profile}"\n'))
    assert list(faults) == ["security.auth.keys[1].read_profile"]
    assert "must be empty or one of scopes.read_profiles (private_only" in next(iter(faults.values()))


def test_a_key_with_a_fault_of_its_own_hides_no_other(faults_of: FaultsOf) -> None:
    keys = f'{KEY}read_profile = 1\n{KEY}read_profile = "nothing"\n'
    faults = faults_of((END, f"{END}\n{keys}"))
    assert {*faults} == {f"security.auth.keys[{place}].read_profile" for place in (0, 1)}
