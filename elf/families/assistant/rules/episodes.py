"""What was decided or done in a conversation, by rules: a user's own words, said of the user in the past tense."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from elf.core.sentences import sentence_ends
from elf.families.assistant.rules.validators import MAX_CHARS, MAX_SENTENCES, Accepted, accepted

_DONE: Final = re.compile(
    r"^(?:so |then |ok,? |okay,? |and |finally,? )?(?:I|we)(?:'ve| have)? (?:just |finally |now |both )?"
    r"(?P<verb>agreed|booked|bought|cancelled|chose|completed|decided|deployed|finished|fixed|merged|moved|opened|ordered"
    r"|postponed|rejected|released|reviewed|scheduled|sent|settled|shipped|signed|submitted|tested)\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_SAID_OF_OTHERS: Final = re.compile(r"\b(?:I|me|my|mine|we|us|our|you|your)\b", re.IGNORECASE)
_END: Final = re.compile(r"[\s.!;,]+$")


def summed_up(messages: Sequence[str]) -> str | None:
    """Return the last decisions and deeds that messages of a user's tell, at most two; None where they tell none.

    A sentence that speaks of the speakers in another place than at its beginning is left: nobody knows who is meant.
    """
    found: list[str] = []
    for sentence in (one for message in messages for one in _sentences(message)):
        said = _DONE.match(_END.sub("", sentence.replace("\u2019", "'").strip()))
        if said is None or sentence.rstrip().endswith("?") or _SAID_OF_OTHERS.search(said["rest"]):
            continue
        verdict = accepted(f"User {said['verb'].lower()}{said['rest']}.", "episodic")
        if isinstance(verdict, Accepted) and not verdict.trimmed and verdict.text not in found:
            found.append(verdict.text)
    text = ""
    for sentence in reversed(found[-MAX_SENTENCES:]):
        longer = f"{sentence} {text}".strip()
        if len(longer) <= MAX_CHARS:
            text = longer
    return text or None


def _sentences(text: str) -> list[str]:
    sentences, start = [], 0
    for end in sentence_ends(text):
        sentences.append(text[start:end])
        start = end
    return sentences
