"""Which categories an agent may read, and how each comes into its context: one place for every front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from elf.config.tables.assistant import RAG_LENGTH, AssistantTable
from elf.core.errors import ScopeDenied
from elf.families.assistant.model import MemoryType

PROCEDURAL: Final = "procedural"
"""The category of how things are done, and the type of such memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """What an agent reads for one question.

    `whole` are the categories whose memories come whole; `ranked` has the others, and how many of each are ranked at
    most. `has_steps` is whether memories of how things are done are among them: only where they are asked for.
    """

    whole: Sequence[str]
    ranked: Mapping[str, int]
    has_steps: bool

    @property
    def categories(self) -> list[str]:
        return [*self.whole, *self.ranked]


class Allowlists:
    """The categories of each agent by the config."""

    def __init__(self, config: AssistantTable) -> None:
        declared = (*config.categories.system, *config.categories.custom)
        self._whole = frozenset(one.name for one in declared if one.context == "all")
        self._lengths = {one.name: one.rag_length or RAG_LENGTH for one in declared}
        self._of = {agent: tuple(dict.fromkeys(names)) for agent, names in config.allowlists.items()}

    def of(self, agent: str) -> Sequence[str]:
        """Return all categories of an agent, which has a list."""
        return self._of[agent]

    def readable(
        self,
        agent: str,
        *,
        categories: Sequence[str] | None,
        category: str | None = None,
        types: Sequence[MemoryType] | None = None,
    ) -> Readable:
        """Return what an agent reads: the categories that it asks for, else all of its own but procedural.

        `category` narrows that further, and memories of the type procedural are asked for as the category is. Raises
        ScopeDenied with the paths of everything that the agent may not read.
        """
        allowed = self._of.get(agent)
        if allowed is None:
            path = "$.agent"
            raise ScopeDenied(f"{path}: no agent {agent} has a list of categories", fields=[path])
        self._refuse(agent, allowed, categories or (), category, types or ())
        wants_steps = PROCEDURAL in (types or ()) or category == PROCEDURAL
        own = [name for name in allowed if name != PROCEDURAL or wants_steps]
        names = list(dict.fromkeys(own if categories is None else categories))
        if category is not None:
            names = [name for name in names if name == category]
        return Readable(
            whole=[name for name in names if name in self._whole],
            ranked=MappingProxyType(
                {name: self._lengths.get(name, RAG_LENGTH) for name in names if name not in self._whole}
            ),
            has_steps=wants_steps or PROCEDURAL in names,
        )

    def _refuse(
        self,
        agent: str,
        allowed: Sequence[str],
        categories: Sequence[str],
        category: str | None,
        types: Sequence[MemoryType],
    ) -> None:
        asked = {f"$.categories[{place}]": name for place, name in enumerate(categories)}
        if category is not None:
            asked["$.filters.category"] = category
        asked |= {f"$.types[{place}]": name for place, name in enumerate(types) if name == PROCEDURAL}
        denied = {path: name for path, name in asked.items() if name not in allowed}
        if denied:
            names = ", ".join(dict.fromkeys(denied.values()))
            raise ScopeDenied(f"{', '.join(denied)}: {agent} may not read {names}", fields=list(denied))
