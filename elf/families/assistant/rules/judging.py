"""Whether two memories are of one fact, by rules alone."""

from __future__ import annotations

from typing import Literal, TypeAlias

from elf.core.same_fact import contains_fact, same_fact
from elf.families.assistant.rules.attributes import Valued, are_opposite, may_replace, valued
from elf.families.assistant.rules.texts import contains

Verdict: TypeAlias = Literal["same", "changed", "opposite", "different", "undecided"]
"""The same fact; the same subject and attribute with another value; opposite preferences; two facts; nobody knows."""


def judged(new: str, old: str) -> Verdict:
    """Return what rules know of two texts; what they do not surely know is undecided, which merges nothing.

    A value takes the place of another one where both texts state the same attribute with a value of its type, and the
    older one says nothing else.
    """
    if same_fact(new, old) or contains_fact(new, old) or contains_fact(old, new):
        return "same"
    ours, theirs = valued(new), valued(old)
    if ours is not None and theirs is not None and ours.attribute == theirs.attribute:
        return _of_values(ours, theirs, is_contained=contains(new, old) or contains(old, new))
    return "opposite" if are_opposite(new, old) else "undecided"


def _of_values(new: Valued, old: Valued, *, is_contained: bool) -> Verdict:
    if new.folded == old.folded:
        says_more = new.tells_more or old.tells_more
        return "same" if is_contained or not says_more else "undecided"
    if new.is_implied or old.is_implied or old.tells_more:
        return "undecided"
    return "changed"


def supported(verdict: Verdict, new: str, old: str) -> Verdict:
    """Return what a model's verdict on two texts comes to beside what rules know of them.

    A model is not followed where a statement would be lost: one without a value takes no value's place.
    """
    if verdict == "changed" and not may_replace(new, old):
        return "different"
    if verdict == "same" and judged(new, old) == "changed":
        return "changed"
    return verdict
