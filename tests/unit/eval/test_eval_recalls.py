"""Recall is shown by kind, by chat and over all, and kept by question."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.eval.chats import Question
from ops.eval.recalls import Result, report, write
from ops.eval.table import read


def result(chat: str, kind: str, *recalls: float, degraded: list[str] | None = None) -> Result:
    return Result(chat, Question(f"{chat}/{kind}", "?", frozenset("k"), kind), list(recalls), degraded or [])


FOUND = [
    result("one", "temporal", 0.0, 0.5, 0.5, 1.0, degraded=["rerank"]),
    result("one", "summary", 1.0, 1.0, 1.0, 1.0),
    result("two", "temporal", 0.5, 0.5, 1.0, 1.0, degraded=["rerank", "dense"]),
]


def test_the_means_are_those_of_a_kind_a_chat_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    report(FOUND)
    rows = {line[:28].strip(): line[28:].split() for line in capsys.readouterr().out.splitlines()}
    assert rows["temporal"] == ["2", "0.250", "0.500", "0.750", "1.000"]
    assert rows["summary"] == ["1", "1.000", "1.000", "1.000", "1.000"]
    assert rows["one"] == ["2", "0.500", "0.750", "0.750", "1.000"]
    assert rows["overall"] == ["3", "0.500", "0.667", "0.833", "1.000"]


def test_searches_that_had_to_do_without_a_part_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    report(FOUND)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "searches that had to do without rerank: 2",
        "searches that had to do without dense: 1",
    ]


def test_what_is_written_is_what_the_table_reads(tmp_path: Path) -> None:
    write(tmp_path / "new" / "set.recall.json", FOUND)
    assert read(tmp_path / "new") == {
        "set": {
            "one/temporal": {"5": 0.0, "10": 0.5, "12": 0.5, "20": 1.0},
            "one/summary": {"5": 1.0, "10": 1.0, "12": 1.0, "20": 1.0},
            "two/temporal": {"5": 0.5, "10": 0.5, "12": 1.0, "20": 1.0},
        }
    }
