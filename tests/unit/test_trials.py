"""The trials: their data is of one form, and a share has an interval."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ops.eval.trials import CHECKS, DATA, Player, Told, interval

ROWS = {
    "caps", "conversation_names", "subclasses", "own_context", "labels", "runs", "two_agents", "agent_filter",
    "system_role", "metadata", "conversation_once", "store_filters", "mcp_arguments", "invalid_text", "cascade",
    "door_code", "openai_messages", "credential_subject", "containment",
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "least", "rows"), [("trials-dev", 80, ROWS), ("trials-guards", 80, {"guard"})]
)
def test_trials_are_of_one_form(file: str, least: int, rows: set[str]) -> None:
    trials = json.loads((DATA / f"{file}.json").read_text(encoding="utf-8"))
    assert len(trials) >= least
    assert max(Counter(one["id"] for one in trials).values()) == 1
    assert {one["row"] for one in trials} == rows
    for one in trials:
        assert one["expect"], one["id"]
        for step in one["steps"]:
            assert hasattr(Player, f"_{step['do']}"), one["id"]
        for check in one["expect"]:
            assert check.keys() & {*CHECKS, "stored", "not_stored"}, one["id"]


@pytest.mark.parametrize(
    ("kind", "wanted", "body", "holds"),
    [
        ("contains", "tea", {"items": [{"text": "green tea"}]}, True),
        ("lacks", "tea", {"items": [{"text": "green tea"}]}, False),
        ("items", 1, {"results": [{"memory": "x"}]}, True),
        ("op", "REJECTED", {"families": [{"written": [{"op": "REJECTED", "reason": "CAP_REACHED"}]}]}, True),
        (
            "reason",
            "CAP_REACHED",
            {"families": [{"written": [{"op": "REJECTED", "reason": "CAP_REACHED"}]}]},
            True,
        ),
        ("reported_as_skipped", 1, {"skipped": [{"index": 0}]}, True),
        ("remaining", True, {"remaining": []}, False),
        ("equals", {"a": 1}, {"a": 1}, True),
    ],
)
def test_a_check_looks_at_an_answer(kind: str, wanted: object, body: object, holds: bool) -> None:
    assert CHECKS[kind](Told(200, body), wanted, {}) is holds


def test_a_share_has_an_interval() -> None:
    low, high = interval(90, 100)
    assert 0.82 < low < 0.9 < high < 0.95
    assert interval(0, 0) == (0.0, 1.0)
