"""What counts as blank: nothing of it can be seen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.blank_text import is_blank

# Default_Ignorable_Code_Point of DerivedCoreProperties.txt, Unicode 17.
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip
UNSEEN = {chr(point) for first, last in IGNORABLE for point in range(first, last + 1)}
UNSEEN |= {
    chr(point)
    for point in range(0x110000)
    if unicodedata.category(chr(point)) in ("Cf", "Zs", "Zl", "Zp") or chr(point).isspace()
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\u200b",
        "\u200b\u200d \ufeff\n",
        "\u00ad",
        "\u2060\u2063",
        "\ufe0f",
        "\U000e0041",
        "\x1c\x1f",
    ],
)
def test_text_of_which_nothing_can_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize(
    "text", ["a", "\u200ba\u200b", ".", "\u00e9", "\u2764\ufe0f", "\U0001f469\u200d\U0001f4bb", "\ufffd"]
)
def test_text_with_anything_to_see_is_not(text: str) -> None:
    assert not is_blank(text)


def test_every_character_that_unicode_calls_unseen_is_blank_and_no_other() -> None:
    judged = {chr(point) for point in range(0x110000) if is_blank(chr(point))}
    # Format characters that are newer than the Unicode of this Python.
    assert judged >= UNSEEN
    assert {unicodedata.category(char) for char in judged - UNSEEN} <= {"Cn", "Mn"}


@given(st.text(alphabet=sorted(UNSEEN - set("\x1c\x1d\x1e\x1f")), max_size=20))
def test_any_number_of_unseen_characters_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(f"{text}.{text}")
