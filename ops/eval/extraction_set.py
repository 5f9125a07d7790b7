"""Texts that state something and turns of chats, with what an extractor should find in them, and how it is judged.

tests/unit/data/extraction/texts has notes, transcripts and outputs of workflows. Each names its statements: a type and
the words that make it. What is taken is right when a statement of its type shares characters with it; whatever else is
taken is wrong, and so is all that is taken out of a mere observation, which stays as it is.

turns.jsonl labels a seeded draw of LoCoMo and BEAM turns, which are no part of ELF and are named by their ids only,
with the types of what somebody states in them. An assistant's advice and templates state nothing. Guide to the labels:

- Decision: what somebody chose or agreed on. No doubt, no proposal.
- Preference: what somebody likes or how they want to be served, lasting wishes to an assistant too.
- Identity: who somebody is: name, age, home, origin, health, trade, skills, family and pets.
- Fact: how a thing is, also its limits, rules and dates.
- Event: what happened. In chats also without a date.
- Observation: what somebody noticed, as an impression.
- Goal: what somebody wants to reach. An appointment or an evening out is none, "I keep chasing my dreams" neither.
- Todo: a task that somebody has to do or says they will.

The labels are older than the rules, and one hand made both: what it did not think of is missing in both. Half of the
texts and of the turns, chosen by a hash of their ids, are held out: no rule is made after what they show.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

SET: Final = Path(__file__).parents[2] / "tests" / "unit" / "data" / "extraction"
TYPES: Final = ("Fact", "Preference", "Decision", "Identity", "Event", "Observation", "Goal", "Todo")
COMMITMENTS: Final = frozenset({"Decision", "Goal", "Todo"})
"""What an ordinary turn does not hold."""

SEED: Final = 20261124
DRAWN: Final = (("LoCoMo", 340), ("User", 160), ("Assistant", 60))


@dataclass(frozen=True, slots=True)
class Statement:
    """What a text states: its type, and the words."""

    type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Text:
    """A text and its statements; a text may state nothing."""

    id: str
    text: str
    statements: Sequence[Statement]

    @property
    def is_held_out(self) -> bool:
        return is_held_out(self.id)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a chat; `group` says of which chats, or who speaks."""

    id: str
    group: str
    text: str


def is_held_out(name: str) -> bool:
    """Tell whether what has this id belongs to the half that no rule is made after."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def texts() -> Iterator[Text]:
    """Yield the texts of the set."""
    for path in sorted((SET / "texts").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield _text(json.loads(line))


def labels() -> dict[str, frozenset[str]]:
    """Return the types of what each turn of the draw states, by the turn's id."""
    lines = map(json.loads, (SET / "turns.jsonl").read_text(encoding="utf-8").splitlines())
    return {line["turn"]: frozenset(line["types"]) for line in lines}


def turns_of(files: Iterable[Path]) -> list[Turn]:
    """Return the turns of LoCoMo and BEAM files, in their order. Each begins with who speaks."""
    entries = (entry for file in files for entry in json.loads(file.read_text(encoding="utf-8")))
    return [turn for entry in entries for turn in _turns(entry)]


def drawn(turns: Sequence[Turn]) -> list[Turn]:
    """Draw the turns that are labelled, always the same ones of the same files."""
    random = Random(SEED)
    chosen: list[Turn] = []
    for group, count in DRAWN:
        some = [turn for turn in turns if turn.group == group]
        chosen += random.sample(some, min(count, len(some)))
    return chosen


def _text(line: Mapping[str, Any]) -> Text:
    text = line["text"]
    return Text(line["id"], text, [_statement(text, one) for one in line["statements"]])


def _statement(text: str, given: Mapping[str, str]) -> Statement:
    start = text.index(given["quote"])
    return Statement(given["type"], start, start + len(given["quote"]))


def _turns(entry: Mapping[str, Any]) -> Iterator[Turn]:
    if "conversation" in entry:
        sessions = (value for value in entry["conversation"].values() if isinstance(value, list))
        for turn in (turn for session in sessions for turn in session):
            place = f"{entry['sample_id']}/{turn['dia_id']}"
            yield Turn(place, "LoCoMo", f"{turn['speaker']}: {turn['text']}")
        return
    for message in entry["messages"]:
        speaker = message["role"].capitalize()
        yield Turn(f"chat-{entry['chat']}/{message['id']}", speaker, f"{speaker}: {message['content']}")
