"""Whether two memories are of one fact, by rules alone."""

from __future__ import annotations

from typing import Literal, TypeAlias

from elf.core.same_fact import contains_fact, same_fact
from elf.families.assistant.rules.attributes import liking, valued

Verdict: TypeAlias = Literal["same", "changed", "opposite", "different", "undecided"]
"""The same fact; the same subject and attribute with another value; opposite preferences; two facts; nobody knows."""


def judged(new: str, old: str) -> Verdict:
    """Return what rules know of two texts; what they do not surely know is undecided, which merges nothing."""
    if same_fact(new, old):
        return "same"
    if contains_fact(new, old):  # the longer one stands for both
        return "changed"
    ours, theirs = valued(new), valued(old)
    if ours is not None and theirs is not None and ours.attribute == theirs.attribute:
        return "same" if ours.value == theirs.value else "changed"
    likes, liked = liking(new), liking(old)
    if likes is not None and liked is not None:
        same_thing = (likes.subject, likes.what) == (liked.subject, liked.what)
        if same_thing and likes.likes != liked.likes:
            return "opposite"
    return "undecided"
