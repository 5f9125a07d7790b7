"""Words and phrases that mean one thing, written as one of them.

Only true synonyms are here: two texts that differ in nothing but these say the same whatever else they say. Left out is
what merely resembles another word (`delete` and `remove`, `can` and `is able to`), and what has a second meaning that
a text may have in mind: a flat fee is no fee of the apartment, a visa application no app.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from elf.core.wording.number_words import is_number_word
from elf.core.wording.spelling import american
from elf.core.wording.tokens import CAPITAL, CAPITALS, FIRST, Token, word

_WEEKDAYS: Final = "monday tuesday wednesday thursday friday saturday sunday".split()

# Each line: the phrase that is written, then all those that mean it.
_SYNONYMS: Final = """
likes / enjoys
liked / enjoyed
children / kids
child / kid
bought / purchased
buys / purchases
buy / purchase
starts / begins / commences
start / begin / commence
started / began / commenced
afraid of / scared of
needs / requires
need / require
needed / required
largest / biggest
large / big
larger / bigger
car / automobile
lives in / resides in
lived in / resided in
uses / utilizes
used / utilized
mother / mom
father / dad
couch / sofa
gasoline / petrol
truck / lorry
trucks / lorries
fridge / refrigerator
television / tv
lawyer / attorney
allows / permits
allowed / permitted
forbidden / prohibited
almost / nearly
maybe / perhaps
often / frequently
rarely / seldom
usually / typically
approximately / roughly / approx
immediately / right away / straight away
nobody / no one / noone
everybody / everyone
somebody / someone
anybody / anyone
anymore / any more
must / has to / have to
is named / is called
is in / is located in / is situated in
are in / are located in / are situated in
every / each
on mondays / every monday / each monday
on tuesdays / every tuesday / each tuesday
on wednesdays / every wednesday / each wednesday
on thursdays / every thursday / each thursday
on fridays / every friday / each friday
on saturdays / every saturday / each saturday
on sundays / every sunday / each sunday
every day / daily / each day
every week / weekly / each week
every month / monthly / each month
every year / yearly / annually / each year
every night / nightly / each night
every hour / hourly / each hour
every quarter / quarterly / each quarter
every two days / every other day / every second day
every two weeks / every other week / every second week
every two months / every other month / every second month
every two years / every other year / every second year
two times / twice
three times / thrice
at least / a minimum of / no fewer than / no less than / not less than
at most / a maximum of / no more than / not more than / up to
more than / upwards of
all / all of
e g / for example / for instance / eg
i e / that is to say / ie
instead of / in place of
even though / although
help / assist
helps / assists
ok / okay
email / e mail
emails / e mails
backend / back end
backends / back ends
frontend / front end
frontends / front ends
timezone / time zone
timezones / time zones
website / web site
websites / web sites
dataset / data set
datasets / data sets
filename / file name
filenames / file names
username / user name
usernames / user names
codebase / code base
runtime / run time
startup / start up
coworker / co worker
coworkers / co workers
percent / per cent
database / db
databases / dbs
repository / repo
repositories / repos
documentation / docs
production / prod
environment / env
environments / envs
configuration / config
configurations / configs
administrator / admin
administrators / admins
permissions / perms
infrastructure / infra
information / info
maximum / max
minimum / min
average / avg
message / msg
messages / msgs
directory / dir
directories / dirs
library / lib
libraries / libs
parameters / params
arguments / args
specification / spec
statistics / stats
department / dept
apartment / apt
photo / photograph
photos / photographs
versus / vs
et cetera / etc
kubernetes / k8s
"""

# Names and what they are short for, as they are capitalised.
_SHORT_NAMES: Final = {
    "DB": "database", "DBs": "databases", "PR": "pull request", "PRs": "pull requests", "VP": "vice president",
    "CEO": "chief executive officer", "CTO": "chief technology officer", "CFO": "chief financial officer",
    "HR": "human resources", "VM": "virtual machine", "VMs": "virtual machines", "UI": "user interface",
    "OS": "operating system", "CI": "continuous integration", "TV": "television", "UK": "United Kingdom",
    "US": "United States", "USA": "United States", "EU": "European Union", "NYC": "New York City",
    "UN": "United Nations", "TS": "TypeScript", "JS": "JavaScript", "GH": "GitHub", "OK": "ok",
    "PostgreSQL": "Postgres", "MongoDB": "Mongo", "K8s": "kubernetes", "Kubernetes": "kubernetes",
}  # fmt: skip


def _phrases() -> dict[str, list[tuple[tuple[str, ...], tuple[Token, ...]]]]:
    """Return the phrases that are replaced, by their first word, the longest first."""
    found: dict[str, list[tuple[tuple[str, ...], tuple[Token, ...]]]] = {}
    for line in _SYNONYMS.strip().splitlines():
        written, *others = line.split(" / ")
        replacement = tuple(map(_plain, written.split()))
        for other in others:
            keys = tuple(other.split())
            found.setdefault(keys[0], []).append((keys, replacement))
    for candidates in found.values():
        candidates.sort(key=lambda one: len(one[0]), reverse=True)
    return found


def _plain(key: str) -> Token:
    return Token(key) if key.rstrip("s") in _WEEKDAYS else word(key)


_PHRASES: Final = _phrases()
_NAMES_TOO: Final = frozenset({"max"})


def with_one_wording(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with synonyms, short forms and spellings in their one form."""
    return list(_read([part for token in tokens for part in _spelled(token)]))


def _spelled(token: Token) -> Iterator[Token]:
    written = token.key.upper() if token.case == CAPITALS else token.key
    if token.case == CAPITAL:
        written = token.key.capitalize()
    if written in _SHORT_NAMES:
        yield from (_named(part) for part in _SHORT_NAMES[written].split())
    else:
        yield token._replace(key=american(token.key)) if token.is_common else token


def _named(part: str) -> Token:
    if part.islower():
        return word(part)
    return Token(part.lower(), CAPITAL) if part.istitle() else Token(part)


def _read(tokens: Sequence[Token]) -> Iterator[Token]:
    place = 0
    while place < len(tokens):
        keys, replacement = _phrase_at(tokens, place)
        if keys:
            first, *rest = replacement
            yield first._replace(case=tokens[place].case)  # it may still begin the sentence
            yield from rest
            place += len(keys)
        else:
            yield tokens[place]
            place += 1


def _phrase_at(tokens: Sequence[Token], place: int) -> tuple[tuple[str, ...], tuple[Token, ...]]:
    for keys, replacement in _PHRASES.get(tokens[place].key, ()):
        said = tokens[place : place + len(keys)]
        if all(token.is_common for token in said) and tuple(token.key for token in said) == keys:
            if _means_something_else(tokens, place, keys):
                continue
            return keys, replacement
    return (), ()


def _means_something_else(tokens: Sequence[Token], place: int, keys: tuple[str, ...]) -> bool:
    if keys == ("is", "called"):  # an endpoint is called by a client
        return place + 2 < len(tokens) and tokens[place + 2].key == "by"
    if keys == ("min",):  # after a number they are minutes
        return place > 0 and (tokens[place - 1].key[0].isdigit() or is_number_word(tokens[place - 1].key))
    return keys[0] in _NAMES_TOO and tokens[place].case == FIRST
