"""Knowing again what ELF itself told: a context that comes back as a message, in whole or in part, says nothing new.

Of each line that a context shows a user, keyed digests of its sentences are kept for a day. In what is remembered,
these are known: behind the head of a line ("[m1] (2026-02-01) ") or of its date alone, in quotation marks, and, where
they are in ELF's own words ("Preference: I prefer tea.", "User prefers tea."), wherever they stand. What a user says
once more in the user's own words is said.
"""

from __future__ import annotations

import hmac
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

import structlog

from elf.core.clock import Clock
from elf.core.errors import ErasureInProgress, Unavailable
from elf.core.sentences import sentence_ends
from elf.core.stored_text import inert
from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.erasing.signing import signer_of
from elf.memory.page import SECTIONS, TITLE
from elf.offers import Message, Subject

KEPT: Final = timedelta(days=1)
DIGEST_BYTES: Final = 16
MOST_SENTENCES: Final = 2000
"""Of a text, and of a context, so many sentences are looked at."""
PURPOSE: Final = "context"

_HEAD: Final = re.compile(
    r"\[m\d{1,3}\] (?:\((?:undated|\d{4}-\d\d-\d\d)(?:, [^()\n]{1,80})?\) )?"
    r"|\((?:undated|\d{4}-\d\d-\d\d)(?:, [^()\n]{1,80})?\) "
)
_QUOTED: Final = re.compile(r"\"([^\"\n]{3,})\"|\u201c([^\u201d\n]{3,})\u201d|(?<!\w)'([^'\n]{3,})'(?!\w)")
_OWN_WORDS: Final = re.compile(r"(?:Preference|Constraint|Decision|Profile|Fact|Plan): |User(?:'s)? ")
_EDGES: Final = " \t\"'\u201c\u201d\u2018\u2019*_>-\u2022.!,;"
_OWN_LINES: Final = frozenset({TITLE, *SECTIONS})

log = structlog.get_logger()


class _Part(NamedTuple):
    """A part of a text from `start` to `end` that may be ELF's own, by the form in which it is known then."""

    start: int
    end: int
    form: str


class OwnContext:
    """Keeps what contexts show, and takes it out of what is remembered."""

    def __init__(self, database: Database, queries: Queries, clock: Clock) -> None:
        self._database = database
        self._sql = queries
        self._clock = clock
        self._key: bytes | None = None

    async def keep(self, subject: Subject, texts: Iterable[str]) -> None:
        """Keep the texts of the items that a context shows a user.

        Where that cannot be written, such as while the user is being erased, they are not known.
        """
        if subject.user is None:
            return
        forms = [form for text in texts for form in _forms(inert(text))]
        if not forms:
            return
        now = self._clock.now()
        try:
            digests = await self._digests(subject, forms[:MOST_SENTENCES])
            async with self._database.connection() as connection:
                await connection.execute(
                    self._sql["keep_context_lines"], subject.tenant_id, subject.user, digests, now + KEPT
                )
        except (Unavailable, ErasureInProgress) as error:
            log.warning("memory.context_not_kept", error=type(error).__name__)

    async def without(self, subject: Subject, messages: Sequence[Message]) -> dict[int, str]:
        """Return the texts of messages without what contexts showed the user of late, by the places of the messages.

        Those that say nothing else are left out.
        """
        if subject.user is None:
            return {place: message.text for place, message in enumerate(messages)}
        parts = [list(_parts(message.text)) for message in messages]
        forms = list(dict.fromkeys(part.form for found in parts for part in found))
        known: set[str] = set()
        if forms:
            digests = await self._digests(subject, forms)
            async with self._database.connection() as connection:
                rows = await connection.fetch(
                    self._sql["known_context_lines"],
                    subject.tenant_id,
                    subject.user,
                    digests,
                    self._clock.now(),
                )
            shown = {bytes(row["digest"]) for row in rows}
            known = {form for form, digest in zip(forms, digests, strict=True) if digest in shown}
        told = {}
        for place, (message, found) in enumerate(zip(messages, parts, strict=True)):
            text = _left(message.text, [part for part in found if part.form in known])
            if text is None:
                told[place] = message.text
            elif text.strip():
                told[place] = text
        return told

    async def drop_expired(self, now: datetime, limit: int) -> int:
        """Remove what was shown long ago; returns how much."""
        async with self._database.connection() as connection:
            return len(await connection.fetch(self._sql["drop_expired_context_lines"], now, limit))

    async def _digests(self, subject: Subject, forms: Sequence[str]) -> list[bytes]:
        if self._key is None:
            signer = await signer_of(self._database, self._sql, self._clock.now())
            self._key = hmac.digest(signer.key, PURPOSE.encode(), "sha256")
        key = hmac.digest(self._key, f"{subject.tenant_id}\0{subject.user}".encode(), "sha256")
        return [hmac.digest(key, form.encode(), "sha256")[:DIGEST_BYTES] for form in forms]


def _forms(text: str) -> Iterator[str]:
    """Yield the forms in which the sentences of a shown text are known."""
    for start, end in _sentences(text, 0, len(text)):
        sentence = text[start:end].strip()
        if plain := _plain(sentence):
            yield f"p{plain}"
            if (label := _OWN_WORDS.match(sentence)) is not None:
                yield f"o{plain}"
                if label[0].endswith(": ") and (said := _plain(sentence[label.end() :])):
                    yield f"p{said}"


def _parts(text: str) -> Iterator[_Part]:
    """Yield the parts of a message that may be known."""
    start = 0
    for line in text.split("\n"):
        yield from _parts_of_line(text, start, start + len(line))
        start += len(line) + 1


def _parts_of_line(text: str, start: int, end: int) -> Iterator[_Part]:
    heads = [head.span() for head in _HEAD.finditer(text, start, end)]
    first = heads[0][0] if heads else end
    for at, to in _sentences(text, start, first):
        if _OWN_WORDS.match(text[at:to].lstrip(_EDGES)) and (plain := _plain(text[at:to])):
            yield _Part(at, to, f"o{plain}")
    for quoted in _QUOTED.finditer(text, start, end):
        group = next(group for group in (1, 2, 3) if quoted[group] is not None)
        if plain := _plain(quoted[group]):
            yield _Part(*quoted.span(), f"p{plain}")
    for (at, behind), (next_at, _) in pairwise([*heads, (end, end)]):
        for number, (begin, to) in enumerate(_sentences(text, behind, next_at)):
            if plain := _plain(text[begin:to]):
                yield _Part(begin if number else at, to, f"p{plain}")


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the places of the sentences of a part of a text."""
    ends = [start, *(start + one for one in sentence_ends(text[start:end]))]
    return [*pairwise(ends)][:MOST_SENTENCES]


def _plain(sentence: str) -> str:
    return " ".join(unicodedata.normalize("NFC", sentence).casefold().split()).strip(_EDGES)


def _left(text: str, known: Sequence[_Part]) -> str | None:
    """Return what is left of a text without the known parts and ELF's own headings; None where that is all of it."""
    if not known and not any(one in text for one in _OWN_LINES):
        return None
    pieces, at = [], 0
    for part in sorted(known):
        if part.start >= at:
            pieces.append(text[at : part.start])
        at = max(at, part.end)
    left = "\n".join([*pieces, text[at:]])
    lines = [line for line in left.split("\n") if line.strip() not in _OWN_LINES]
    return "\n".join(line for line in lines if line.strip(_EDGES + "\n"))
