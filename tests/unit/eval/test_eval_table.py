"""Two runs are compared over the same questions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.eval import table
from ops.eval.table import CUTS, compare, paired, read, rows

SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=30)


def run(*recalls: float) -> dict[str, dict[str, float]]:
    return {f"q{number}": dict.fromkeys(CUTS, recall) for number, recall in enumerate(recalls)}


@settings(max_examples=30)
@given(PAIRS)
def test_the_interval_lies_within_the_differences_and_turns_with_them(
    pairs: list[tuple[float, float]],
) -> None:
    old, new = np.array(pairs).T
    there, back = compare(old, new), compare(new, old)
    assert (new - old).min() <= there.low <= there.high <= (new - old).max()
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_the_same_gain_on_every_question_is_certain() -> None:
    both = compare(np.array([0.0, 0.25, 0.5]), np.array([0.5, 0.75, 1.0]))
    assert (both.old, both.new) == (0.25, 0.75)
    assert (both.low, both.high) == pytest.approx((0.5, 0.5))


def test_the_interval_is_that_of_the_normal_approximation_where_there_are_many_questions() -> None:
    rng = np.random.default_rng(7)
    old = rng.uniform(size=800)
    new = old + rng.normal(0.1, 0.2, size=800)
    both = compare(old, new)
    margin = 1.645 * float((new - old).std()) / 800**0.5
    middle = float((new - old).mean())
    assert (both.low, both.high) == pytest.approx((middle - margin, middle + margin), abs=0.002)


def test_runs_are_paired_by_question_and_not_by_place() -> None:
    old = run(0.0, 1.0)
    both = paired(old, dict(reversed(old.items())), "5")
    assert both == (0.5, 0.5, 0.0, 0.0)


def test_runs_of_other_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="only one of the runs asked q1"):
        paired(run(0.5, 0.5), run(0.5), "5")
    with pytest.raises(SystemExit, match="locomo: only one of the runs asked q1"):
        rows({"locomo": run(0.5, 0.5)}, {"locomo": run(0.5)})


def test_the_table_has_a_row_a_set_and_cut_of_what_both_folders_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, sets in {"old": ["beam", "locomo"], "new": ["locomo", "more"]}.items():
        (tmp_path / folder).mkdir()
        for name in sets:
            recalls = run(0.25, 0.5) if folder == "old" else run(0.75, 1.0)
            (tmp_path / folder / f"{name}.recall.json").write_text(json.dumps(recalls), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["table", str(tmp_path / "old"), str(tmp_path / "new")])
    table.main()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:] == [
        *(["locomo", "2", f"@{cut}", "0.375", "0.875", "+0.500", "+0.500", "+0.500"] for cut in CUTS),
        *([f"{name}:", "only", "one", "of", "the", "folders", "has", "it"] for name in ("beam", "more")),
    ]


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"has no file \*\.recall\.json"):
        read(tmp_path)
