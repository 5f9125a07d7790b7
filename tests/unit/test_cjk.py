"""Which characters are CJK, by the standard's own names of them."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elf.core.cjk import contains_cjk, contains_nul, english_pattern, spaced_cjk

POINTS = range(0x110000)
ASSIGNED = [chr(point) for point in POINTS if unicodedata.name(chr(point), "")]
# What Unicode calls them; the same words stand in the names of other scripts' ideographs.
NAMED_CJK = re.compile(
    r"\b(?:CJK|KANGXI|IDEOGRAPH(?:IC)?|HIRAGANA|KATAKANA|HENTAIGANA|HANGUL|BOPOMOFO|HANGZHOU)\b"
)
OTHERS_NAMED_SO = re.compile(r"^(?:TANGUT|KHITAN|NUSHU)")
OTHER_SCRIPTS = re.compile(
    r"^(?:LATIN|GREEK|CYRILLIC|ARMENIAN|HEBREW|ARABIC|DEVANAGARI|THAI|GEORGIAN|ETHIOPIC|CHEROKEE|MATHEMATICAL|BRAILLE"
    r"|YI |TANGUT|NUSHU|KHITAN|FULLWIDTH|REGIONAL INDICATOR|COMBINING (?!KATAKANA)|HEXAGRAM|MAHJONG"
    r"|VARIATION SELECTOR|TAG )"
)


@pytest.mark.parametrize(
    "char",
    list(
        "\u4e2d\u3042\u30ab\ud55c\u3105\u3001\u300c\u1100\u3131\u31f0\uff76\uffa1\uff61\ua960\ud7b0\uf900\u3400\u31a0"
    )
    + [
        chr(code)
        for code in (0x20000, 0x2A700, 0x2B740, 0x2B820, 0x2CEB0, 0x2EBF0, 0x2F800, 0x30000, 0x323AF, 0x1B000)
    ],
)
def test_every_cjk_block_is_seen(char: str) -> None:
    assert contains_cjk(f"a note with {char} in it")


@pytest.mark.parametrize(
    "text",
    ["", "plain words", "na\xefve caf\xe9", "\u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\U0001f642",
     "\uff21\uff11", "\u2026\u2014\u201d", "\u0e44\u0e17\u0e22", "\ufeff", "\u10ff\u1200", "\uffdd",
     "\U0001f469\u200d\U0001f4bb", "\u2764\ufe0f", "\U0001f1ef\U0001f1f5", "\U0001d49c\U0001d7d8", "e\u0301",
     "\ufe50\ufe60", "\u4dc0", "\U0001f004", "\U00017000", "\U0001b170", "\ua000",
     "\u20a9\u00a5\u20ac", "\u2460\u24b6"],
)  # fmt: skip
def test_other_scripts_pass(text: str) -> None:
    assert not contains_cjk(text)


@pytest.mark.parametrize(
    "char",
    [chr(point) for point in (
        0x2E80, 0x2EF3, 0x2F00, 0x2FD5, 0x2FF0, 0x3190, 0x319F, 0x31C0, 0x31E3, 0x3200, 0x321E, 0x3280, 0x3297, 0x32FF,
        0x3300, 0x338F, 0x33A1, 0x33FF, 0xFE10, 0xFE19, 0xFE30, 0xFE4F, 0xFE51, 0xFFA0, 0xFFDC, 0x02EA, 0x2329, 0x16FE2,
        0x16FE3, 0x16FF0, 0x16FF1, 0x1D372, 0x1F200, 0x1F201, 0x1F21A, 0x1F22F, 0x1F250, 0x1F265,
        0x2EBF0, 0x2EE5D, 0x2FFFD, 0x31350, 0x323AF, 0x323B0, 0x3347B, 0x3FFFD,
    )],
    ids=lambda char: f"U+{ord(char):04X}",
)  # fmt: skip
def test_radicals_forms_enclosed_letters_and_later_extensions_are_seen(char: str) -> None:
    assert contains_cjk(f"a note with {char} in it")


def test_every_character_that_unicode_names_cjk_is_seen() -> None:
    named = {
        char
        for char in ASSIGNED
        if NAMED_CJK.search(unicodedata.name(char)) and not OTHERS_NAMED_SO.match(unicodedata.name(char))
    }
    assert len(named) > 90_000
    assert [char for char in named if not contains_cjk(char)] == []


def test_a_character_that_stands_for_cjk_is_seen_as_what_it_stands_for() -> None:
    hidden = [
        char
        for char in ASSIGNED
        if contains_cjk(unicodedata.normalize("NFKC", char)) and not contains_cjk(char)
    ]
    assert hidden == ["\U0001f12a"]  # a Latin letter in brackets


def test_the_letters_of_other_scripts_are_not_cjk() -> None:
    others = [char for char in ASSIGNED if OTHER_SCRIPTS.match(unicodedata.name(char))]
    assert len(others) > 9_000
    assert [char for char in others if contains_cjk(char)] == []


def test_nul_is_seen() -> None:
    assert contains_nul("a\x00")
    assert not contains_nul("a0")


@given(st.text())
def test_the_pattern_of_json_schema_agrees_with_the_checks(text: str) -> None:
    is_english = re.search(english_pattern(), text) is not None
    assert is_english == (not contains_cjk(text) and not contains_nul(text))


@given(st.integers(0, 0x10FFFF).map(chr))
@example("\x00")
@example("\u1100")
@example("\u9fff")
@example("\U0001aff0")
@example("\U000323af")
@example("\U0003fffd")
@example("\u2f00")
def test_the_pattern_of_json_schema_judges_each_code_point(point: str) -> None:
    is_english = re.search(english_pattern(), f"a{point}b") is not None
    assert is_english == (not contains_cjk(point) and point != "\x00")


@given(st.text())
@example("Tokyo 東京 タワー")
def test_cjk_characters_are_apart_and_nothing_else_is_changed(text: str) -> None:
    spaced = spaced_cjk(text)
    assert spaced.replace(" ", "") == text.replace(" ", "")
    assert all(len(word) == 1 for word in spaced.split(" ") if contains_cjk(word))
    assert contains_cjk(text) or spaced == text
