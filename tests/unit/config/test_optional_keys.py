"""Keys and tables beyond the spec's: what a config file means that leaves them out."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import pytest
from any_value import JSON_LIKE, faults_in, toml
from hypothesis import given
from hypothesis import strategies as st
from spec_template import OPTIONAL_IN_SPEC, REQUIRED_KEYS, SPEC_TEMPLATE, KeyPath, leaves, without

from elf.config import Config, loads
from elf.config.example import example_file
from elf.core.errors import ConfigError


def _with_the_tracing_in_comments(text: str) -> str:
    before, _, after = text.partition("# [tracing]\n")
    shown, gap, rest = after.partition("\n\n")
    return f"{before}[tracing]\n{re.sub(r'(?m)^# ?', '', shown)}{gap}{rest}"


EXAMPLE = _with_the_tracing_in_comments(example_file().read_text(encoding="utf-8"))
KEYS = leaves(tomllib.loads(EXAMPLE))
OF_ONES_OWN = (
    ("scopes", "read_profiles"),
    ("assistant", "allowlists"),
)  # tables whose keys are anybody's to choose
OPTIONAL = [path for path in KEYS if path not in REQUIRED_KEYS and path[:2] not in OF_ONES_OWN]
TABLES = sorted({path[:-1] for path in OPTIONAL} - {path[:-1] for path in REQUIRED_KEYS})
# What the file says in words, because it is not the value shown.
SAID = {
    ("service", "grpc_bind"): None,
    ("search", "cache", "max_payload_bytes"): None,
    ("search", "rerank", "weak_below"): None,
    ("lifecycle", "retention", "hit_days"): 0,
    ("lifecycle", "retention", "decision_days"): 0,
    ("lifecycle", "retention", "version_days"): 0,
    ("graph", "auto_register"): False,
} | {("defaults", key): "" for key in ("tenant_id", "project_id", "agent_id", "scope", "read_profile")}


def test_the_example_has_every_key_of_the_spec_and_many_more() -> None:
    assert set(REQUIRED_KEYS) | OPTIONAL_IN_SPEC <= set(KEYS)
    assert len(OPTIONAL) > 40


@pytest.mark.parametrize("path", REQUIRED_KEYS, ids=".".join)
def test_a_key_of_the_spec_that_is_left_out_of_the_example_is_named(path: KeyPath) -> None:
    with pytest.raises(ConfigError) as caught:
        loads(without(EXAMPLE, path), source="elf.toml")
    assert [fault.key for fault in caught.value.faults] == [".".join(path)]


@pytest.mark.parametrize("path", OPTIONAL, ids=".".join)
def test_any_other_key_left_out_has_the_value_that_is_shown_or_said(path: KeyPath) -> None:
    shown = loads(EXAMPLE, source="elf.toml")
    config = loads(without(EXAMPLE, path), source="elf.toml")
    assert _value(config, path) == (SAID[path] if path in SAID else _value(shown, path))


@pytest.mark.parametrize("table", TABLES, ids=".".join)
def test_an_empty_table_is_one_with_each_key_left_out(table: KeyPath) -> None:
    text = f"{SPEC_TEMPLATE}\n[{'.'.join(table)}]\n"
    emptied = _without_all(EXAMPLE, [path for path in OPTIONAL if path[:-1] == table])
    assert _value(loads(text, source="elf.toml"), table) == _value(loads(emptied, source="elf.toml"), table)


def test_all_optional_keys_may_be_left_out_together() -> None:
    config = loads(_without_all(EXAMPLE, OPTIONAL), source="elf.toml")
    shown = loads(EXAMPLE, source="elf.toml")
    differs = [path for path in OPTIONAL if _value(config, path) != _value(shown, path)]
    assert set(differs) == set(SAID)


def test_without_their_tables_fusion_merging_and_retention_are_the_specs() -> None:
    config = loads(SPEC_TEMPLATE, source="elf.toml")
    fusion, merging = config.search.fusion, config.memory.merging
    assert (fusion.method, fusion.k, fusion.rerank_weight, fusion.retrieval_weight) == ("rrf", 60, 1, 0)
    assert fusion.dense_weight == fusion.bm25_weight
    assert (merging.rule, merging.neighbours) == ("similarity", 1)
    assert config.lifecycle.retention is None
    assert config.service.limits is None
    assert config.search.budget is None


@given(st.sampled_from(OPTIONAL), JSON_LIKE)
def test_any_value_at_an_optional_key_alone_loads_or_is_a_fault_of_that_key(
    path: KeyPath, value: Any
) -> None:
    text = without(EXAMPLE, path)
    table = f"[{'.'.join(path[:-1])}]\n"
    changed = text.replace(f"\n{table}", f"\n{table}{path[-1]} = {toml(value)}\n", 1)
    for fault in faults_in(changed):
        assert fault.key.startswith(".".join(path))


def _value(config: Config, path: KeyPath) -> Any:
    def inner(value: Any, key: str) -> Any:
        return value[key] if isinstance(value, Mapping) else getattr(value, key)

    return reduce(inner, path, config)


def _without_all(text: str, paths: Iterable[KeyPath]) -> str:
    return reduce(without, paths, text)
