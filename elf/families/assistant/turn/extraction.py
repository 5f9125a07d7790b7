"""What a turn tells that may be worth keeping, by rules: a user's own words, said of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from elf.families.assistant.model import Role
from elf.families.assistant.rules.statements import category_of, statements
from elf.families.assistant.rules.third_person import third_person
from elf.providers.local.extractor import Asked, ranked_notes, unkept

MOST_CANDIDATES: Final = 5
CAP_REACHED: Final = "CAP_REACHED"
"""Of a turn, or of a message that is remembered, no more is kept at once."""
DAILY_CAP: Final = "DAILY_CAP"
LONG_CHARS: Final = 400
"""Of more than so many characters of a user's several things are taken, and of fewer one, unless it is sure."""
SURE: Final = 0.8
STATED_IMPORTANCE: Final = 2
STATED_CONFIDENCE: Final = 0.85
LONGEST_NOTE: Final = 280

_CATEGORIES: Final = MappingProxyType(
    {
        "preference": "preferences", "profile": "profile", "plan": "goals", "decision": "tasks", "constraint": "tasks",
        "fact": "event",
    }
)  # fmt: skip
_ABOUT_A_USER: Final = frozenset({"A rule recognised what may not be eaten or drunk."})
_FAMILY: Final = "A rule recognised family or pets."


@dataclass(frozen=True, slots=True)
class Said:
    """A message, and who among several said it."""

    role: Role
    content: str
    actor_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Something that a user said, as it may be kept; `quote` stands word for word in what was said.

    `fault` says why it cannot be kept, whatever the rules for texts say: it is not what was asked for, or more than is
    kept at once. `part` is the number of the part of the turn that it is of: of each part, so much is kept. One that is
    not counted was not written by an engine, or not looked at; `is_asked` tells whether it was to be remembered then.
    """

    text: str
    category: str | None
    importance: int
    confidence: float
    quote: str
    actor_id: str | None
    fault: str | None = None
    part: int = 0
    is_counted: bool = True
    is_asked: bool = False

    @property
    def weight(self) -> float:
        return self.importance * self.confidence


NOTHING: Final = Candidate(
    text="", category=None, importance=1, confidence=0.0, quote="", actor_id=None, is_counted=False
)
"""What a user says that is not kept, whose words are not needed to say why: with a fault."""
SECRET: Final = "SECRET"


@dataclass(frozen=True, slots=True)
class Extracted:
    """The candidates of a turn in the order in which they were said, and how many statements no pattern fits.

    Those that cannot be kept come last. `several` tells whether more than one may be taken.
    """

    candidates: Sequence[Candidate]
    left: int
    several: bool


def extract(messages: Sequence[Said]) -> Extracted:
    """Return what users tell in messages. Takes time in proportion to their length."""
    users = [message for message in messages if message.role == "user"]
    wire = [{"role": message.role, "content": message.content} for message in users]
    notes, beyond = ranked_notes(wire, Asked(MOST_CANDIDATES, LONGEST_NOTE, ()))
    noted, left = _candidates(notes, users)
    not_noted, left_beyond = _candidates(beyond, users)
    stated = _with_statements(noted, users)
    candidates, further = stated[:MOST_CANDIDATES], stated[MOST_CANDIDATES:]
    several = tells_several(users, candidates)
    taken = candidates if several else best(candidates)
    known = {one.text for one in stated}
    dropped = [*(one for one in candidates if one not in taken), *further]
    dropped += [one for one in not_noted if one.text not in known]
    faulty = [replace(one, fault=CAP_REACHED, is_counted=False) for one in dropped]
    faulty += [
        replace(NOTHING, fault=one.reason.removeprefix("REJECT_"), is_asked=one.is_asked)
        for one in unkept(wire, max_note_chars=LONGEST_NOTE)
    ]
    return Extracted([*taken, *faulty], left + left_beyond, several)


def extract_each(messages: Sequence[Said]) -> Extracted:
    """Return what each message of a user's tells, as a part of the turn."""
    users = [message for message in messages if message.role == "user"]
    found = [extract([message]) for message in users]
    return Extracted(
        [replace(one, part=part) for part, each in enumerate(found) for one in each.candidates],
        sum(each.left for each in found),
        several=True,
    )


def _candidates(notes: Sequence[dict[str, Any]], users: Sequence[Said]) -> tuple[list[Candidate], int]:
    """Return notes as candidates, and how many fit no pattern."""
    found = [_candidate(note, users) for note in notes]
    candidates = [one for one in found if one is not None]
    return candidates, len(found) - len(candidates)


def _with_statements(noted: Sequence[Candidate], users: Sequence[Said]) -> list[Candidate]:
    """Return candidates with those statements about the user that they do not quote, in the order of the messages."""
    said: list[tuple[int, int, Candidate]] = []
    rest = list(noted)
    for number, message in enumerate(users):
        of_message = [
            one for one in rest if one.quote in message.content and one.actor_id == message.actor_id
        ]
        rest = [one for one in rest if one not in of_message]
        spans = [(message.content.index(one.quote), one) for one in of_message]
        said += [(number, start, one) for start, one in spans]
        known = {one.text for _, _, one in said}
        for statement in statements(message.content):
            is_quoted = any(start <= statement.start < start + len(one.quote) for start, one in spans)
            if not is_quoted and statement.text not in known:
                known.add(statement.text)
                candidate = Candidate(
                    text=statement.text, category=statement.category, importance=STATED_IMPORTANCE,
                    confidence=STATED_CONFIDENCE, quote=statement.quote, actor_id=message.actor_id,
                )  # fmt: skip
                said.append((number, statement.start, candidate))
    ordered = [one for _, _, one in sorted(said, key=lambda one: one[:2])]
    return [*ordered, *rest]


def _candidate(note: dict[str, Any], users: Sequence[Said]) -> Candidate | None:
    """Return a note as a candidate; None where it is another speaker's, or fits no pattern."""
    (evidence,) = note["evidence"]
    quote = evidence["quote"]
    body = note["text"].partition(": ")[2]
    text = third_person(quote) if body[1 : len(quote)] == quote[1:] else None
    if text is None:
        return None
    return Candidate(
        text=text, category=_category(note, text), importance=max(1, round(note["importance"] * 4)),
        confidence=note["confidence"], quote=quote, actor_id=users[evidence["message_index"]].actor_id,
    )  # fmt: skip


def _category(note: dict[str, Any], text: str) -> str:
    """Return the category of a note: all values of an attribute are in one, where they can take each other's place."""
    if note["reason"] == _FAMILY:
        return "relationships"
    if (category := category_of(text)) is not None:
        return category
    return "profile" if note["reason"] in _ABOUT_A_USER else _CATEGORIES[note["type"]]


def tells_several(users: Sequence[Said], candidates: Sequence[Candidate]) -> bool:
    """Tell whether several things are taken of a turn, which is long, or surely tells something by the rules."""
    is_long = sum(len(message.content) for message in users) > LONG_CHARS
    return is_long or any(candidate.confidence >= SURE for candidate in candidates)


def best(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the one of candidates that matters most; none of none."""
    return sorted(candidates, key=lambda one: -one.weight)[:1]
