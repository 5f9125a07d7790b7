"""The mixed set of the evaluation of recall: what is in it, and what its lines mean."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ops.eval.memories import Answered, error_of
from ops.eval.mixed import FAMILY_OF, KINDS, Piece, read_household, read_households

HOUSES = read_households()


def test_every_family_holds_as_much_of_the_items_and_about_as_much_of_what_is_asked_for() -> None:
    families = Counter(piece.family for house in HOUSES for piece in house.pieces)
    assert families == dict.fromkeys(FAMILY_OF.values(), 120)
    questions = [question for house in HOUSES for question in house.questions]
    assert len(questions) == 150
    held = Counter(family for one in questions for family in one.kind.split(" and "))
    assert all(30 <= held[family] <= 36 for family in FAMILY_OF.values()), held
    assert sum(len(one.gold) > 1 for one in questions) >= 15


def test_no_two_items_or_questions_are_the_same_and_no_question_is_an_item() -> None:
    for house in HOUSES:
        texts = [piece.text for piece in house.pieces] + [question.text for question in house.questions]
        assert len(set(texts)) == len(texts)
        assert len({piece.key for piece in house.pieces}) == len(house.pieces)
        assert all(text == text.strip() for text in texts)
    facts = [
        piece
        for house in HOUSES
        for piece in house.pieces
        if (piece.family, piece.kind) == ("knowledge", "fact")
    ]
    assert all(len(piece.text.split(" | ")) == 3 for piece in facts)


def test_a_question_has_distractors_of_its_matter_in_other_families() -> None:
    for house in HOUSES:
        for question in house.questions:
            matter = next(iter(question.gold)).split("/")[0]
            others = {
                piece.family
                for piece in house.pieces
                if piece.key.split("/")[0] == matter and piece.key not in question.gold
            }
            assert len(others - set(question.kind.split(" and "))) >= 1, question


def household(folder: Path, *lines: str) -> Path:
    path = folder / "ana.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_lines_say_what_is_kept_by_whom_and_what_answers_a_question(tmp_path: Path) -> None:
    house = read_household(
        household(
            tmp_path, "# tea", "N:plan Buy tea.", "N Tea is dear.", "CA Try oolong.", "", "# cups",
            "KR Wash cups.", "? KR: What is to be cleaned?", "# mugs", "G:Goal Fewer mugs.", "A:goals Own one mug.",
            "? G A: How many?",
        )
    )  # fmt: skip
    assert house.name == "ana"
    assert house.pieces[:3] == [
        Piece("tea/N", "notes", "plan", "Buy tea."),
        Piece("tea/N2", "notes", KINDS["N"], "Tea is dear."),
        Piece("tea/CA", "conversations", "AI", "Try oolong."),
    ]
    assert [(one.id, one.text, sorted(one.gold), one.kind) for one in house.questions] == [
        ("ana/0", "What is to be cleaned?", ["cups/KR"], "knowledge"),
        ("ana/1", "How many?", ["mugs/A", "mugs/G"], "assistant and graph"),
    ]


@pytest.mark.parametrize("line", ["X Nobody's.", "N", "? N: Which?", "? K"])
def test_a_line_that_is_none_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match="tea: "):
        read_household(household(tmp_path, "# tea", "K tea | is | dear", line))


def test_recall_is_the_share_of_the_gold_that_the_first_items_rest_on() -> None:
    found = {
        "recall": [frozenset({"a", "x"}), frozenset[str](), frozenset({"b"})],
        "notes": [frozenset({"c"})],
        "graph": [],
    }
    answered = Answered("q", "graph and notes", frozenset({"a", "b", "c"}), found, ["notes"])
    assert [answered.recall("recall", cut) for cut in (1, 2, 3)] == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert answered.recall("notes", 10) == pytest.approx(1 / 3)
    assert answered.holders() == ["notes", "graph"]
    assert answered.of_holders(10) == pytest.approx(1 / 3)
    assert error_of([0.0, 1.0]) == pytest.approx(0.5)
