"""Statements that say the same in the same words, though not in the same order or voice.

Each rule names the very forms it takes; whatever else the words are arranged to may be another fact: Ana reports to
Ben, and Ben to Ana.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from elf.core.wording.statement import Statement, is_same
from elf.core.wording.tokens import CAPITAL, COMMA, FIRST, MARKS, POSSESSIVE, Token, word
from elf.core.wording.verbs import ACTIVE_FORMS

MOST_TOKENS: Final = 80  # beyond it a text is no single statement, and only its own order counts

# What may stand in front as well as at the end: "On Fridays nobody deploys", "Nobody deploys on Fridays".
_FRONTED: Final = frozenset(
    "on in at after before since for during because if when every until while within throughout".split()
)
# Two statements in one, or one within another: then the place of the phrase may say which of them it belongs to.
_NESTING: Final = frozenset(
    "and or but then that which who whom whose where said says say told tells thinks think thought believes believe "
    "knows know knew decided decides plans planned wants want wanted promised agreed agrees hopes intends asked asks "
    "expects expected refused offered claims claimed reported announced only even also".split()
)
# Without a comma it is not seen where such a clause ends: "When users call admins reset the password".
_NEEDS_COMMA: Final = frozenset({"if", "when", "because", "while", "until", "since", "within", "throughout"})
_MOST_WITHOUT_COMMA: Final = 3
_NEGATIVE: Final = frozenset(
    "not no never nobody none nothing neither nor without hardly barely cannot".split()
)
_HARMLESS_WITH_NEGATION: Final = frozenset({"on", "in", "at", "if", "when"})

# "Ana likes working on Mondays" is not what she likes on Mondays; these end like it, and are no verbs.
_NOT_DOING: Final = frozenset(
    "nothing something anything everything morning evening during meeting meetings building spring string staging "
    "billing pricing marketing engineering training ceiling wedding king ring".split()
)

_UNIVERSAL: Final = frozenset({"every", "all", "both", "most", "no", "many"})

# Nouns of which "the X of Y" and "Y's X" are one: the picture of Ana may be Ben's, the port of a server is its own.
_RELATIONS: Final = frozenset(
    "port name size owner capital color version age price cost address title location length weight height deadline "
    "manager mother father wife husband sister brother daughter son uncle aunt boss author founder maintainer password "
    "url id status default limit timeout budget population currency birthday".split()
)


def says_the_same(first: Statement, second: Statement) -> bool:
    """Tell whether two statements are the same, as they stand or in one of the orders that are known to be harmless."""
    if first.label and second.label and first.label != second.label:
        return False
    return bool(first.tokens and second.tokens) and any(
        is_same(one, other) or _is_rearranged(one, other) or _is_rearranged(other, one)
        for one in _readings(first)
        for other in _readings(second)
    )


def _readings(statement: Statement) -> Iterator[tuple[Token, ...]]:
    """Yield the statement, and what its label makes of it: a preference and a plan are the user's."""
    yield statement.tokens
    if statement.label == "preference":
        yield (word("user"), word("prefers"), *statement.tokens)
    if statement.label == "plan":
        yield (word("user"), word("plans"), word("to"), *statement.tokens)


def _is_rearranged(first: Sequence[Token], second: Sequence[Token]) -> bool:
    if max(len(first), len(second)) > MOST_TOKENS:
        return False
    return _is_fronted(first, second) or _is_passive(first, second) or _is_possessive(first, second)


def _is_fronted(first: Sequence[Token], second: Sequence[Token]) -> bool:
    """Tell whether the first begins with the phrase that the second ends with."""
    if not first or first[0].key not in _FRONTED or not _may_move(first):
        return False
    commas = [place for place, token in enumerate(first) if token == COMMA]
    if len(commas) > 1 or any(token in MARKS and token != COMMA for token in first):
        return False
    if commas:
        return is_same((*_plain(first[commas[0] + 1 :]), *first[: commas[0]]), second)
    if first[0].key in _NEEDS_COMMA:
        return False
    places = range(2, min(_MOST_WITHOUT_COMMA + 1, len(first) - 1))
    return any(is_same((*_plain(first[place:]), *first[:place]), second) for place in places)


def _may_move(tokens: Sequence[Token]) -> bool:
    if not _is_one_statement(tokens):
        return False
    is_harmless = tokens[0].key in _HARMLESS_WITH_NEGATION
    return is_harmless or not any(token.key in _NEGATIVE for token in tokens)


def _is_one_statement(tokens: Sequence[Token]) -> bool:
    keys = {token.key for token in tokens}
    return not keys & _NESTING and not any(key.endswith("ing") for key in keys - _NOT_DOING)


def _plain(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens with the first as a beginning."""
    for place, token in enumerate(tokens):
        yield token._replace(case=FIRST) if place == 0 and token.case == CAPITAL else token


def _is_passive(first: Sequence[Token], second: Sequence[Token]) -> bool:
    """Tell whether the first is the passive of the second: "X is led by Y since May", "Y leads X since May"."""
    keys = [token.key for token in first]
    if keys.count("by") != 1 or any(token in MARKS for token in first) or not _is_one_statement(first):
        return False
    by = keys.index("by")
    auxiliary = " ".join(keys[by - 2 : by - 1])
    forms = ACTIVE_FORMS.get((auxiliary, keys[by - 1])) if by >= 3 else None
    if forms is None:
        return False
    patient, agent = first[: by - 2], first[by + 1 :]
    if _count_each_other(patient, agent):
        return False
    return any(
        token.key in forms and _is_active(patient, agent, second, place)
        for place, token in enumerate(second)
        if 0 < place <= len(agent)
    )


def _count_each_other(patient: Sequence[Token], agent: Sequence[Token]) -> bool:
    """Tell whether one speaks of all and the other of one: each ticket is handled by one agent, not by the same one."""
    every = [any(token.key in _UNIVERSAL for token in part) for part in (patient, agent)]
    some = [any(_is_some(token) for token in part) for part in (patient, agent)]
    return (every[0] and some[1]) or (every[1] and some[0])


def _is_some(token: Token) -> bool:
    return token.article == "a" or token.key in ("some", "any") or token.key[:1].isdigit()


def _is_active(patient: Sequence[Token], agent: Sequence[Token], active: Sequence[Token], verb: int) -> bool:
    """Tell whether the active is agent, verb, patient and then whatever follows the agent in the passive."""
    end = verb + 1 + len(patient)
    told = (*active[:verb], *active[end:])
    return is_same(_relaxed(patient), _relaxed(active[verb + 1 : end])) and is_same(
        _relaxed(agent), _relaxed(told)
    )


def _relaxed(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with the first of them free in its case: in the other voice it begins the sentence."""
    return list(_plain(tokens))


def _is_possessive(first: Sequence[Token], second: Sequence[Token]) -> bool:
    """Tell whether the first begins "Y's X" and the second "X of Y", for an X that every Y has one of."""
    if POSSESSIVE not in first:
        return False
    place = first.index(POSSESSIVE)
    owner, rest = first[:place], first[place + 1 :]
    if (
        not rest
        or rest[0].key not in _RELATIONS
        or POSSESSIVE in rest
        or len(second) < 2
        or second[1].key != "of"
    ):
        return False
    start, end = second[:1], 2 + len(owner)
    return (
        is_same(rest[:1], start)
        and is_same(_relaxed(owner), second[2:end])
        and is_same(rest[1:], second[end:])
    )
