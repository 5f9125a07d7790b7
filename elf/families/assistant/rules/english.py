"""Whether a text is English: only then do rules about English words hold for it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+")

# The commonest little words of English, and of languages that share its letters; none is in both.
_ENGLISH: Final = (
    "the a an and or of to in on at for from with by about is are was were be been has have had does did do will would "
    "can could should not no that this these those it its which who what when where than then as but if so user "
    "prefers likes works lives wants uses i you she they my your his her their our them"
)
_OTHERS: Final = (
    "der die das und ist nicht ein eine einen mit auf zu den dem von ich du er wir ihr sie mein dein im am bei "
    "el la los las de del y que es en un una con por para su mi yo lo le se al muy pero "
    "les des et est une dans pour avec sur pas je tu il elle nous vous mon ma au aux ne "
    "gli di che non per sono mia mio della nel alla "
    "o os da dos das em um uma com não nao eu ele ela meu minha "
    "het een van ik jij hij wij niet op met voor zijn "
    "och att det som ett jag inte på med är av til og jeg ikke "
    "nie się jest na mam"
)
_ENGLISH_WORDS: Final = frozenset(_ENGLISH.split())
_OTHER_WORDS: Final = frozenset(_OTHERS.split()) - _ENGLISH_WORDS


def is_english(text: str) -> bool:
    """Tell whether a text is English, as far as its letters and its little words say; a text without any may be."""
    if any(character.isalpha() and not _is_latin(character) for character in text):
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    ours = sum(word in _ENGLISH_WORDS for word in words)
    theirs = sum(word in _OTHER_WORDS for word in words)
    return ours >= theirs


def _is_latin(character: str) -> bool:
    return character.isascii() or unicodedata.name(character, "").startswith("LATIN")
