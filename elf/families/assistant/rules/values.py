"""The value that a statement gives an attribute, where it has the type of the attribute: a place, a name, a number.

"User works at Google" names an organization, and "User works at night" says something else that begins in the same way.
Each type reads a value at the beginning of a text. What follows it may qualify it in ways that change nothing ("now",
"since 2019"), or tell more ("with a sister"); where it limits the value to a part of the time ("on Sundays"), the text
states no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

ValueType: TypeAlias = Literal[
    "place", "organization", "name", "date", "number", "language", "pronouns", "color", "occupation", "thing", "diet",
    "marital status", "token",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it is written; `tells_more` where the text goes on to say something else."""

    text: str
    tells_more: bool = False


_COUNTRIES_AND_TEAMS: Final = (
    "afghanistan|africa|albania|algeria|america|argentina|armenia|asia|australia|austria|bangladesh|belarus|belgium"
    "|bolivia|brazil|bulgaria|cambodia|cameroon|canada|chile|china|colombia|croatia|cuba|cyprus|czechia|denmark|earth"
    "|ecuador|egypt|england|estonia|ethiopia|europe|finland|france|germany|ghana|greece|hungary|iceland|india|indonesia"
    "|iran|iraq|ireland|israel|italy|jamaica|japan|jordan|kazakhstan|kenya|korea|latvia|lebanon|libya|lithuania|malaysia"
    "|malta|mars|morocco|nepal|netherlands|new zealand|nigeria|north america|norway|pakistan|peru|philippines|poland"
    "|portugal|romania|russia|scotland|senegal|serbia|slovakia|slovenia|somalia|south africa|south america|south korea"
    "|spain|sri lanka|sudan|sweden|switzerland|syria|taiwan|tanzania|thailand|tunisia|turkey|uganda|uk|ukraine"
    "|united kingdom|united states|uruguay|us|usa|venezuela|vietnam|wales|zambia|zimbabwe"
    "|accounting|design|engineering|finance|hr|it|legal|linux|mac|marketing|operations|product|research|sales|support"
    "|windows|python|rust"
)
_NO_CITIES: Final = frozenset(_COUNTRIES_AND_TEAMS.split("|"))
_LANGUAGES: Final = (
    "afrikaans|albanian|amharic|arabic|armenian|azerbaijani|basque|belarusian|bengali|bosnian|bulgarian|burmese|cantonese"
    "|castilian|catalan|chinese|croatian|czech|danish|dari|dutch|english|estonian|farsi|filipino|finnish|flemish|french"
    "|galician|georgian|german|greek|gujarati|hausa|hebrew|hindi|hungarian|icelandic|igbo|indonesian|irish|italian"
    "|japanese|kannada|kazakh|khmer|korean|kurdish|kyrgyz|lao|latin|latvian|lithuanian|luxembourgish|macedonian|malay"
    "|malayalam|maltese|mandarin|maori|marathi|mongolian|nepali|norwegian|pashto|persian|polish|portuguese|punjabi"
    "|quechua|romanian|russian|serbian|sinhala|slovak|slovene|slovenian|somali|spanish|swahili|swedish|tagalog|tamil"
    "|telugu|thai|tibetan|turkish|ukrainian|urdu|uzbek|vietnamese|welsh|xhosa|yiddish|yoruba|zulu"
)
LANGUAGE: Final = (
    r"(?:(?:american|argentinian|austrian|brazilian|british|canadian|castilian|european|latin american|mexican"
    rf"|simplified|swiss|traditional) )?(?:{_LANGUAGES})\b"
)
"""The pattern of the name of a language."""
_LANGUAGE: Final = re.compile(LANGUAGE, re.IGNORECASE)
_CALENDAR: Final = re.compile(
    r"^(?:mon|tues|wednes|thurs|fri|satur|sun)days?$"
    r"|^(?:january|february|march|april|june|july|august|september|october|november|december)$"
    r"|^(?:christmas|easter|hanukkah|ramadan|thanksgiving)$",
    re.IGNORECASE,
)
# Whoever says "I'm German" or "I'm Catholic" tells no name.
_NO_NAMES: Final = frozenset(
    (
        f"{_LANGUAGES}|american|argentinian|asian|atheist|australian|austrian|belgian|black|brazilian|british|buddhist"
        "|canadian|capricorn|catholic|christian|colombian|cuban|democrat|egyptian|ethiopian|european|hindu|hispanic"
        "|indian|iranian|iraqi|israeli|jewish|kenyan|latina|latino|lebanese|libra|mexican|moroccan|mormon|muslim"
        "|nigerian|pakistani|peruvian|protestant|republican|scorpio|scottish|sikh|swiss|syrian|taiwanese|taurus|virgo"
        "|white|aries|leo|gemini|pisces|aquarius|sagittarius|cancer|god|ok|okay|fine|user|ai|ceo|cto|cfo|phd|md|rn|tv|usa"
    ).split("|")
)  # fmt: skip
_WORDS_PARTICLES: Final = (
    "al am auf bin da das de del della den der des di do dos du el la las le les los of sur the upon"
    " van von y"
)
_PARTICLES: Final = frozenset(_WORDS_PARTICLES.split())
_JOINS_ORGANIZATIONS: Final = _PARTICLES | {"&", "and", "for"}

_SOME: Final = r"(?:\d+|an?|two|three|four|five|six|seven|eight|nine|ten|many|several|some)"
_WHILE: Final = rf"(?:since|for (?:about |almost |over )?{_SOME} )"
_NOTHING_MORE: Final = re.compile(
    rf"(?:,? ?(?:now|again|too|already|permanently|full[- ]time|instead|actually|please|originally"
    rf"|(?:back )?in (?:\w+ )?\d{4}|{_WHILE}[\w ]+))*$",
    re.IGNORECASE,
)
_MORE: Final = re.compile(
    r"(?:,|;|:| -| \(|,? (?:with|where|which|who|because|but|and|close to|near|next to|as an?|although|though|so)\b)",
    re.IGNORECASE,
)
_PART_OF_THE_TIME: Final = re.compile(
    r"\b(?:on (?:mon|tues|wednes|thurs|fri|satur|sun|week|holi)\w*|at (?:night|weekends|times|the weekend)|every|each"
    r"|during|when|while|until|if|part[- ]time|sometimes|mostly|half|some of|most of"
    r"|in (?:the )?(?:summer|winter|spring|fall|autumn|mornings?|evenings?|afternoons?)|or)\b",
    re.IGNORECASE,
)
_ALSO: Final = re.compile(r"\b(?:also|another|second|too|as well)\b", re.IGNORECASE)


def value_of(text: str, type: ValueType) -> Value | None:
    """Return the value of a type that a text begins with; None where it begins with none."""
    text = text.strip().rstrip(".!").rstrip()
    length = _LENGTHS[type](text)
    if not length:
        return None
    value, rest = text[:length].rstrip(" ,"), text[length:]
    if type == "pronouns" and "/" in value:
        value = value.removesuffix(" pronouns")
    if _NOTHING_MORE.fullmatch(rest):
        return Value(value)
    if _PART_OF_THE_TIME.search(rest) or not _MORE.match(rest):
        return None
    return Value(value, tells_more=True)


def is_city(place: str) -> bool:
    """Tell whether a place may be a city: a country or a continent is none, nor is a team of a company."""
    return place.lower().removeprefix("the ") not in _NO_CITIES


def holds_value(text: str, type: ValueType, *, other_than: str) -> bool:
    """Tell whether a value of a type other than one may stand anywhere in a text about a user.

    It errs on the side of yes, but for what is so a part of the time only, or besides: a text without a value is about
    something else than the attribute.
    """
    known = other_than.lower()
    if _PART_OF_THE_TIME.search(text) or _ALSO.search(text):
        return False
    if type in ("thing", "occupation", "token"):  # any words may be one: those behind the verb count
        verb = re.search(r" (?:is|are|as) ", text)
        return verb is None or value_of(text[verb.end() :], type) is not None
    words = text.replace("User's", "").replace("User", "").split()
    for place, word in enumerate(words):
        rest = " ".join(words[place:])
        if type in ("place", "organization", "name"):
            begins = place == 0 or words[place - 1].endswith((".", "!", "?"))
            plain = word.strip(",.;:!?\"'()")
            if begins or not plain[:1].isupper() or _CALENDAR.match(plain) or plain.lower() in _NO_NAMES:
                continue
            if plain.lower() not in known:
                return True
            continue
        length = _LENGTHS[type](rest)
        if length and rest[:length].lower() != known:
            return True
    return False


def _proper(text: str, joins: frozenset[str], most: int, *, with_commas: bool) -> int:
    """Return the length of the proper noun that a text begins with."""
    end = at = taken = 0
    begins = True
    for word in text.split(" "):
        stop = at + len(word)
        plain = word.rstrip(",;:")
        if not plain or taken == most:
            break
        is_capital = plain[0].isupper() or (
            not begins and plain[0].isdigit() and joins is _JOINS_ORGANIZATIONS
        )
        if is_capital and not _CALENDAR.match(plain):
            end, taken = at + len(plain), taken + 1
        elif plain.lower() not in joins or plain != word:
            break
        if plain != word and not (with_commas and word.endswith(",")):
            break
        at, begins = stop + 1, False
    return end


def _of_place(text: str) -> int:
    return _proper(text, _PARTICLES, 5, with_commas=True)


def _of_organization(text: str) -> int:
    return _proper(text, _JOINS_ORGANIZATIONS, 6, with_commas=False)


def _of_name(text: str) -> int:
    length = _proper(text, _PARTICLES, 4, with_commas=False)
    words = text[:length].split()
    if not words or words[0].lower() in _PARTICLES - {"al", "di", "del", "el", "la", "le"}:
        return 0
    return 0 if any(word.lower().strip(".'") in _NO_NAMES for word in words) else length


_WORDS_NOT_PROPER: Final = (
    "bike train car bus foot plane subway taxi night a an the my no not very too so hard easy difficult long short"
    " old new common rare unusual weird boring unique funny lovely pretty nice great beautiful awesome cool pronounced"
    " spelled spelt important secret private unknown wrong irrelevant missing right simple in at on for to by of is it"
    " that this there here home town out up back later today tomorrow soon again when if crazy mad fear peace pain"
    " hope denial poverty luxury exile harmony comfort silence hiding work abroad heaven hell nowhere somewhere"
    " everywhere anywhere me you him her them us we one two dorms college school student downtown rural urban suburban"
    " city country countryside mountains desert different another bed shared small big large quiet noisy just really"
    " still always never often usually almost quite being trying going outside inside constant total complete"
)
_NOT_PROPER: Final = frozenset(_WORDS_NOT_PROPER.split())
_LOWER_CASE: Final = re.compile(r"[^\W\d_]{2,}(?: [^\W\d_]{2,}){0,2}")


def capitalized(text: str) -> str | None:
    """Return a text as the name that it may be of somebody who writes all in lower case; None where it is none."""
    if _LOWER_CASE.fullmatch(text) is None or not _NOT_PROPER.isdisjoint(text.split()):
        return None
    return " ".join(word if word in _PARTICLES else word.capitalize() for word in text.split())


_PRONOUNS: Final = re.compile(
    r"(?:she|he|they|it|xe|ze|ey|fae|per|ve|any(?: pronouns)?|all pronouns)"
    r"(?: ?/ ?(?:she|he|they|him|her|hers|them|theirs|his|its?|xem|xyr|zir|hir|em|eir|faer|ver|any))*(?: pronouns)?\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?:(?:about|around|at most|at least|exactly|up to|under|over|roughly|version|v) ?)?[$€£]? ?\d[\d.,:]*"
    r"(?: ?[\w%°$€£/]+)?(?: (?:a|per) \w+)?",
    re.IGNORECASE,
)
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE: Final = re.compile(
    rf"(?:on )?(?:the )?(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}(?:[./]\d{{2,4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    rf"|(?:in )?{_MONTH}(?: \d{{4}})?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|q[1-4](?: \d{{4}})?|\d{{4}})\b",
    re.IGNORECASE,
)
_COLOR: Final = re.compile(
    r"(?:(?:light|dark|deep|bright|pale|navy|royal|sky|baby|forest|emerald|olive|hot|neon|pastel|midnight)[ -])?"
    r"(?:amber|aqua|beige|black|blue|bronze|brown|burgundy|coral|crimson|cyan|emerald|fuchsia|gold|gray|green|grey"
    r"|indigo"
    r"|ivory|khaki|lavender|lilac|lime|magenta|maroon|mauve|mint|mustard|navy|ochre|olive|orange|peach|pink|plum|purple"
    r"|red|rose|salmon|scarlet|silver|tan|teal|turquoise|violet|white|yellow)\b",
    re.IGNORECASE,
)
_DIET: Final = re.compile(
    r"(?:an? )?(?:strict |lifelong |mostly )?"
    r"(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|carnivore|omnivore)\b",
    re.IGNORECASE,
)
_MARITAL: Final = re.compile(
    r"(?:single|(?:happily |newly )?married|engaged|divorced|widowed)\b", re.IGNORECASE
)
_OCCUPATION: Final = re.compile(
    r"(?:an?|the) (?:[\w/&'-]+ ){0,4}?[\w/&'-]+(?=$|,| (?:at|for|in|with|and|now|since|on)\b)"
)
_TOKEN: Final = re.compile(r"\S+(?=$)")
_THING: Final = re.compile(r"(?:(?:an?|the) )?[\w'&.-]+(?: [\w'&.-]+){0,3}(?=$)")
_WORDS_NO_THING: Final = (
    "hard easy easier harder difficult impossible unknown secret important unimportant changing different same"
    " similar always never often not no very too so still already gone out wrong right fine good bad nice better worse"
    " best worst to on at for by with without about because when if that what which who where why how up down under"
    " over near unclear undecided tricky complicated negotiable flexible strict tight running coming approaching due"
    " late early soon high higher low lower small smaller big bigger large larger long longer short shorter unusual"
    " boring popular becoming getting being expected supposed likely"
)
_NO_THING: Final = frozenset(_WORDS_NO_THING.split())


def _of_thing(text: str) -> int:
    found = _THING.match(text)
    if found is None or not _NO_THING.isdisjoint(found[0].lower().split()):
        return 0
    return found.end()


def _of_occupation(text: str) -> int:
    found = _OCCUPATION.match(text)
    if found is None or not _NO_THING.isdisjoint(found[0].lower().split()):
        return 0
    return found.end()


def _by(pattern: re.Pattern[str]) -> Callable[[str], int]:
    def length(text: str) -> int:
        found = pattern.match(text)
        return 0 if found is None else found.end()

    return length


_LENGTHS: Final[Mapping[ValueType, Callable[[str], int]]] = MappingProxyType(
    {
        "place": _of_place, "organization": _of_organization, "name": _of_name, "thing": _of_thing,
        "occupation": _of_occupation, "date": _by(_DATE), "number": _by(_NUMBER), "language": _by(_LANGUAGE),
        "pronouns": _by(_PRONOUNS), "color": _by(_COLOR), "diet": _by(_DIET), "marital status": _by(_MARITAL),
        "token": _by(_TOKEN),
    }
)  # fmt: skip
