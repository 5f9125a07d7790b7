"""Contents and summaries: whitespace collapsed, and summaries made in whole words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.rules.texts import beginning, collapse, summary_of

texts = st.text(st.sampled_from("ab é\t\n\u00a0\u2003🙂."), max_size=200)


@given(text=texts)
def test_a_collapsed_text_has_single_spaces_and_the_same_words(text: str) -> None:
    collapsed = collapse(text)
    assert collapsed.split(" ") == (text.split() or [""])
    assert collapse(collapsed) == collapsed


@given(text=texts, most=st.integers(1, 40))
def test_a_beginning_is_as_many_whole_words_as_fit_unless_they_are_less_than_half(
    text: str, most: int
) -> None:
    collapsed = collapse(text)
    words = collapsed.split(" ")
    fitting = [whole for n in range(len(words) + 1) if len(whole := " ".join(words[:n])) <= most]
    shown = beginning(collapsed, most)
    assert shown == (
        fitting[-1] if 2 * len(fitting[-1]) >= most or len(collapsed) <= most else collapsed[:most].strip()
    )


def test_a_script_without_spaces_is_cut_where_there_is_no_room() -> None:
    assert beginning("重要 " + "記憶" * 100, 20) == "重要 " + "記憶" * 8 + "記"


def test_a_given_summary_is_collapsed_and_kept() -> None:
    assert summary_of("the content", "  a  short\nsummary ") == "a short summary"


def test_a_memory_without_a_summary_gets_the_first_120_characters_in_whole_words() -> None:
    content = " ".join(["word"] * 100)
    assert summary_of(content) == " ".join(["word"] * 24)  # 119 characters; one more word would have 124
    assert summary_of(content, " \n ") == summary_of(content)


def test_a_summary_of_text_without_spaces_is_120_characters() -> None:
    assert summary_of("記憶" * 100) == "記憶" * 60


def test_a_word_that_ends_at_the_limit_stays_whole() -> None:
    assert beginning("abc def", 3) == "abc"
    assert beginning("abcdef", 6) == "abcdef"
