"""What a family's commands have of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from elf.cli.commands import Commands


def _none(_: Commands) -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCommands:
    """`shown` prints the answers of verbs. `add` adds commands that do more than one call: they take the place of the
    methods in `replaced`.
    """

    shown: Mapping[str, Callable[[Any], None]] = field(default_factory=dict)
    replaced: frozenset[str] = frozenset()
    add: Callable[[Commands], None] = _none
