"""Questions that nothing in a chat answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ops.eval.chats import Chat, Question
from ops.eval.irrelevant import Asked, questions, renamed, stand_ins

NAMES = st.lists(st.sampled_from(["Ana", "Ben", "Cleo", "Dan", "Eve"]), unique=True)


def chat(name: str, people: list[str], *asked: str) -> Chat:
    own = [Question(f"{name}/{place}", text, frozenset("k"), "any") for place, text in enumerate(asked)]
    return Chat(name, [], own, people)


ONE = chat("one", ["Ana", "Ben"], "Where is Ana's kite?", "Do Ana and Ben sing?", "What rhymes with Anatole?")
TWO = chat("two", ["Cleo"], "What did Cleo paint?")


def texts(place: str, kind: str) -> list[str]:
    return [one.text for one in questions([ONE, TWO]) if one.chat == place and one.kind == kind]


def test_a_chats_own_questions_are_answerable() -> None:
    assert texts("one", "answerable") == [question.text for question in ONE.questions]


def test_another_chats_questions_are_asked_as_they_are() -> None:
    assert texts("two", "other chat") == [question.text for question in ONE.questions]
    assert [one for one in questions([ONE, TWO]) if one.chat == "one" and one.kind == "other chat"] == [
        Asked("one", "two/0", "What did Cleo paint?", "other chat")
    ]


def test_another_chats_questions_are_asked_of_the_people_of_this_one() -> None:
    assert texts("one", "same names") == ["What did Ana paint?"]
    assert texts("two", "same names") == ["Where is Cleo's kite?", "Do Cleo and Cleo sing?"]


def test_of_two_speakers_the_other_is_asked_about_and_only_where_one_is_named() -> None:
    assert texts("one", "other person") == ["Where is Ben's kite?"]
    assert texts("two", "other person") == []


def test_a_chat_that_names_nobody_lends_no_names() -> None:
    nobody = chat("nobody", [], "What time is it?")
    assert [one.kind for one in questions([nobody, TWO]) if one.chat == "nobody"] == [
        "answerable",
        "other chat",
    ]


@given(NAMES, st.lists(st.sampled_from(["Ana", "Ben", "Cleo", "paints", "Anatole"])))
def test_names_that_change_places_can_be_changed_back(people: list[str], words: list[str]) -> None:
    there = stand_ins(people, people[1:] + people[:1])
    back = {new: old for old, new in there.items()}
    text = " ".join(words)
    assert renamed(renamed(text, there), back) == text
