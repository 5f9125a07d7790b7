"""[knowledge]: what it is without a key, and what it takes."""

from __future__ import annotations

import tomllib

import pytest
from pydantic import ValidationError

from elf.config.tables.knowledge import KnowledgeTable, Schedule

WEIGHTS = ("relevance", "importance", "recency", "confidence")


@pytest.mark.parametrize("line", ["", "0 4 * * *", "*/5 * * * MON-FRI", "0 0 L * *"])
def test_a_line_of_cron_has_five_fields_or_is_empty(line: str) -> None:
    assert Schedule(decay_sweep=line).decay_sweep == line


@pytest.mark.parametrize("line", [" ", "0 4 * *", "0 0 4 * * *", "61 * * * *", "0 0 31 2 *", "@daily"])
def test_another_line_is_refused_by_its_key(line: str) -> None:
    with pytest.raises(ValidationError, match=r"decay_sweep\n.*is no cron line"):
        Schedule(decay_sweep=line)


def test_a_zone_is_one_of_the_database() -> None:
    assert Schedule(timezone="Europe/Berlin").timezone == "Europe/Berlin"
    with pytest.raises(ValidationError, match=r"timezone\n.*is no time zone"):
        Schedule(timezone="Europe/Nowhere")


def test_default_configuration_values() -> None:
    retrieval = KnowledgeTable().retrieval
    assert (retrieval.context_token_budget, retrieval.default_limit, retrieval.default_mode) == (
        3000,
        20,
        "hybrid",
    )
    assert retrieval.score_weights.model_dump() == {
        "relevance": 0.4, "importance": 0.3, "recency": 0.2, "confidence": 0.1,
    }  # fmt: skip


def test_custom_configuration_overrides() -> None:
    text = """
        max_entries = 5
        [retrieval]
        default_limit = 7
        default_mode = "keyword"
        [retrieval.score_weights]
        recency = 0.9
    """
    table = KnowledgeTable.model_validate(tomllib.loads(text))
    assert (table.max_entries, table.default_ttl_days) == (5, 7)
    assert (table.retrieval.default_limit, table.retrieval.default_mode) == (7, "keyword")
    assert table.retrieval.context_token_budget == 3000
    assert table.retrieval.score_weights.model_dump() == {
        "relevance": 0.4, "importance": 0.3, "recency": 0.9, "confidence": 0.1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("default_limit", {"retrieval": {"default_limit": 0}}),
        ("default_mode", {"retrieval": {"default_mode": "both"}}),
        ("score_weights", {"retrieval": {"score_weights": dict.fromkeys(WEIGHTS, 0)}}),
        ("unknown", {"retrieval": {"unknown": 1}}),
    ],
)
def test_what_retrieval_does_not_take_is_refused_by_its_key(key: str, table: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=key):
        KnowledgeTable.model_validate(table)
