"""The words of the rule-based extractor, as parts of patterns: who speaks, when, of what."""

from __future__ import annotations

HOW = (
    r"(?: (?:absolutely|all|already|also|always|both|currently|definitely|finally|generally|just|much|now|really"
    r"|recently|still|strongly|usually))*"
)
I_AM = r"\bI(?:'m| am)" + HOW
I_HAVE = r"\bI(?:'ve| have|'d| would)?" + HOW
WE = r"\b(?:I|we|they|the team|everyone)(?:'ve| have|'d| had)?" + HOW
WE_ARE = r"\b(?:I'm|I am|we're|we are)" + HOW
WE_WILL = r"\b(?:I'll|I will|we'll|we will|(?:I'm|I am|we're|we are) going to)"

DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
SPAN = r"(?:week|weekend|month|year|quarter|sprint|spring|summer|fall|autumn|winter)"
WHEN = (
    rf"\b(?:tomorrow|tonight|(?:next|this) (?:{SPAN}|{DAY}|{MONTH})"
    rf"|(?:on|in|by|before|until) (?:{DAY}|{MONTH}|q[1-4]\b|20\d\d|the end|\w+ (?:days|weeks|months|years)))"
)
DIRECTED = (
    r"(?:add|answer|ask|assume|book|buy|change|check|close|commit|convert|create|delete|deploy|edit|email|explain"
    r"|expose|force|format|give (?!up)|include|install|keep|log|mention|merge|modify|open|order|pay|pin|print|push|put"
    r"|quote|rebase|recommend|remove|reply|respond|return|reveal|review|round|run|send|share|show|sign|skip|squash|store"
    r"|suggest|summari[sz]e|test|touch|upload|use|write)"
)
SOMETHING = (
    r"(?!(?:it|that|this|these|those|them|you|your|how|what|when|where|is|are|was|hearing|seeing|knowing|thinking)\b"
    r"|the (?:way|idea)\b|to(?: (?:be|hear|know|say|see|think)\b|\W*$))"
)
TRADE = (
    r"(?:\w+(?:eer|ologist|ician|ographer|rapist)|accountant|actor|administrator|analyst|architect|artist|author|carpenter"
    r"|chef|coach|consultant|contractor|cook|counsell?or|dancer|dentist|designer|developer|director|doctor|driver"
    r"|editor|electrician|farmer|founder|freelancer|journalist|lawyer|librarian|manager|mechanic|musician|nurse"
    r"|painter|parent|pharmacist|pilot|plumber|professor|programmer|researcher|scientist|singer|student|teacher"
    r"|trainer|translator|tutor|vegan|vegetarian|veteran|writer)"
)
KIN = r"(?:brothers?|cats?|child|children|daughters?|dogs?|kids?|kitten|pets?|puppy|siblings?|sisters?|sons?|twins?)"
RELATIVE = rf"(?:{KIN}|boss|boyfriend|dad|father|girlfriend|husband|manager|mom|mother|partner|wife)"
ABOUT_ME = (
    r"(?:birthday|company|employer|hometown|job title|job|major|mother tongue|nationality|native language|occupation"
    r"|profession|pronouns|role|time ?zone|username)"
)
VAGUE = r"(?:bit|kind|moment|one|part|sort|stuff|thing|time|way)s?"
NAME = r"(?-i:[A-Z])"
PRECISE = r"(?:\d|`|https?://|[a-z]+_[a-z]+|\w\.\w{2,}|/\w|\b[A-Z]{2,}\b|\b[A-Z][a-z]+[A-Z])"

OPENERS = (
    r"(?:absolutely|actually|ah|also|anyway|as for me|awesome|aw|btw|by the way|cool|definitely|for me|great|haha|hello"
    r"|hey|hi|hmm|honestly|lol|me too|nope|no|of course|oh|okay|ok|right|same here|speaking of which|sure|thank you"
    r"|thanks|totally|true|well|wow|yeah|yep|yes|yup)"
)
