"""What a statement is about: the key by which two statements are seen to contradict each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

USER: Final = "user"
"""Whom "I" and "my" mean where a text does not name the speaker."""

_NO_WORD: Final = re.compile(r"[^\w.:/%+-]+")
_EDGES: Final = ".:/-_ "


@dataclass(frozen=True, slots=True)
class Key:
    """The subject of a statement, the attribute it tells of it, and the value; in folded words."""

    subject: str
    attribute: str
    value: str

    def contradicts(self, other: Key) -> bool:
        """Tell whether both tell the same attribute of the same subject, and another value.

        Whoever asks sees to it that both statements are of one type.
        """
        same = (self.subject, self.attribute) == (other.subject, other.attribute)
        return same and self.value != other.value


def key_of(subject: str, attribute: str, value: str) -> Key | None:
    """Return the key of these words, or None when a part has none."""
    folded = Key(_folded(subject), _folded(attribute), _folded(value))
    return folded if folded.subject and folded.attribute and folded.value else None


def _folded(words: str) -> str:
    """Return words in small letters, one space between them, without articles and without marks around them."""
    kept = (word.strip(_EDGES) for word in _NO_WORD.sub(" ", words.casefold()).split())
    return " ".join(word for word in kept if word and word not in ("a", "an", "the"))
