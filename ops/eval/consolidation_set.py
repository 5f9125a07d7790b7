"""The episodes of tests/unit/data/consolidation, what should come of each, and how an answer is judged by it.

Each line is an episode beside facts and rules that are known when it comes. Of a fact each of `subject`, `predicate`
and `content` lists what is taken; a content is right when it holds one of those word for word and is itself a part of
one sentence of the episode. A fact that is known already must come as an update or a confirmation of it, and a rule
must hold the words that it lists. Whatever else comes is wrong.

Half of the episodes, chosen by a hash of their ids, are held out: no rule is made after what they show.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from elf.families.knowledge.consolidation.answer import ConsolidationResult, read_answer
from elf.families.knowledge.consolidation.prompt import (
    ShownEpisode,
    ShownFact,
    ShownRule,
    consolidation_prompt,
)
from elf.providers.port import Prompt

SET: Final = Path(__file__).parents[2] / "tests" / "unit" / "data" / "consolidation"
KINDS: Final = ("facts", "updates", "confirmations", "rules")
MOMENT: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
_EPISODE_IDS: Final = UUID("0c2f34f5-1d5a-4f6e-8f7e-5a1c5b1a9d10")
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019.,:/_-][^\W_]+)*|[$\u20ac]")

_SENTENCE_END: Final = re.compile(r"(?<!\bDr)(?<!\bMr)(?<!\bMs)[.!?]\s")

Answer = Callable[[Prompt], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """An episode and what should come of it."""

    id: str
    episode: str
    known_facts: Sequence[dict[str, Any]]
    known_rules: Sequence[dict[str, Any]]
    facts: Sequence[dict[str, Any]]
    updates: Sequence[dict[str, Any]]
    confirmations: Sequence[str]
    rules: Sequence[str]

    @property
    def is_held_out(self) -> bool:
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 1

    def prompt(self) -> Prompt:
        """Return the prompt that shows it."""
        facts = [ShownFact(**{**fact, "id": UUID(fact["id"])}) for fact in self.known_facts]
        rules = [ShownRule(id=UUID(rule["id"]), content=rule["content"]) for rule in self.known_rules]
        shown = ShownEpisode(id=uuid5(_EPISODE_IDS, self.id), created_at=MOMENT, content=self.episode)
        return consolidation_prompt([shown], facts, rules)


class Score(NamedTuple):
    """How many items were given, how many of them are right, and how many there should be."""

    given: int = 0
    right: int = 0
    expected: int = 0

    def plus(self, other: Score) -> Score:
        return Score(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 1.0


@dataclass(slots=True)
class Judgement:
    """The scores of answers, and in words what was wrong or missing."""

    scores: dict[str, Score] = field(default_factory=lambda: dict.fromkeys(KINDS, Score()))
    faults: list[str] = field(default_factory=list)

    @property
    def told(self) -> Score:
        """The score of facts, new and updated ones together."""
        return self.scores["facts"].plus(self.scores["updates"])


def episodes() -> Iterator[Expected]:
    """Yield the episodes of the set."""
    for path in sorted(SET.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Expected(**json.loads(line))


def judged(chosen: Sequence[Expected], answer: Answer) -> Judgement:
    """Return how right the answers to episodes are, each asked for by itself."""
    judgement = Judgement()
    for one in chosen:
        _judge(one, read_answer(answer(one.prompt())), judgement)
    return judgement


def _judge(one: Expected, result: ConsolidationResult, judgement: Judgement) -> None:
    if not result.found or result.parse_errors:
        judgement.faults.append(f"{one.id}: {'; '.join(result.parse_errors)}")
    given: dict[str, list[Any]] = {
        "facts": [(fact.subject, fact.predicate, fact.content) for fact in result.new_facts],
        "updates": [(str(fact.target_id), fact.content) for fact in result.updated_facts],
        "confirmations": [str(found) for found in result.confirmations],
        "rules": [rule.content for rule in result.new_rules],
    }
    for kind in KINDS:
        _match(one, kind, given[kind], judgement)


def _match(one: Expected, kind: str, given: Sequence[Any], judgement: Judgement) -> None:
    left = list(getattr(one, kind))
    right = 0
    for item in given:
        found = next((wanted for wanted in left if _is_right(one, kind, item, wanted)), None)
        if found is None:
            judgement.faults.append(f"{one.id}: wrong {kind}: {item}")
        else:
            right += 1
            left.remove(found)
    judgement.faults.extend(f"{one.id}: missing {kind}: {wanted}" for wanted in left)
    score = Score(len(given), right, len(getattr(one, kind)))
    judgement.scores[kind] = judgement.scores[kind].plus(score)


def _is_right(one: Expected, kind: str, item: Any, wanted: Any) -> bool:
    if kind == "confirmations":
        return bool(item == wanted)
    if kind == "rules":
        return _holds(item, [wanted]) and _stands_in(one.episode, item)
    if kind == "updates":
        target, content = item
        return bool(target == wanted["target_id"]) and _says(one, content, wanted)
    subject, predicate, content = item
    return (
        subject.lower() in _lower(wanted["subject"])
        and predicate.lower() in _lower(wanted["predicate"])
        and _says(one, content, wanted)
    )


def _says(one: Expected, content: str, wanted: dict[str, Any]) -> bool:
    return _holds(content, wanted["content"]) and _stands_in(one.episode, content)


def _holds(text: str, phrases: Sequence[str]) -> bool:
    return any(f" {_words(phrase)} " in f" {_words(text)} " for phrase in phrases)


def _stands_in(episode: str, text: str) -> bool:
    return _holds(episode, [text]) and _SENTENCE_END.search(text) is None


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _lower(texts: Sequence[str]) -> list[str]:
    return [text.lower() for text in texts]
