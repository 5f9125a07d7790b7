"""The words of the graph's rules, as parts of patterns: who decides, who is meant, when, and how things are."""

from __future__ import annotations

from typing import Final

from elf.providers.local.vocabulary import DAY, MONTH, RELATIVE, SPAN, TRADE

SEASON: Final = r"(?:spring|summer|autumn|fall|winter)"
MONTHS: Final = rf"(?:{MONTH}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_NTH: Final = r"\d{1,2}(?:st|nd|rd|th)?"
DATE: Final = (
    rf"(?:\d{{4}}-\d\d-\d\d|{_NTH}(?: (?:and|to) {_NTH})? (?:of )?{MONTHS}(?: \d{{4}})?"
    rf"|{MONTHS} {_NTH}(?:,? \d{{4}})?)"
)
HORIZON: Final = (
    rf"(?:\b(?:by|before|within|until|in) (?:the (?:end|{SEASON}|next|first)\b|next\b|{MONTH}|{DAY}|q[1-4]\b|20\d\d"
    rf"|{SEASON}|christmas|black friday|\w+ (?:days|weeks|months|years)|(?:I|we) (?:turn|am|are)\b)"
    rf"|\b(?:next|this) (?:{SPAN}|season|term)\b|\bat \d\d\b)"
)
"""By when somebody wants something."""

GROUP: Final = (
    r"(?:the|our) (?:[\w-]+ ){0,2}?(?:board|committee|council|court|editors|family|group|jury|leadership|management"
    r"|parents|partners|squad|team)"
)
NAMES: Final = r"(?-i:[A-Z][\w.'-]+(?: (?:and )?(?:[A-Z][\w.'-]+|I))?)"
WHO: Final = (
    rf"(?:(?!bet |hope |glad ){NAMES}|(?:my|our) (?:{RELATIVE}|mum|grand\w+|boss|client|neighbou?r)"
    r"|the (?:boss|child|client|customer|designer|kid|owner|patient|team|tenant|user)s?|the children|client|boss"
    r"|most of our \w+)"
)
"""Third persons who like or want something."""

ROLE: Final = (
    rf"(?:{TRADE}|ceo|cto|cfo|coo|chair|treasurer|maintainer|owner|lead|head|officer|clerk|judge|bus driver|firefighter"
    r"|guide|interpreter|physiotherapist|surgeon|violinist|account manager)"
)
ILLNESS: Final = (
    r"(?:adhd|asthma|co?eliac disease|(?:type [12] )?diabetes|dyslexia|epilepsy"
    r"|high blood pressure|migraines)"
)
CONDITION: Final = (
    r"(?:colou?r-?blind|deaf|diabetic|hard of hearing|left-handed|pregnant|retired"
    r"|right-handed|vegan|vegetarian)"
)
PERSON_OF: Final = r"(?:ceo|cto|cfo|boss|manager|lead|doctor|lawyer|accountant|contact|landlord)"

AIM: Final = r"(?:goal|aim|objective|target|ambition|mission|dream)"
_OUTING: Final = (
    r"(?:attend|be there|call|camp|catch|celebrate|chat|come|decide|do a|do some|drop|eat|figure|find|get together|go"
    r"|grab|hang|have|hear|host|join|know|leave|make sure|meet|party|plan|play|return|say|see|spend|stay|stop|take|talk"
    r"|tell|thank|travel|try|understand|visit|watch)\b"
)
DOES: Final = rf"(?!{_OUTING})\w"
"""What may be an aim: no evening out, no question to somebody."""

IS: Final = (
    r"(?:accepts?|allows?|are|begins?|can hold|closes?|contains?|costs?|covers?|depends?|ends?|expires?|gets|has|have"
    r"|holds?|includes?|is|lasts?|leaves?|listens?|lives?|measures?|needs?|opens?|points?|requires?|returns?|runs?|seats?"
    r"|serves?|starts?|stores?|supports?|takes?|tops out|uses?|was (?:built|created|founded|released)|weighs?)"
)
"""How a thing is: verbs of what lasts."""

MUST: Final = (
    r"must (?:not |never |always )?(?:be (?!so|an?\b|hard|fun|nice)\w|carry|contain|follow|have at|include|keep|pass"
    r"|return|run|start|support|use)"
)
KEPT: Final = (
    r"(?:is|are) (?:closed|forbidden|kept|limited|located|mandatory|not allowed|off limits|open"
    r"|protected|stored)"
)
