"""The sets of an evaluation: what becomes a note, and which notes answer a question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.eval import beam, locomo
from ops.eval.chats import Chat, Question, recall

KEYS = st.sampled_from("abcdefgh")


def turn(turn_id: str, text: str, **more: str) -> dict[str, str]:
    return {"dia_id": turn_id, "speaker": "Ana", "text": text} | more


CONVERSATION: dict[str, Any] = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_10": [turn("D10:1", "x" * 300)],
        "session_2": [turn("D2:1", "I bought a kite."), turn("D2:2", "See.", blip_caption="a red kite")],
        "session_1": [turn("D1:1", "I moved to Oslo.")],
        "session_1_date_time": "1 May",
    },
    "qa": [
        {"question": "Where?", "evidence": ["D1:1"], "category": 1},
        {"question": "All of it?", "evidence": ["D2:1; D2:2", "D1:1"], "category": 4},
        {"question": "Never said?", "evidence": ["D1:1"], "category": 5},
        {"question": "Lost?", "evidence": ["D7:7"], "category": 2},
    ],
}


def texts(chat: Chat) -> dict[str | None, str]:
    return {note.key: note.text for note in chat.notes}


def test_a_turn_becomes_a_note_in_the_order_of_the_sessions() -> None:
    chat = locomo.chat_of(CONVERSATION)
    assert texts(chat) == {
        "D1:1": "Ana: I moved to Oslo.",
        "D2:1": "Ana: I bought a kite.",
        "D2:2": "Ana: See. [shared image: a red kite]",
        "D10:1": "Ana: " + "x" * 235,
    }
    assert [note.key for note in chat.notes] == ["D1:1", "D2:1", "D2:2", "D10:1"]
    assert chat.people == ["Ana", "Ben"]


def test_a_question_needs_a_category_and_evidence_that_exists() -> None:
    assert locomo.chat_of(CONVERSATION).questions == [
        Question("conv-1/0", "Where?", frozenset({"D1:1"}), "1 multi-hop"),
        Question("conv-1/1", "All of it?", frozenset({"D1:1", "D2:1", "D2:2"}), "4 single-hop"),
    ]


def test_every_second_session_can_be_one_long_note_that_answers_what_its_turns_did() -> None:
    chat = locomo.chat_of(CONVERSATION, long_sessions=True)
    assert texts(chat) == {
        "D1:1": "Ana: I moved to Oslo.",
        "session_2": "Ana: I bought a kite.\nAna: See. [shared image: a red kite]",
        "D10:1": "Ana: " + "x" * 235,
    }
    assert [question.gold for question in chat.questions] == [{"D1:1"}, {"D1:1", "session_2"}]


def test_an_unknown_conversation_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([CONVERSATION]), encoding="utf-8")
    assert [chat.name for chat in locomo.read_chats(str(path), ["conv-1"])] == ["conv-1"]
    with pytest.raises(SystemExit, match=r"--only: .* has no conv-2, but conv-1"):
        locomo.read_chats(str(path), ["conv-2"])


def test_a_message_becomes_a_note_in_the_order_of_the_chat() -> None:
    chat = beam.chat_of(
        {
            "chat": 3,
            "messages": [
                {
                    "id": 0,
                    "role": "user",
                    "content": "My friend Carla, and my kids, Kyle and Amy, like Berlin.",
                },
                {"id": 1, "role": "assistant", "content": "y" * 20_000},
                {"id": 2, "role": "user", "content": "My cousin Amy moved."},
            ],
            "questions": [{"type": "temporal_reasoning", "question": "When?", "source_ids": [2, 0]}],
        }
    )
    assert [(note.key, len(note.text)) for note in chat.notes] == [("m0", 56), ("m1", 16_000), ("m2", 20)]
    assert [note.source_ref for note in chat.notes[:2]] == [{"role": "user"}, {"role": "assistant"}]
    assert chat.questions == [Question("chat-3/0", "When?", frozenset({"m0", "m2"}), "temporal_reasoning")]
    assert chat.people == ["Amy", "Carla", "Kyle"]


@given(st.lists(KEYS, unique=True), st.frozensets(KEYS, min_size=1), st.integers(1, 8))
def test_recall_is_the_share_of_the_gold_among_the_first(
    found: list[str], gold: frozenset[str], cut: int
) -> None:
    share = recall(found, gold, cut)
    assert share * len(gold) == pytest.approx(sum(key in gold for key in found[:cut]))
    assert share <= recall(found, gold, cut + 1) <= 1.0
