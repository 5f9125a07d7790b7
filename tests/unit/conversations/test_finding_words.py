"""The words of texts and queries, what is shown of a text, and how what was found is ordered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elf.core.slices import at_once
from elf.core.words import Stems
from elf.families.conversations.rules.highlights import MAX_WORDS, Highlighter, beginning
from elf.families.conversations.rules.words import MAX_WORD_CHARS, spacing, telling_words_of, words_of

ANY_TEXT = st.text(max_size=300)


@given(ANY_TEXT)
def test_words_are_runs_of_letters_and_digits_that_stay_what_they_are(text: str) -> None:
    words = words_of(text)
    assert all(
        word and len(word) <= MAX_WORD_CHARS and not set(word) & set(" '\"&|!:*()<>\\\0") for word in words
    )
    assert words_of(at_once(spacing(text))) == words


@given(ANY_TEXT, st.sampled_from(["Straße", "ﬁne", "Ⅷ", "harbour", "灯台"]))
def test_a_word_is_found_in_whatever_case_and_form_it_is_written(text: str, word: str) -> None:
    for written in (word, word.upper(), word.casefold()):
        assert words_of(f"{text} {written}")[-len(words_of(word)) :] == words_of(word)


def test_scripts_without_spaces_are_cut_into_characters() -> None:
    assert words_of("我住在Berlin") == ["我", "住", "在", "berlin"]
    assert words_of("Где мой зонт?") == ["где", "мой", "зонт"]


def test_common_words_do_not_count_beside_others() -> None:
    assert telling_words_of("Where is the ferry to the mill") == ["ferry", "mill"]
    assert telling_words_of("to be or not to be") == ["to", "be", "or", "not", "to", "be"]


@given(ANY_TEXT, ANY_TEXT)
def test_what_is_shown_is_of_the_text_and_marks_what_was_asked_for(query: str, text: str) -> None:
    marked = at_once(Highlighter(query, Stems()).marked(text))
    if marked is None:
        assert not set(words_of(text)) & set(telling_words_of(query))
        return
    shown = marked.split(" ")
    assert len(shown) <= MAX_WORDS
    assert " ".join(shown).replace("**", "") in " ".join(text.split()).replace("**", "") or "*" in text


def test_the_part_with_the_most_hits_is_shown() -> None:
    text = f"a lamp {'x ' * 60}the lamp beside the red lamps {'y ' * 60}"
    marked = at_once(Highlighter("lamp", Stems()).marked(text))
    assert marked is not None
    assert marked.startswith("**lamp** beside the red **lamps**")


def test_a_text_without_hits_is_shown_from_its_beginning() -> None:
    assert at_once(Highlighter("boat", Stems()).marked("a lamp")) is None
    assert beginning("a \n lamp" + " x" * 400) == ("a lamp" + " x" * 400)[:200]


def test_a_hit_is_shown_wherever_it_is_in_a_long_text() -> None:
    marked = at_once(
        Highlighter("lighthouse", Stems()).marked(f"{'sea ' * 125_000}the lighthouse {'sky ' * 60}")
    )
    assert marked is not None
    assert marked.startswith("**lighthouse** sky sky")
    assert len(marked.split()) == MAX_WORDS


def test_of_a_script_without_spaces_each_character_is_a_word() -> None:
    marked = at_once(Highlighter("烤鸭", Stems()).marked("我" * 100 + "想吃北京烤鸭。" + "好" * 100))
    assert marked is not None
    assert marked.startswith("**烤鸭**。")
    assert len(marked.replace("**", "")) == MAX_WORDS
