"""The rule-based consolidator: takes facts, updates, rules and confirmations out of plainly stated sentences.

It is no language model: it knows a few dozen forms of English sentences, such as "I live in Lisbon" or "The staging
server listens on port 8443", and is silent on all others. What it gives stands in an episode word for word, and the
same prompt always gives the same answer. It stands behind `local:` and answers the prompt of consolidation as a
language model would.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.config.packaged import CONSOLIDATOR_NAME
from elf.families.knowledge.consolidation.answer import MOST_ITEMS
from elf.families.knowledge.consolidation.imperatives import rule_of
from elf.families.knowledge.consolidation.known import Known, is_of_one_kind, key_of, says_no_more
from elf.families.knowledge.consolidation.prompt import Shown, is_consolidation, shown
from elf.families.knowledge.consolidation.statements import Statement, plain, statements_of
from elf.families.knowledge.consolidation.turns import Sentence, sentences_of
from elf.providers.local.answers import LocalAnswer
from elf.providers.port import Prompt


class _Findings:
    """What comes of a batch of episodes, read in their order: of two statements about the same the later one counts."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._stated: dict[tuple[str, str], Statement] = {}
        self._rules: dict[str, str] = {}
        self._confirmed: dict[UUID, None] = {}

    def take(self, sentence: Sentence) -> None:
        """Read one sentence."""
        same = self._known.saying(plain(sentence.text))
        self._confirmed.update(dict.fromkeys(same))
        rule = rule_of(sentence)
        if rule is not None:
            confirmed = self._known.saying(rule)
            self._confirmed.update(dict.fromkeys(confirmed))
            if not confirmed:
                self._rules.setdefault(rule.lower(), rule)
            return
        for statement in statements_of(sentence):
            before = self._stated.pop(key_of(statement), None)
            # A later one that says less takes nothing back.
            says_less = before is not None and says_no_more(statement, before.content)
            self._stated[key_of(statement)] = before if before is not None and says_less else statement

    def answer(self) -> dict[str, Any]:
        """Return the answer, in the form that the prompt asks for."""
        new: list[dict[str, Any]] = []
        updated: list[dict[str, Any]] = []
        for statement in self._stated.values():
            fact = self._known.fact_of(statement)
            if fact is not None and says_no_more(statement, fact.content):
                self._confirmed[fact.id] = None
            elif fact is None:
                new.append({**asdict(statement), "tags": []})
            elif is_of_one_kind(statement, fact):
                updated.append(
                    {
                        "target_id": str(fact.id),
                        "subject": fact.subject,
                        "predicate": fact.predicate,
                        "content": statement.content,
                    }
                )
        replaced = {update["target_id"] for update in updated}
        return {
            "new_facts": new[:MOST_ITEMS],
            "updated_facts": updated[:MOST_ITEMS],
            "new_rules": [{"content": rule, "tags": []} for rule in self._rules.values()][:MOST_ITEMS],
            "confirmations": [str(id) for id in self._confirmed if str(id) not in replaced][:MOST_ITEMS],
        }


def consolidated(told: Shown) -> dict[str, Any]:
    """Return what episodes say beside what is known, in the form that the prompt asks for."""
    findings = _Findings(Known(told.facts, told.rules))
    for sentence in _sentences(told):
        findings.take(sentence)
    return findings.answer()


def _sentences(told: Shown) -> Iterable[Sentence]:
    for episode in told.episodes:
        yield from sentences_of(episode.content)


def _answer(prompt: Prompt) -> str:
    return msgspec.json.encode(consolidated(shown(prompt))).decode()


RULE_BASED_CONSOLIDATION: Final = LocalAnswer(model=CONSOLIDATOR_NAME, knows=is_consolidation, answer=_answer)
