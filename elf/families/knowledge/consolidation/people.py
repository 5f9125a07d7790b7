"""What a clause may say of a person, behind the subject: "live in Lisbon", "is allergic to peanuts"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from elf.families.knowledge.consolidation.guards import TRAILING
from elf.families.knowledge.model import Permanence
from elf.providers.local.vocabulary import DAY, HOW, MONTH, RELATIVE, TRADE


@dataclass(frozen=True, slots=True)
class Said:
    """A form of saying something: its group `content` is what is said.

    The predicate may name groups of the pattern, such as "view of {what}".
    """

    predicate: str
    pattern: re.Pattern[str]
    permanence: Permanence = "standard"
    importance: float = 5.0
    takes_negation: bool = False

    def named(self, match: re.Match[str]) -> str:
        """Return the predicate of a match."""
        groups = {
            name: TRAILING.sub("", (text or "").strip(" .,")) for name, text in match.groupdict().items()
        }
        return " ".join(self.predicate.format(**groups).split())[:200]


def _said(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{pattern}$", re.IGNORECASE)


RELATIVES: Final = (
    rf"(?:(?:little|older|younger|big|best) )?(?:{RELATIVE}|friend|grandmother|grandfather|grandma|grandpa|uncle"
    rf"|aunt|cousin"
    r"|nephew|niece|neighbou?r|colleague|roommate)"
)

_BE = rf"(?:'m|am|'re|are|is){HOW}"
_HAVE = rf"(?:'ve|'ve got|have|have got|has|has got){HOW}"
_NO_PLACE = (
    rf"(?!(?:{DAY}|{MONTH}|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|accounting|christmas|easter|engineering|finance"
    r"|free|hr|legal|logistics|marketing|night|operations|product|sales|support)s?\b)"
)
_PLACE = _NO_PLACE + r"(?-i:[A-Z])[\w'.-]*(?:,? (?:de |da |la |of |am |upon )?(?-i:[A-Z])[\w'-]*){0,3}"
_NAME = _NO_PLACE + r"(?-i:[A-Z])[\w&.-]*(?!'s)(?: (?:of |& |and )?(?-i:[A-Z0-9])[\w&.-]*(?!'s)){0,3}"
_REST = r"(?:[ ,].*)?"
_ADVERB = (
    r"(?:(?:absolutely|also|always|both|currently|finally|generally|just|mostly|now|really|recently|still"
    r"|strongly|usually|much) )*"
)
_COUNT = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+)"
_KIN = (
    r"(?:brothers?|cats?|child|children|daughters?|dogs?|grandchildren|grandsons?|kids?|kittens?|parrots?|horses?"
    r"|pupp(?:y|ies)"
    r"|rabbits?|siblings?|sisters?|sons?|stepsons?|twins?)"
)
_COMPANY = rf"(?: with {_COUNT} {_KIN}\b)?"
_LANGUAGES = (
    r"(?:arabic|bengali|catalan|chinese|croatian|czech|danish|dutch|english|farsi|finnish|flemish|french|gaelic"
    r"|german|greek"
    r"|hebrew|hindi|hungarian|icelandic|indonesian|irish|italian|japanese|korean|latin|mandarin|norwegian|persian"
    r"|polish"
    r"|portuguese|punjabi|romanian|russian|serbian|somali|spanish|swahili|swedish|tagalog|tamil|thai|turkish"
    r"|ukrainian|urdu"
    r"|vietnamese|welsh)"
)
_LANGUAGE = rf"(?:(?:a (?:little|bit of)|some|fluent|basic) )?{_LANGUAGES}"
_THING = (
    r"(?!(?:it|that|this|these|those|them|you|your|how|what|when|where|who|him|her|us|me|to|also|too|everywhere|admit|ask|bother|brag|complain|disagree|disappoint|interrupt|nag"
    r"|here|there|be|hear|know|say|see|think|being"
    r"|hearing|seeing|knowing|thinking|the (?:way|idea|fact|sound|look|thought)|every|everything|all|my|our|some"
    r"|something|"
    r"so|such|one|both|doing that)\b)[\w'-]+(?: (?!to\b|that\b|when\b|how\b|about\b|so\b|because\b)[\w'-]+){0,5}"
)
_LIKING = (
    r"(?:adores?|can't stand|detests?|dislikes?|enjoys?|hates?|likes?|loves?|do(?:n't|es not|esn't| not)"
    r" (?:enjoy|like))"
)
_ROLE = (
    r"(?:captain|chair|chairman|chairwoman|chief|deputy|head|lead|leader|maintainer|manager|organiser"
    r"|organizer|owner|president|secretary|treasurer)"
)

PERSONAL: Final = (
    Said(
        "home",
        _said(
            rf"(?:{_BE} )?{_ADVERB}(?:live|lives|living|based|located) in (?P<content>{_PLACE}{_COMPANY}){_REST}"
        ),
        "stable",
        7,
    ),
    Said(
        "home",
        _said(
            rf"(?:'ve |have |has )?{_ADVERB}(?:moved|relocated)(?: back)? (?:from [\w ]{{2,30}} )?to"
            rf" (?P<content>{_PLACE}){_REST}"
        ),
        "stable",
        7,
    ),
    Said(
        "origin",
        _said(
            rf"(?:{_BE} (?:originally )?from|grew up in|was born in|{_ADVERB}comes? from)"
            rf" (?P<content>{_PLACE}){_REST}"
        ),
        "permanent",
        6,
    ),
    Said("birthday", _said(rf"was born on (?P<content>(?:\d|{MONTH}).{{2,20}})"), "permanent", 7),
    Said(
        "diet",
        _said(
            rf"{_BE} (?:an? )?(?:strict )?(?P<content>vegan|vegetarian|pescatarian|(?:lactose|gluten)[-"
            rf" ]intolerant|coeliac|celiac|diabetic|halal|kosher)"
        ),
        "stable",
        8,
    ),
    Said(
        "job",
        _said(
            rf"(?:(?:{_BE}|became) (?:an?|the|our) |(?:{_ADVERB}works? as|got promoted to|was promoted to)"
            rf" (?:(?:an?|the|our) )?)(?P<content>(?:[\w-]+ ){{0,3}}?{TRADE})"
            rf"(?! of (?:life|mine|yours|his|hers|the)\b){_REST}"
        ),
        "stable",
        7,
    ),
    Said(
        "job",
        _said(
            rf"(?:{_ADVERB}works? as an?|got promoted to|was promoted to) (?P<content>[\w-]+(?:"
            rf" [\w-]+){{0,3}}?)(?: (?:at|in|for|on|since|last)\b.*)?"
        ),
        "stable",
        7,
    ),
    Said(
        "role",
        _said(
            rf"{_BE} (?:an?|the|our) (?P<content>(?:[\w-]+ ){{0,3}}?{_ROLE}(?: of (?:the )?[\w' -]{{2,40}})?)"
        ),
        "stable",
        6,
    ),
    Said(
        "employer",
        _said(rf"{_ADVERB}works? (?:at|for) (?P<content>{_NAME}){_REST}"),
        "stable",
        7,
    ),
    Said(
        "employer",
        _said(rf"(?:just |recently )?joined (?P<content>{_NAME})(?: (?:last|in|as) .*)?"),
        "stable",
        7,
    ),
    Said(
        "studies",
        _said(
            rf"(?:{_BE} (?:studying|majoring in)|studies|{_ADVERB}majors? in) (?P<content>(?!for\b|hard\b|a"
            rf" lot\b)[\w-]+(?: (?!in\b|at\b|for\b|with\b)[\w-]+){{0,4}}){_REST}"
        ),
        "stable",
        6,
    ),
    Said(
        "allergy to {what}",
        _said(rf"{_BE} (?:severely |very |highly |deathly )?(?P<content>allergic to (?P<what>{_THING}))"),
        "stable",
        9,
    ),
    Said(
        "view of {what}",
        _said(
            r"(?P<content>(?:do(?:n't| not)|does(?:n't| not)|never) (?:eat|eats|drink|drinks) (?P<what>(?!any"
            r"|much|it\b|that\b|enough)[\w-]+(?: (?!at\b|in\b|on\b)[\w-]+){0,3}))"
        ),
        "stable",
        8,
        takes_negation=True,
    ),
    Said(
        "marital status",
        _said(
            rf"{_BE} (?:happily )?(?P<content>divorced|engaged|married|single|widowed)"
            r"(?:(?: (?:to|since|for|with) (?!my\b|the\b|an?\b|work\b).*)|,.*)?"
        ),
        "stable",
        6,
    ),
    Said("age", _said(rf"{_BE} (?P<content>\d{{1,3}}(?: years old)?)(?:,.*)?"), "stable", 5),
    Said("preferred name", _said(r"(?:goes|go) by (?P<content>(?-i:[A-Z])[\w'-]+)"), "stable", 8),
    Said(
        "languages",
        _said(
            rf"{_ADVERB}(?:can )?(?:speaks?|{_BE} fluent in) (?P<content>{_LANGUAGE}(?:,? (?:and"
            rf" )?{_LANGUAGE})*){_REST}"
        ),
        "stable",
        6,
    ),
    Said(
        "view of {what}",
        _said(rf"{_ADVERB}(?P<content>{_LIKING} (?:to )?(?P<what>{_THING}))(?:,.*)?"),
        takes_negation=True,
    ),
    Said(
        "view of {what}",
        _said(rf"{_BE} an? (?:big |huge |great )?(?P<content>fan of (?P<what>{_THING}))(?:,.*)?"),
    ),
    Said(
        "preference for {what}",
        _said(
            rf"{_ADVERB}(?P<content>prefers? (?!that\b|it\b|not\b|to\b)(?P<what>{_THING}?)(?: (?:over|to|rather"
            rf" than|instead of|than) [^,;]+)?)(?:,.*)?"
        ),
        importance=6,
    ),
    Said(
        "preference to {what}",
        _said(rf"{_ADVERB}(?P<content>prefers? to (?P<what>[\w'-]+(?: [\w'-]+){{0,7}}))(?:,.*)?"),
        importance=6,
    ),
    Said(
        "plan to {what}",
        _said(
            r"(?:'m|am|'re|are|is)? ?(?:still |currently )?(?P<content>(?:planning|aiming|intending|plans?"
            r"|intends?) to (?P<what>[\w'-]+(?: [\w'.,-]+){1,12}))"
        ),
        "volatile",
    ),
    Said(
        "decision {what}",
        _said(
            r"(?:'ve |have |has |just |finally )*(?P<content>(?:decided|agreed|opted|chose) (?P<what>(?:to|that"
            r"|on|against|for) [\w'-]+(?: [\w'.,/-]+){1,14}))"
        ),
        importance=7,
    ),
    Said(
        "{what}",
        _said(
            rf"(?:{_HAVE}|adopted|got) (?P<content>{_COUNT} (?:(?!time\b)[\w-]+ ){{0,2}}?(?P<what>{_KIN})(?:"
            rf" (?:named|called) {_NAME})?)(?:,.*)?"
        ),
        "stable",
        7,
    ),
    Said(
        "degree",
        _said(
            rf"(?:{_HAVE}|holds?|got) (?P<content>an? (?:[\w']+ ){{0,2}}?(?:degree|diploma|doctorate|phd)(?: in"
            rf" [\w -]{{2,40}})?)"
        ),
        "permanent",
        6,
    ),
    Said(
        "uses {content}",
        _said(
            r"uses? (?P<content>(?!it\b|that\b|this\b|them\b|to\b)[\w./-]+(?: [\w./-]+){0,3}? (?:for|as) [\w"
            r" -]{2,40})"
        ),
    ),
)
"""The first form that fits decides."""
