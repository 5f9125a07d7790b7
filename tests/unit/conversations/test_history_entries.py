"""What an entry of the history has to be, in the words of the wire, and what is read out of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.slices import at_once
from elf.families.conversations.errors import RuleBroken
from elf.families.conversations.rules import history
from elf.families.conversations.rules.history import (
    beginning_of,
    check_history,
    of_a_user,
    preview_of,
    text_of,
    title_of,
)

GOOD: dict[str, Any] = {"role": "USER", "text": "Hi"}
LINK: dict[str, Any] = {"href": "https://example.com/a.png", "contentType": "image/png"}


@pytest.mark.parametrize("content_type", ["history", "history/lc4j"])
@pytest.mark.parametrize(
    "block",
    [
        GOOD,
        {"role": "AI", "events": []},
        {"role": "AI", "text": "", "more": 1},
        {"role": "USER", "attachments": [LINK]},
    ],
)
def test_what_may_be_said(content_type: str, block: dict[str, Any]) -> None:
    check_history(content_type, [block])


SHAPE = "History channel content must be an object with 'role' and at least one of 'text', 'events', or 'attachments'"
ROLE = "History channel content must have a 'role' field with value 'USER' or 'AI'"
EMPTY = "History channel content must have at least one of 'text', 'events', or 'attachments'"
AT = "History channel attachment at index"


@pytest.mark.parametrize(
    ("content_type", "content", "said"),
    [
        ("LC4J", [], "History channel entries must use 'history' or 'history/<subtype>' as the contentType"),
        ("history/", [GOOD], "History channel entries must use 'history' or 'history/<subtype>' as the contentType"),
        ("history", [], "History channel entries must contain exactly 1 content object"),
        ("history", [GOOD, GOOD], "History channel entries must contain exactly 1 content object"),
        ("history", ["Hi"], SHAPE),
        ("history", [None], SHAPE),
        ("history", [{}], ROLE),
        ("history", [{"role": "user", "text": "Hi"}], ROLE),
        ("history", [{"role": ["USER"], "text": "Hi"}], ROLE),
        ("history", [{"role": "USER"}], EMPTY),
        ("history", [{"role": "USER", "text": None}], EMPTY),
        ("history", [GOOD | {"events": {}}], "History channel 'events' field must be an array"),
        ("history", [GOOD | {"attachments": "a"}], "History channel 'attachments' field must be an array"),
        ("history", [GOOD | {"attachments": [LINK, 1]}], f"{AT} 1 must be an object"),
        ("history", [GOOD | {"attachments": [{}]}], f"{AT} 0 must have an 'href' or 'attachmentId' field"),
        ("history", [GOOD | {"attachments": [{"href": "a"}]}], f"{AT} 0 must have a 'contentType' field"),
    ],
)  # fmt: skip
def test_what_may_not_be_said_is_told_in_the_words_of_the_wire(
    content_type: str, content: list[Any], said: str
) -> None:
    with pytest.raises(RuleBroken) as error:
        check_history(content_type, content)
    assert error.value.message == said


def test_attachments_by_id_are_refused_until_there_are_uploads() -> None:
    with pytest.raises(RuleBroken, match="attachmentId"):
        check_history("history", [GOOD | {"attachments": [{"attachmentId": "a", "contentType": "b"}]}])


def test_what_a_user_says_is_the_first_block_with_text_or_attachments() -> None:
    content: list[Any] = ["no", {"role": "AI"}, {"role": "AI", "text": "Hi", "events": [1], "more": 2}, GOOD]
    assert of_a_user(content) == {"role": "USER", "text": "Hi"}
    assert of_a_user([{"attachments": [LINK]}]) == {"role": "USER", "attachments": [LINK]}
    for empty in ([], [{"role": "USER"}], ["Hi"]):
        with pytest.raises(RuleBroken, match=r"^Message content is required$"):
            of_a_user(empty)


def test_titles_and_previews_are_the_beginning_of_the_first_text() -> None:
    long = "word " * 50
    content: list[Any] = [{"text": " \n "}, {"text": f"\t{long}\n"}]
    assert at_once(text_of(content)) == long.strip()
    assert title_of(content) == long[:40]
    assert preview_of(content) == long[:100]
    for none in ([], [{"text": 5}], ["text"], [{"text": "  "}]):
        assert beginning_of(none, 100) is None
        assert (at_once(text_of(none)), title_of(none), preview_of(none)) == (None, None, None)


@given(
    st.lists(st.sampled_from(["a", "word", " ", "\n\t", "\u3000", "é", "."]), max_size=60).map("".join),
    st.integers(2, 9),
)
def test_a_text_is_collapsed_piece_by_piece_as_it_is_at_once(text: str, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "_PIECE_CHARS", most)
        assert (at_once(text_of([{"text": text}])) or "") == " ".join(text.split())


def test_the_beginning_of_a_text_is_cut_and_said_to_be_so() -> None:
    content: list[Any] = [{"text": "  one\n two  three"}]
    assert beginning_of(content, 100) == ("one two three", None)
    assert beginning_of(content, 18) == ("one two three", None)
    assert beginning_of(content, 10) == ("one two", 10)
    assert beginning_of(content, 2) is None
