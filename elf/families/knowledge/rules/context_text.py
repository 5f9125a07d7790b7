"""The block of text that a model is given of what is known: two sections within a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from elf.core.stored_text import inert

HEADER: Final = "# Memory Context\n"
FACTS: Final = "\n## Key Facts\n"
RULES: Final = "\n## Active Rules\n"
CHARS_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The text, and how many of the facts and of the rules are in it: the first ones."""

    text: str
    facts: int
    rules: int


def fact_line(subject: str, predicate: str, content: str, confidence: float) -> str:
    """Return the line of a fact, with its line end."""
    return f"- [{inert(subject)}] [{inert(predicate)}]: {inert(content)} (confidence: {confidence:.2f})\n"


def rule_line(content: str, maturity: str, effectiveness: float) -> str:
    """Return the line of a rule, with its line end."""
    return f"- {inert(content)} (maturity: {maturity}, effectiveness: {effectiveness:.2f})\n"


def assemble(
    facts: Sequence[str], rules: Sequence[str], *, token_budget: int, rules_share: float
) -> ContextBlock:
    """Put lines together, the best first: never more than `token_budget` * 4 characters.

    Of the room below the header rules keep up to `rules_share`, as far as they need it; what either leaves goes to the
    other. A section ends at its first line that does not fit.
    """
    room = token_budget * CHARS_PER_TOKEN - len(HEADER)
    kept_for_rules = _length(RULES, _fitting(RULES, rules, int(room * rules_share)))
    fitting_facts = _fitting(FACTS, facts, room - kept_for_rules)
    left = room - _length(FACTS, fitting_facts)
    fitting_rules = _fitting(RULES, rules, left)
    text = HEADER + _section(FACTS, fitting_facts) + _section(RULES, fitting_rules)
    return ContextBlock(text, len(fitting_facts), len(fitting_rules))


def _fitting(title: str, lines: Sequence[str], room: int) -> Sequence[str]:
    left = room - len(title)
    for count, line in enumerate(lines):
        left -= len(line)
        if left < 0:
            return lines[:count]
    return lines


def _section(title: str, lines: Sequence[str]) -> str:
    return title + "".join(lines) if lines else ""


def _length(title: str, lines: Sequence[str]) -> int:
    return len(title) + sum(map(len, lines)) if lines else 0
