"""[conversations.bounds]: it only raises, and what is refused is named."""

from __future__ import annotations

import pytest
from spec_template import SPEC_TEMPLATE, FaultsOf

from elf.config import loads
from elf.config.tables.conversations import Bounds, ConversationsTable

TABLE = ("[security]\n", "[conversations.bounds]\n{}\n[security]\n")


@pytest.mark.parametrize("key", Bounds.model_fields)
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "true", '"many"', "1000000000"])
def test_what_no_bound_can_be_is_a_fault_of_its_key(faults_of: FaultsOf, key: str, value: str) -> None:
    faults = faults_of((TABLE[0], TABLE[1].format(f"{key} = {value}")))
    assert list(faults) == [f"conversations.bounds.{key}"]
    assert faults[f"conversations.bounds.{key}"].startswith("must be a whole number from ")


@pytest.mark.parametrize("key", Bounds.model_fields)
def test_none_is_lowered_below_what_clients_count_on(faults_of: FaultsOf, key: str) -> None:
    least = getattr(Bounds(), key)
    faults = faults_of((TABLE[0], TABLE[1].format(f"{key} = {least - 1}")))
    assert f"from {least} to" in faults[f"conversations.bounds.{key}"]


@pytest.mark.parametrize(
    ("lines", "key", "problem"),
    [
        ("metadata_bytes = 524289", "metadata_bytes", "must be at most 524288 while body_bytes is 1048576, not 524289"),
        ("content_items = 262145", "content_items",
         "must be at most 262144 while entry_body_bytes is 8388608, not 262145"),
        ("entry_body_bytes = 10000000\ncontent_items = 312501", "content_items",
         "must be at most 312500 while entry_body_bytes is 10000000, not 312501"),
        ("indexed_content_chars = 500001", "indexed_content_chars",
         "must be a whole number from 100000 to 500000, not 500001"),
    ],
)  # fmt: skip
def test_what_no_body_would_hold_is_a_fault_of_its_key(
    faults_of: FaultsOf, lines: str, key: str, problem: str
) -> None:
    assert faults_of((TABLE[0], TABLE[1].format(lines))) == {f"conversations.bounds.{key}": problem}


def test_a_body_that_is_at_fault_says_nothing_of_what_it_holds(faults_of: FaultsOf) -> None:
    faults = faults_of((TABLE[0], TABLE[1].format("body_bytes = 0\nmetadata_bytes = 4000000")))
    assert list(faults) == ["conversations.bounds.body_bytes"]


def test_raised_bounds_are_those_of_the_config_and_the_others_stay() -> None:
    text = SPEC_TEMPLATE.replace(
        TABLE[0], TABLE[1].format("title_chars = 600\nbody_bytes = 4194304\nmetadata_bytes = 2097152")
    )
    bounds = loads(text, source="elf.toml").of(ConversationsTable).bounds
    assert bounds == Bounds(title_chars=600, body_bytes=4 * 1024 * 1024, metadata_bytes=2 * 1024 * 1024)
