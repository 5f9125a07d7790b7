"""The rules of the rule-based extractor: which sentences state something worth keeping, and as what.

A rule is a list of patterns over one sentence, of which one must match. The first rule that matches decides; strict
ones come first. What a guard matches is never kept: questions, guesses, politeness and sentences that mean nothing
without their neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from elf.providers.local.vocabulary import (
    ABOUT_ME,
    DAY,
    DIRECTED,
    HOW,
    I_AM,
    I_HAVE,
    KIN,
    NAME,
    OPENERS,
    PRECISE,
    RELATIVE,
    SOMETHING,
    SPAN,
    TRADE,
    VAGUE,
    WE,
    WE_ARE,
    WE_WILL,
    WHEN,
)

Kind = Literal["preference", "constraint", "decision", "profile", "fact", "plan"]
KeyOf = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of statement: how it is recognised, how much it matters, how sure it is, and its key if it has one.

    `anyone` tells whether it also counts from an assistant, who mostly offers and explains.
    """

    kind: Kind
    states: str
    pattern: re.Pattern[str]
    importance: float
    confidence: float
    key: KeyOf | None = None
    anyone: bool = False


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _named(key: str) -> KeyOf:
    return lambda _: key


def _keyed_by(prefix: str) -> KeyOf:
    """The key is `prefix` and what the group `what` holds: "my favourite colour is ..." -> favorite_colour."""
    return lambda match: re.sub(r"[^a-z0-9]+", "_", f"{prefix} {match['what']}".lower()).strip("_")


RULES: Final = (
    Rule(
        "decision",
        "a decision",
        _any(
            rf"{WE} (?:decided|chose|opted) (?:to|on|that|against|for|not)\b",
            rf"{WE} (?:agreed (?:to|on|that)|settled on|made (?:the|a|our|my) (?:final )?decision)\b",
            rf"{WE_ARE} (?:going|sticking) with\b",
            r"\b(?:we'll|we will|I'll|I will|let's) (?:go|stick) with\b",
            r"\b(?:the|our|my) (?:final )?decision (?:is|was)\b",
        ),
        0.8,
        0.9,
        anyone=True,
    ),
    Rule(
        "constraint",
        "what may not be eaten or drunk",
        _any(
            rf"{I_AM} (?:severely |very |highly )?(?:allergic to|(?:lactose|gluten)[- ]intolerant)\b",
            r"\bI (?:can't|cannot|don't|do not|never) (?:eat|drink) (?!anything\b|much\b|it\b|that\b)\w",
        ),
        0.9,
        0.9,
    ),
    Rule(
        "preference",
        "the language of answers",
        _any(
            r"^(?:please )?(?:always |only )?(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? (?:only )?in "
            r"(?:dutch|english|french|german|italian|polish|portuguese|spanish|swedish|turkish)\b",
            r"\bmy preferred language is\b",
            r"\bI prefer (?:answers|replies|responses) in \w+",
        ),
        0.8,
        0.9,
        key=_named("preferred_language"),
    ),
    Rule(
        "constraint",
        "a rule to follow",
        _any(
            rf"^(?:please )?(?:never|always|do not|don't|only|make sure to|avoid) (?:ever )?{DIRECTED}\b",
            r"\b(?:must|shall) (?:never|always|not)\b|\bmustn't\b",
            r"\b(?:should (?:never|always)|may not) (?!be\b|have\b)\w",
            r"^(?:we|all|any|each|every|no|our|the)\b[^,;]*\bmust (?!have\b|feel\b|be (?:so|a|an|fun|hard|nice)\b)\w",
            r"\b(?:is|are) (?:strictly )?(?:not allowed|forbidden|prohibited|mandatory|off[- ]limits)\b",
            r"\b(?:isn't|aren't) allowed\b|\bunder no circumstances\b",
            r"\b(?:we|you) (?:can't|cannot) (?:change|deploy|exceed|ship|spend|store|use)\b",
        ),
        0.8,
        0.85,
    ),
    Rule(
        "constraint",
        "a limit",
        _any(
            r"\b(?:budget|cap|cut-?off|deadline|limit|maximum|minimum|quota) (?:for [\w ]{1,30} )?(?:is|are) "
            rf"[^?]{{0,40}}?(?:\d|\b{DAY})",
            r"\b(?:no (?:more|less|fewer|later) than|at most) [$\d]",
        ),
        0.8,
        0.8,
    ),
    Rule(
        "preference",
        "a favourite",
        _any(
            rf"\bmy (?:all-time |absolute )?favou?rite (?P<what>(?!{VAGUE}\b)\w+(?: \w+)?) "
            r"(?:is|are|has always been)\b"
        ),
        0.6,
        0.9,
        key=_keyed_by("favorite"),
    ),
    Rule(
        "preference",
        "how to be called",
        _any(rf"^(?:please |you can |just )*call me {NAME}\w+"),
        0.8,
        0.9,
        key=_named("preferred_name"),
    ),
    Rule(
        "preference",
        "a preference",
        _any(
            rf"{I_HAVE} (?:prefer|favou?r)\b",
            r"\bI(?:'d| would) (?:much )?rather (?!not say)\w",
            r"\bmy preferred [\w ]{2,30} (?:is|are)\b",
            rf"{I_AM} not (?:a (?:big )?fan of|into|fond of) ",
            rf"{I_AM} (?:a (?:big |huge )?fan of|fond of|passionate about|(?:so |very )?into) {SOMETHING}\w",
        ),
        0.6,
        0.9,
    ),
    Rule(
        "preference",
        "a liking",
        _any(
            rf"\bI{HOW} (?:adore|can't stand|detest|dislike|don't (?:like|enjoy)|enjoy|hate|like|love) {SOMETHING}\w"
        ),
        0.5,
        0.75,
    ),
    Rule(
        "profile",
        "a name",
        _any(rf"\bmy (?:full |first |last )?name(?:'s| is) {NAME}"),
        0.8,
        0.95,
        key=_named("name"),
    ),
    Rule(
        "profile",
        "a place of living",
        _any(rf"\bI(?:'m| am)?{HOW} (?:live|living|based|located) (?:in|near) {NAME}"),
        0.7,
        0.9,
        key=_named("home_location"),
    ),
    Rule(
        "profile",
        "an origin",
        _any(rf"{I_AM} (?:originally )?from {NAME}", r"\bI grew up in\b", r"\bI was born (?:in|on)\b"),
        0.6,
        0.9,
    ),
    Rule(
        "profile",
        "work or study",
        _any(
            rf"\bI{HOW} work (?:as|at|for) (?!home\b|it\b|that\b|night\b|least\b)\w",
            rf"{I_AM} an? (?:[\w-]+ ){{0,3}}?{TRADE}\b",
            rf"{I_AM} (?:studying|majoring in) \w",
            rf"{I_HAVE}(?: have| hold| got) an? (?:[\w']+ ){{0,2}}?(?:degree|diploma|doctorate|phd)\b",
        ),
        0.7,
        0.85,
    ),
    Rule(
        "profile",
        "something about a person",
        _any(
            rf"\bmy (?P<what>{ABOUT_ME}) (?:is|are) (?!going\b|great\b|hard\b|really\b|so\b|stressful\b|very\b)\w"
        ),
        0.7,
        0.9,
        key=_keyed_by(""),
    ),
    Rule(
        "profile",
        "family or pets",
        _any(
            rf"\b(?:I|we)(?:'ve got| have) (?:an?|one|two|three|four|five|\d+) (?:[\w-]+ ){{0,2}}?{KIN}\b",
            rf"\bmy {RELATIVE}(?:'s name)? (?:is|are) (?:(?:named|called) )?{NAME}\w+(?: and {NAME}\w+)?[.,!]?$",
            rf"{I_AM} (?:divorced|engaged|married|single|widowed|\d+ years old|a single (?:mom|mother|dad|father))\b",
        ),
        0.7,
        0.85,
    ),
    Rule(
        "profile",
        "a skill",
        _any(rf"\bI (?:can )?(?:speak {NAME}|play the )\w", rf"{I_AM} fluent in\b"),
        0.6,
        0.8,
    ),
    Rule(
        "plan",
        "a plan",
        _any(
            rf"{WE_ARE} (?:aiming|hoping|intending|planning|scheduled) (?:to|on|for)\b",
            rf"\b(?:I|we){HOW} (?:plan|intend) (?:to|on)\b",
            r"\b(?:my|our|the) (?:long-term |main |next )?(?:aim|goal|plan) is (?:to|that)\b",
            rf"{WE_WILL} (?!be honest\b|catch\b|keep you\b|let you\b|see you\b|talk\b).{{3,120}}?{WHEN}",
            rf"{WHEN},? (?:I'll|I will|I'm|I am|we'll|we will|we're|we are)\b",
            rf"{WE_ARE} \w+ing\b[^,.;!?]{{2,80}}?\b(?:next {SPAN}|tomorrow)\b",
            r"\b(?:is|are) (?:scheduled|planned|due) (?:for|on|by|in)\b",
        ),
        0.5,
        0.8,
    ),
    Rule(
        "fact",
        "an event",
        _any(
            rf"{WE} (?:moved|relocated|migrated|switched) (?:from|here|into|to)\b",
            rf"{WE} (?:adopted|bought|deployed|founded|joined|launched|published|released|shipped) "
            rf"{SOMETHING}(?!in\b)\w",
            rf"{WE} started (?:an?|doing|learning|my|our|playing|taking|teaching|training|working)\b",
            rf"{WE} (?:graduated|enrolled in|signed up (?:for|to)|(?:passed|quit) (?:my|the)|won (?:an?|first|the))\b",
            rf"{WE} got (?:accepted|divorced|engaged|fired|hired|laid off|married|promoted)\b",
            rf"{WE} got an? (?:new )?(?:car|cat|dog|house|job|kitten|puppy)\b",
            rf"{WE} (?:was|were) (?:accepted|diagnosed|elected|hired|promoted)\b",
            rf"{WE} lost (?:my|our) (?:brother|cat|dad|dog|father|job|mom|mother|sister)\b",
        ),
        0.45,
        0.8,
    ),
    Rule(
        "fact",
        "how something is",
        re.compile(
            r"^(?:The|Our|All|Each|Every|[A-Z][\w.-]+)(?: [\w'./-]+){0,6}? (?:are|closes|contains?|costs?|depends?"
            r"|ends?|expires?|is|listens?|lives?|opens|points?|requires?|returns?|runs?|starts?|stores?|supports?|takes?|uses?"
            rf"|was (?:built|created|founded|released))\b(?=.*{PRECISE})"
        ),
        0.4,
        0.7,
    ),
)

ASKED_TO_REMEMBER: Final = _any(
    r"^(?:please )?(?:be aware|do not forget|don't forget|keep in mind|note|remember)(?: that|:) (?=\w)",
    r"^(?:for future reference|for the record|fyi)[,:] (?=\w)",
)
LABELLED: Final = _any(r"^(?P<kind>preference|constraint|decision|profile|fact|plan): (?=\w)")

LEAD_IN: Final = re.compile(
    rf"(?:{OPENERS}(?: {OPENERS})*(?: (?-i:[A-Z])[a-z]+)?[,!:.-]+ +|(?:and|but|so|also|plus),? +)+",
    re.IGNORECASE,
)

QUESTION: Final = re.compile(r"\?[\"')\]]*$")
REDACTED: Final = re.compile(r"\[REDACTED:")
NO_ANTECEDENT: Final = _any(
    r"^(?:because|he|here|how|if|it|maybe|perhaps|she|that|there|these|they|this|those|what|when|which|while|who|why)\b"
)
UNSURE: Final = _any(
    r"\bI (?:bet|could|don't know|doubt|guess|hope|may|might|suppose|think|wish|wonder)\b",
    r"\b(?:maybe|might|not sure|perhaps|probably)\b",
    r"\bI(?:'d| would) (?:like|love) (?:it|some|to|your)\b",
    r"\bcan't wait\b|\blet me (?:check|know|see|think)\b",
    r"\b(?:are|can|could|did|do|have|should|will|would) you\b",
    r"\bwhat if\b|\bas if\b|\bif I\b|\bif we\b|\bfor example\b",
)
UnkeptReason = Literal[
    "REJECT_SECRET",
    "REJECT_QUESTION",
    "REJECT_NO_ANTECEDENT",
    "REJECT_UNSURE",
    "REJECT_TOO_SHORT",
    "REJECT_TOO_LONG",
]
GUARDS: Final[Mapping[UnkeptReason, re.Pattern[str]]] = {
    "REJECT_QUESTION": QUESTION,
    "REJECT_NO_ANTECEDENT": NO_ANTECEDENT,
    "REJECT_UNSURE": UNSURE,
}
"""Why what they match is not kept, as a code; what is REDACTED is not, either."""
