"""The rules of the graph's extractor: which sentences state something, as what, and about what.

They are those of the rule-based extractor of notes, as far as their kinds are types here, and some of the graph's own
for what groups decide, third persons like, and records say. The first rule that matches decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elf.families.graph.extraction.keys import KeyOf, chosen, measured, owned
from elf.families.graph.extraction.wording import (
    AIM,
    CONDITION,
    DOES,
    GROUP,
    HORIZON,
    ILLNESS,
    IS,
    KEPT,
    MUST,
    NAMES,
    PERSON_OF,
    ROLE,
    WHO,
)
from elf.families.graph.model import NodeType
from elf.providers.local.statements import RULES as NOTE_RULES
from elf.providers.local.vocabulary import DAY, I_AM, MONTH, PRECISE, RELATIVE, SOMETHING, WE


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of statement: how it is recognised, how sure it is, and how its key is made, if it has one."""

    type: NodeType
    pattern: re.Pattern[str]
    confidence: float
    key: KeyOf | None = None


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


NOTED: Final[Mapping[str, NodeType]] = MappingProxyType(
    {
        "a decision": "Decision",
        "the language of answers": "Preference",
        "a favourite": "Preference",
        "how to be called": "Preference",
        "a preference": "Preference",
        "a liking": "Preference",
        "a name": "Identity",
        "a place of living": "Identity",
        "an origin": "Identity",
        "work or study": "Identity",
        "something about a person": "Identity",
        "family or pets": "Identity",
        "a skill": "Identity",
        "a limit": "Fact",
    }
)
"""The rules of notes that hold here, by what they state, and the type of that."""


def _noted(type: NodeType) -> Iterator[Rule]:
    for rule in NOTE_RULES:
        if NOTED.get(rule.states) == type:
            yield Rule(type, rule.pattern, rule.confidence, None if rule.key is None else owned(rule.key))


_LATELY: Final = r"(?:last \w+,? |on \w+,? |after [^,]{3,60}, )?"
_HAS: Final = r"(?: has| have| had)?(?: also| now)?"
_CHOICE: Final = (
    r"(?P<chosen>(?!(?:it|that|this|them)\b)[\w.+#-]+(?: (?!for\b)[\w.+#-]+){0,4}?)"
    r" for (?P<what>(?:the|our|my) [\w -]{2,40})(?=[.,;!]|$)"
)

DECISIONS: Final = (
    Rule(
        "Decision",
        _any(
            rf"(?:{WE} (?:went with|settled on)|\b(?:we're|we are|I'm|I am) (?:going|sticking) with"
            rf"|\b(?:let's|we'll|we will) (?:go|stick) with|\bwe (?:chose|picked|selected)) {_CHOICE}"
        ),
        0.9,
        chosen,
    ),
    Rule(
        "Decision",
        _any(
            rf"^{_LATELY}(?:{GROUP}|{NAMES}){_HAS} (?:decided|chosen|chose|opted|voted) "
            r"(?:(?:to|on|that|against|for|not|in favou?r|the)\b|(?-i:[A-Z]))",
            rf"^{_LATELY}{GROUP}{_HAS} (?:agreed|approved|rejected|resolved|ruled)\b",
            r"\bit (?:was|has been) (?:agreed|decided|resolved)\b|^final decision (?:is|was)\b",
            rf"{WE} (?:resolved to|ended up choosing|(?:picked|chose|selected) [\w -]{{2,40}} (?:over|instead of)\b)",
            rf"{WE} chose (?!(?:it|them|him|her)\b)[\w'-]+(?: [\w'-]+){{0,5}}? because\b",
            rf"{WE} (?:picked|selected) (?-i:[A-Z])[\w.-]+ as\b|\bI(?:'ve| have) made up my mind\b",
            r"\b(?:the|our|my) (?:selected|chosen|agreed) (?:approach|design|option|plan|solution|vendor) is\b",
            r"^we(?:'ll| will) (?:adopt|no longer|not support|standardi[sz]e on|use (?-i:[A-Z]))\b",
        ),
        0.9,
    ),
    *_noted("Decision"),
)
"""They go before what happened, and all others after."""

_WANTS: Final = r"(?:want|wants|would like|hope|hopes|plan|plans|am hoping|are hoping|is hoping|are looking)"

_GOALS: Final = (
    Rule(
        "Goal",
        _any(
            rf"\b(?:my|our|their|his|her|the|[\w-]+'s) (?:[\w-]+ ){{0,2}}?{AIM}"
            r"(?: (?:for|of) [\w ]{1,40}?| this \w+)? (?:is|remains) (?:now |still )?(?:(?:to|that|an?)\b|\d)",
            r"\bI(?:'ve| have) set myself the (?:goal|aim) of\b",
            r"\b(?:I|we)(?:'m| am|'re| are) (?:saving up for|working towards?)\b",
            rf"\b(?:I|we|{NAMES}|{GROUP}|the [\w-]+)(?:'m| am|'re| are| is)? (?:aims?|aiming|intends?|intending) "
            rf"(?:to|for) {DOES}",
            rf"(?<!where )(?<!what )\b(?:I|we|{GROUP}|the [\w-]+|{NAMES})(?: also| all| still| really)? {_WANTS} "
            rf"to {DOES}[^?,;]*?{HORIZON}",
            r"\b(?:(?:I|we)(?:'m| am|'re| are)|'d like)(?: also| still| really)? "
            rf"(?:hoping|planning|looking|determined|trying) to {DOES}[^?,;]*?{HORIZON}",
            rf"\bwe'd like to {DOES}[^?,;]*?{HORIZON}|^the plan is to \w+.*?{HORIZON}|(?:^|, |\band )I plan to {DOES}",
            rf"^{HORIZON},? (?:[\w' -]{{1,30}}? )?(?:want|wants|intend|intends|plan|plans|aim|aims) to {DOES}",
        ),
        0.85,
    ),
)

_PREFERENCES: Final = (
    Rule(
        "Preference",
        _any(
            rf"^{WHO} (?:much |really |also )?(?:prefers?|favou?rs|would rather|'d rather)\b",
            rf"^{WHO} (?:really |also )?(?:adores|can't stand|detests|dislikes|doesn't (?:like|enjoy)|enjoys|hates"
            rf"|likes|loves|is fond of) {SOMETHING}\w",
            r"^(?:we|they)(?:'d| would) rather\b|^we (?:also )?(?:like|prefer) our\b",
            r"^(?:please )?(?:never|always|don't|do not|only) (?:\w+ ){1,3}?(?:me|my|to me)\b",
            r"^always \w+ [\w ]{3,60} when I ask\b|^use [\w ]{2,30} when you (?:talk|write|speak) to me\b",
            r"^please (?:always )?(?:keep|give|show|write|send) (?:your |all |me )?(?:answers|replies|responses)\b",
            rf"{I_AM} (?:more of )?an? [\w-]+ person\b",
            rf"{I_AM} very fond of {SOMETHING}|^given the choice,? I\b|\bI never want \w+ in my\b",
        ),
        0.85,
    ),
)

_IDENTITIES: Final = (
    Rule(
        "Identity",
        _any(
            rf"{I_AM} (?:severely |very |highly )?(?:allergic to|(?:lactose|gluten)[- ]intolerant)\b",
            rf"{I_AM} {CONDITION}\b|{I_AM} (?-i:[A-Z]\w+(?:ian|ish|ese|can|ch))[.,!]?$",
            rf"\bI(?:'ve got| have) {ILLNESS}\b",
            rf"\bI(?:'ve| have) been an? (?:[\w-]+ ){{0,2}}?{ROLE} for\b",
            rf"{I_AM} (?:an?|the) (?:[\w-]+ ){{0,3}}?{ROLE}\b",
            r"\bI serve as\b|\bI(?:'ve| have) lived in (?-i:[A-Z])|\bI studied [\w ]{3,30} (?:at|in) (?-i:[A-Z])",
            rf"\bmy (?:{RELATIVE}|dad|mum)(?: (?-i:[A-Z])\w+)? is (?:an? |called |named )(?:[\w-]+ ){{0,2}}?"
            rf"(?:{ROLE}|(?-i:[A-Z])\w+)",
            rf"^(?:our|my) (?:[\w-]+ ){{0,2}}?{PERSON_OF}(?: [\w ]{{2,30}})? is (?-i:[A-Z])\w+",
            rf"^(?-i:[A-Z])[\w.'-]+(?: (?-i:[A-Z])[\w.'-]+){{0,2}} is (?:an?|the|our|my) (?:[\w-]+ ){{0,3}}?"
            rf"(?:{ROLE}|{RELATIVE})\b",
            rf"^the (?:patient|user|client|customer|tenant) is an? (?:[\w-]+ ){{0,3}}?(?:{ROLE}|\w+-old|student)\b",
            r"^(?:(?-i:[A-Z])[\w.'-]+ ){1,3}(?:heads|leads|chairs) (?:the|our)\b|\bmy pronouns are\b",
            r"^we(?:'re| are) an? (?:[\w-]+ ){0,3}?(?:company|family|studio|start-?up|charity|non-?profit)\b",
            rf"{I_AM} (?:the )?(?:eldest|youngest|oldest) of\b|{I_AM} \d+ years old\b",
        ),
        0.85,
    ),
)

_NO_THING: Final = (
    r"(?!(?:A|An|I|We|You|They|He|She|It|This|That|There|What|Here|Wherever|When|Where|If|Before|After|While|Although"
    r"|Since|Unless|Until|As|From|Without|Otherwise|Else|Once|Whether|Because|Must|Ensure)\b)"
)
_THING: Final = r"(?:[\w'./`-]+ ){0,5}?[\w'./`-]+"

_FACTS: Final = (
    Rule(
        "Fact",
        re.compile(
            rf"^(?:(?:The|Our|All|Each|Every) |{_NO_THING}(?=[A-Z`]))(?P<subject>{_THING}) "
            rf"(?:also |always |only |now )?{IS}\b(?=.*{PRECISE})"
        ),
        0.75,
        measured,
    ),
    Rule(
        "Fact",
        _any(
            rf"^(?:the|our|all|each|every) [\w' -]{{2,50}}? (?:{MUST}|{KEPT}\b(?! (?:on|in) (?:that|this|it)\b))",
            r"^no (?:[\w-]+ ){1,3}(?:is|are) (?:allowed|permitted)\b",
            rf"^our [\w ]{{3,30}} (?:begins|starts|ends) (?:in|on) (?:{MONTH}|{DAY})",
        ),
        0.75,
    ),
)

OTHERS: Final = (
    *_GOALS,
    *_noted("Preference"),
    *_PREFERENCES,
    *_noted("Identity"),
    *_IDENTITIES,
    *_noted("Fact"),
    *_FACTS,
)

LABELLED: Final[tuple[tuple[NodeType, re.Pattern[str]], ...]] = (
    (
        "Todo",
        re.compile(
            r"(?:/{2} *)?(?:TODO(?:\([^)]{1,40}\))?|[Tt]o-?do|[Tt]o do|[Aa]ction item)(?::| -) +(?=\S)"
        ),
    ),
    (
        "Decision",
        _any(
            r"\**(?:(?:final )?decision|decided|resolved|approved)(?: \([^)]{1,30}\))?(?:\**:\**| -) +(?=\w)"
        ),
    ),
    (
        "Goal",
        _any(
            r"\**(?:(?:long|short)[- ]term )?(?:goal|aim|objective|okr)(?: for [\w ]{2,20})?\**:\** +(?=\w)"
        ),
    ),
    ("Preference", _any(r"\**preference\**:\** +(?=\w)")),
    ("Identity", _any(r"\**profile\**:\** +(?=\w)")),
    ("Fact", _any(r"\**fact\**:\** +(?=\w)")),
)
"""Words before a colon that say what follows; they are no part of it."""
