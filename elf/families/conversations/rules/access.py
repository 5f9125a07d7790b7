"""What each level of access to a tree allows."""

from __future__ import annotations

from typing import Final

from elf.families.conversations.model import LEVELS, AccessLevel

_RANKS: Final = {level: rank for rank, level in enumerate(LEVELS)}


def allows(level: AccessLevel, least: AccessLevel) -> bool:
    """Tell whether one of a level may do what takes at least another."""
    return _RANKS[level] >= _RANKS[least]


def may_share(by: AccessLevel, level: AccessLevel, *, was: AccessLevel | None = None) -> bool:
    """Tell whether one of a level may give somebody a level, who had `was`: managers are for the owner to make.

    Nobody gives or takes what an owner has by sharing; see `is_of_owner`.
    """
    touched = {level, was} - {None}
    return allows(by, "owner" if "manager" in touched else "manager")


def is_of_owner(*levels: AccessLevel | None) -> bool:
    """Tell whether one of the levels is the owner's, which only a transfer gives and takes."""
    return "owner" in levels
