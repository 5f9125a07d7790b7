"""Which sentences ask for a rule: "Never deploy on Fridays", "Prefer trains when there is time"."""

from __future__ import annotations

import re
from typing import Final

from elf.families.knowledge.consolidation.guards import LEAD_IN, PASSING, UNSAID
from elf.families.knowledge.consolidation.statements import plain
from elf.families.knowledge.consolidation.turns import USER, Sentence
from elf.providers.local.vocabulary import DIRECTED

_MORE: Final = (
    r"(?:approve|attach|avoid|back up|bring|call|cancel|cc|charge|clean|comment|compare|confirm|contact|copy|cook"
    r"|deliver|disable"
    r"|disclose|document|double-check|draft|drop|enable|escalate|feed|file|fill|flag|forward|group|hide|hire"
    r"|invite|invoice|lead with"
    r"|leave|link|list|lock|mark|measure|move|name|notify|offer|pack|phone|play|post|prefer|prefix|prepare"
    r"|propose|publish|read|record"
    r"|refer|refund|register|release|remind|rename|replace|report|reschedule|reserve|reset|restart|rotate"
    r"|schedule|seat|sell"
    r"|serve|set|ship|sort|split|start|stick|stop|switch|tag|take|tell|translate|trim|turn|update|validate|verify"
    r"|wait|wash|water"
    r"|wear|wrap)"
)
_DO: Final = rf"(?:{DIRECTED}|{_MORE})\b"
_RULE: Final = re.compile(
    rf"(?:please )?(?:(?:you|we) (?:should|must|have to|need to) )?(?P<rule>(?:always|never|do not|don't|must"
    rf" never|must always|only) (?:ever )?{_DO}.+"
    rf"|(?:make sure|be sure) to (?:always |never )?{_DO}.+"
    r"|avoid (?!it\b|that\b|this\b)[\w-]+ .*\b(?:on|in|at|when|while|during|before|after|with|without|for|if)\b.+"
    r"|prefer (?!it\b|that\b|this\b)[\w-]+ .*\b(?:when|whenever|if|over|for|while)\b.+"
    r"|(?:answer|reply|respond|write|speak)(?: to me)? (?:only )?in (?:dutch|english|french|german|italian|polish"
    r"|portuguese|spanish|swedish|turkish)\b.*"
    r"|use [\w -]{2,40} (?:in|for) (?:all |every |each )?[\w -]{2,40}"
    r"|(?:all|every|each|no) [\w -]{2,60} (?:must|may) (?!have\b|feel\b)[\w-]+ .+)$",
    re.IGNORECASE,
)
_ONCE: Final = re.compile(
    r"\b(?:it|this|that|these|those|them|yet|here|there)\b(?: (?:one|time))?$|^(?:don't|do not) (?:take it|tell"
    r" me|worry)\b|\bthis (?:one|time)\b",
    re.IGNORECASE,
)
_HARMFUL: Final = re.compile(
    r"\b(?:passports?|wire|transfer|wallet|bitcoin|credentials?|tell the user|from the user|attacker|episodes?"
    r"|memor(?:y|ies)|admin)\b",
    re.IGNORECASE,
)
_REASON: Final = re.compile(
    r",? (?:because|since|so that)\b|, (?=(?:I|I'm|I've|my|we|we're|our|it|it's|that|they)\b)|; | [-\u2013\u2014] ",
    re.IGNORECASE,
)
_CONDITIONS: Final = re.compile(r"\b(?:if|unless|until|whether|except for|should|may)\b", re.IGNORECASE)


def rule_of(sentence: Sentence) -> str | None:
    """Return the rule that a sentence asks for, in its words; None when it asks for none, or only for this once.

    What named people tell each other to do is no rule for an agent.
    """
    if sentence.speaker != USER:
        return None
    lead = LEAD_IN.match(sentence.text)
    text = plain(sentence.text if lead is None else sentence.text[lead.end() :])
    match = _RULE.match(text)
    if match is None or PASSING.search(text) or _ONCE.search(text) or _HARMFUL.search(text):
        return None
    unconditional = _CONDITIONS.sub("", text)
    if sentence.text.rstrip().endswith("?") or any(guard.search(unconditional) for guard in UNSAID):
        return None
    rule = _REASON.split(match["rule"])[0]
    return None if len(rule.split()) < 3 else rule[0].upper() + rule[1:]
