"""The evaluation of extraction counts what is right, what is wrong and what is missing, and says what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from elf.families.graph.extraction.candidate import Candidate
from elf.families.graph.model import NodeType
from ops.eval import extraction_set as s
from ops.eval.extraction import judged_texts, judged_turns, main


def _candidate(type: NodeType, quote: str, start: int) -> Candidate:
    return Candidate(
        type=type, text=quote, quote=quote, start=start, end=start + len(quote), importance=50, confidence=0.9
    )


def _turn(types: frozenset[str], text: str) -> s.Turn:
    return s.Turn(next(turn for turn, named in s.labels().items() if named == types), "LoCoMo", text)


BOTH = s.Text("a", "I like tea. We met.", [s.Statement("Preference", 0, 11), s.Statement("Event", 12, 19)])


def test_the_right_type_in_the_right_place_is_right_and_what_is_not_found_is_missing() -> None:
    judgement = judged_texts([BOTH], lambda _: [_candidate("Preference", "like tea", 2)])
    assert (judgement.precision, judgement.recall, judgement.faults) == (1.0, 0.5, [])


@pytest.mark.parametrize(("type", "quote", "start"), [("Event", "like tea", 2), ("Preference", "We met", 12)])
def test_another_type_or_another_place_is_wrong_and_is_told(type: NodeType, quote: str, start: int) -> None:
    judgement = judged_texts([BOTH], lambda _: [_candidate(type, quote, start)])
    assert (judgement.precision, judgement.recall) == (0.0, 0.0)
    assert judgement.faults == [f"a: no {type}: {quote}"]


def test_all_that_is_taken_out_of_an_observation_is_wrong_and_leaving_it_alone_misses_nothing() -> None:
    seen = s.Text("b", "The room is loud.", [s.Statement("Observation", 0, 17)])
    assert judged_texts([seen, BOTH], lambda _: []).recall == 0.0
    assert judged_texts([seen], lambda text: [_candidate("Fact", text, 0)]).precision == 0.0


def test_a_quote_that_does_not_stand_at_its_place_is_counted() -> None:
    judgement = judged_texts([BOTH], lambda _: [_candidate("Preference", "love tea", 2)])
    assert judgement.not_verbatim == 1


def test_a_decision_out_of_an_ordinary_turn_is_told_and_a_labelled_one_is_right() -> None:
    ordinary, decided = _turn(frozenset(), "x we chose y"), _turn(frozenset({"Decision"}), "we chose z")

    def extract(text: str) -> Sequence[Candidate]:
        return [_candidate("Decision", "we chose", text.index("we chose"))]

    judgement = judged_turns([ordinary, decided], extract)
    assert (judgement.ordinary, judgement.ordinary_taken, judgement.ordinary_rate) == (1, 1, 1.0)
    assert (judgement.precision, judgement.recall) == (0.5, 1.0)


def test_other_types_out_of_an_ordinary_turn_do_not_count_as_commitments() -> None:
    judgement = judged_turns(
        [_turn(frozenset(), "I like it")], lambda _: [_candidate("Preference", "I like it", 0)]
    )
    assert (judgement.ordinary_rate, judgement.precision) == (0.0, 0.0)


def test_the_draw_is_the_same_each_time_and_takes_so_many_of_each_group() -> None:
    turns = [s.Turn(f"{group}-{place}", group, "") for place in range(400) for group, _ in s.DRAWN]
    drawn = s.drawn(turns)
    assert drawn == s.drawn(turns)
    assert [sum(turn.group == group for turn in drawn) for group, _ in s.DRAWN] == [n for _, n in s.DRAWN]


def test_files_that_the_turns_were_not_drawn_from_are_refused(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    said = {
        "conversation": {"session_1": [{"dia_id": "D1:1", "speaker": "Ann", "text": "Hi"}]},
        "sample_id": "c",
    }
    chat.write_text(
        json.dumps([said, {"chat": "1", "messages": [{"id": 0, "role": "user", "content": "Hi"}]}])
    )
    assert [(turn.id, turn.text) for turn in s.turns_of([chat])] == [
        ("c/D1:1", "Ann: Hi"),
        ("chat-1/0", "User: Hi"),
    ]
    with pytest.raises(SystemExit, match="not those"):
        main([str(chat)])


def test_the_command_prints_precision_by_type_and_what_was_not_verbatim(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"precision [01]\.\d{3}  recall 0\.\d{3}", printed)
    assert "not verbatim 0" in printed
    assert all(type in printed for type in s.TYPES)
