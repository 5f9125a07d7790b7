"""What a turn tells that may be worth keeping, by rules: a user's own words, said of the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from elf.families.assistant.model import Role
from elf.families.assistant.rules.statements import category_of, statements
from elf.families.assistant.rules.third_person import third_person
from elf.providers.local.extractor import Asked, extract_notes

MOST_CANDIDATES: Final = 5
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

    `fault` says why it cannot be kept, whatever the rules for texts say: it is not what was asked for.
    """

    text: str
    category: str | None
    importance: int
    confidence: float
    quote: str
    actor_id: str | None
    fault: str | None = None

    @property
    def weight(self) -> float:
        return self.importance * self.confidence


@dataclass(frozen=True, slots=True)
class Extracted:
    """The candidates of a turn in the order in which they were said, and how many statements no pattern fits.

    `several` tells whether more than one may be taken.
    """

    candidates: Sequence[Candidate]
    left: int
    several: bool


def extract(messages: Sequence[Said]) -> Extracted:
    """Return what users tell in messages. Takes time in proportion to their length."""
    users = [message for message in messages if message.role == "user"]
    wire = [{"role": message.role, "content": message.content} for message in users]
    notes = extract_notes(wire, Asked(MOST_CANDIDATES, LONGEST_NOTE, ()))
    found = [(_candidate(note, users), note) for note in notes]
    noted = [candidate for candidate, _ in found if candidate is not None]
    candidates = _with_statements(noted, users)
    several = tells_several(users, candidates)
    return Extracted(candidates if several else best(candidates), len(found) - len(noted), several)


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
    return [*ordered, *rest][:MOST_CANDIDATES]


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
