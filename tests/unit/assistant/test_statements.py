"""Which sentences of a user's message state something of the user."""

from __future__ import annotations

import pytest

from elf.families.assistant.rules.statements import statements


@pytest.mark.parametrize(
    "content",
    [
        "Caroline: I live in Rome.",
        "> I live in Rome.",
        "```\nI live in Rome.\n```",
        "My password is [REDACTED:password].",
    ],
)
def test_what_somebody_else_says_or_is_redacted_states_nothing(content: str) -> None:
    assert list(statements(content)) == []


def test_the_words_that_prove_a_statement_stand_where_it_says() -> None:
    content = "Answer: I live in Rome.\n\n- I live in Rome."
    found = list(statements(content))
    assert [one.text for one in found] == ["User lives in Rome."] * 2
    assert all(content[one.start :].startswith(one.quote) for one in found)
    assert found[0].start < found[1].start
