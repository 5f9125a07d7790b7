from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uniseg.sentencebreak import sentence_boundaries

from elf.core.sentences import sentence_ends


def sentences(text: str) -> list[str]:
    ends = list(sentence_ends(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("No stop at all", ["No stop at all"]),
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("It cost 3.5 dollars. He paid.", ["It cost 3.5 dollars. ", "He paid."]),
        ("The U.S.A. flag. It waved.", ["The U.S.A. flag. ", "It waved."]),
        ("See etc. and so on.", ["See etc. and so on."]),
        ("See etc. (\u2014 and so on).", ["See etc. (\u2014 and so on)."]),
        ("He said \u201cGo!\u201d She went.", ["He said \u201cGo!\u201d ", "She went."]),
        ("Really?! Yes... no.", ["Really?! ", "Yes... no."]),
        ("Hello!, he said. Bye.", ["Hello!, he said. ", "Bye."]),
        (
            "One line\r\nand another\nand more\u2029End",
            ["One line\r\n", "and another\n", "and more\u2029", "End"],
        ),
        ("Stop. \r\nGo.", ["Stop. \r\n", "Go."]),
        ("A\u0301.B\u0301 is one. So.", ["A\u0301.B\u0301 is one. ", "So."]),
        ("1.\u200d5 is a number", ["1.\u200d5 is a number"]),
        (".A", [".", "A"]),
        ("\u0301.A", ["\u0301.", "A"]),
    ],
)
def test_sentences_end_where_uax_29_says(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


# The reference implementation does not look past characters of class Other in rule SB8, so none are drawn
# here.
@given(st.text(alphabet="aAbB. .?!,;:()\"'\n\r09\u2029\u0301\u200d-\xe9", max_size=20))
def test_sentences_end_where_the_reference_implementation_says(text: str) -> None:
    assert list(sentence_ends(text)) == list(sentence_boundaries(text))[1:]
