"""Labels of texts, which are no names of speakers."""

from __future__ import annotations

import pytest

from elf.core.text_labels import is_label


@pytest.mark.parametrize(
    "name",
    [
        "Draft",
        "Answer",
        "Subject",
        "Translation",
        "Final Answer",
        "Example Two",
        "Draft Email",
        "TLDR",
        "Re",
        "PS",
    ],
)
def test_a_label_is_one_by_its_first_or_its_last_word(name: str) -> None:
    assert is_label(name)


@pytest.mark.parametrize("name", ["Ana", "Caroline", "Dr. Okafor", "Ben Carter", "Mary Ann Subjectson"])
def test_a_name_is_no_label(name: str) -> None:
    assert not is_label(name)
