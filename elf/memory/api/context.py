"""A context out of all families: request, answer and operation."""

from __future__ import annotations

from typing import Annotated, Final
from uuid import UUID

from pydantic import Field

from elf.api.bodies import WHOLE, Response
from elf.api.operation import Operation
from elf.core.errors import ScopeDenied
from elf.memory import model as m
from elf.memory.api import fields as f
from elf.memory.api import recalling as r
from elf.memory.api.asking import AskMemory
from elf.memory.api.recalling import TAG


class ContextOfMemory(AskMemory):
    """What a model needs to know of somebody."""

    top_k: Annotated[
        int, Field(ge=1, le=m.MAX_ITEMS, description="How many lines at most, 1 to 100."), WHOLE
    ] = 30
    budget_tokens: Annotated[
        int, Field(ge=64, le=100_000, description="How many tokens the text has at most, all in all."), WHOLE
    ] = 2000


class Citation(Response):
    """Which item a line of a text tells."""

    marker: str = Field(description="What the line begins with.", examples=["[m1]"])
    family: str
    kind: str
    id: str
    also: list[r.AlsoItem] = Field(
        default_factory=list, description="Others that state the same fact, which are not told again."
    )


class ContextAnswer(Response):
    """What is known, as a text to put before a model."""

    trace_id: UUID = Field(
        description="By which the answer can be explained later.", examples=[f.TRACE_EXAMPLE]
    )
    text: str = Field(
        description="Lines in sections, each with its marker, its date, and what makes it less than it seems; empty "
        "when nothing is known. What was stored can begin no line of it, and looks like no tag, role or marker."
    )
    citations: list[Citation] = Field(description="The items of the lines, the most to the point first.")
    tokens: int = Field(description="How many tokens the text has.")
    degraded: list[str] = Field(
        description='What was away or too slow: names of families, "embedding", "rerank"; empty when nothing was.'
    )
    skipped: dict[str, str] = Field(
        description="Families that do not take the query, and why, such as NON_ENGLISH_INPUT."
    )


CONTEXT: Final = Operation(
    "context_of_memory", "POST", "/v1/context", "Put what is known into a text for a model", ContextOfMemory,
    ContextAnswer, tag=TAG, text="any", reads=True, errors=(ScopeDenied,),
)  # fmt: skip
