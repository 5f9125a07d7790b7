"""What recall and context have in common: what can be asked."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from elf.api.bodies import WHOLE
from elf.api.moment import MomentOrDate
from elf.memory import model as m
from elf.memory.api import fields as f


class AskMemory(f.AboutSomebody):
    """What one needs to know of somebody."""

    query: f.QueryText
    families: (
        Annotated[
            list[f.FamilyName],
            Field(min_length=1, max_length=16, description="Only these families. Left out: all that are on."),
        ]
        | None
    ) = None
    kinds: (
        Annotated[
            list[f.Kind],
            Field(min_length=1, max_length=16, description="Only items of these kinds. Left out: all."),
        ]
        | None
    ) = None
    since: (
        Annotated[MomentOrDate, Field(description="Only what is from this moment, or date, on.")] | None
    ) = None
    until: (
        Annotated[MomentOrDate, Field(description="Only what is from before this moment, or date.")] | None
    ) = None
    top_k: Annotated[
        int, Field(ge=1, le=m.MAX_ITEMS, description="How many items at most, 1 to 100."), WHOLE
    ] = 10
    min_relevance: (
        Annotated[
            float,
            Field(ge=0.0, le=1.0, description="Leave out what is less relevant, or not compared. Some .3 is nothing in "
                  "common with the query."),
        ]
        | None
    ) = None  # fmt: skip
    only_agent: bool = Field(
        default=False,
        description="With agent_id: whether to leave out what is of another agent. What is of none stays.",
    )
