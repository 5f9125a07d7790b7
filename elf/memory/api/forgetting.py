"""Forgetting what is known, over all families: requests, answers and operation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from elf.api.bodies import WHOLE, GivenIdentifier, Request, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied, Unavailable
from elf.memory import model as m
from elf.memory.api import fields as f
from elf.memory.api.recalling import TAG

Outcome = Literal["forgotten", "not_found", "refused", "unavailable"]


class Address(Request):
    """What names an item."""

    family: f.FamilyName
    kind: f.Kind
    id: f.ItemId


class ForgetMemories(f.AboutSomebody):
    """What is to be forgotten: items, or what is shown for a query, or what was shown by a handle."""

    items: (
        Annotated[
            list[Address],
            Field(
                min_length=1,
                max_length=m.MAX_ITEMS,
                description="Which: by their addresses. With a handle, those of what was shown. Left out there: all.",
            ),
        ]
        | None
    ) = None
    query: (
        Annotated[
            f.QueryText,
            Field(description="What to look for: nothing is forgotten yet, but candidates are shown with a handle."),
        ]
        | None
    ) = None  # fmt: skip
    handle: (
        Annotated[
            UUID,
            Field(strict=False, description="That of what was shown: it is forgotten now.", examples=[f.TRACE_EXAMPLE]),
        ]
        | None
    ) = None  # fmt: skip
    conversation: (
        Annotated[
            GivenIdentifier,
            Field(
                description="Forget items in this conversation alone, by its name: what was said in others, too, stays."
            ),
        ]
        | None
    ) = None
    top_k: Annotated[
        int, Field(ge=1, le=m.MAX_ITEMS, description="How many are shown at most for a query, 1 to 100."), WHOLE
    ] = 10  # fmt: skip
    min_relevance: (
        Annotated[
            float,
            Field(ge=0.0, le=1.0, description="Show none for a query that is less relevant, as a recall tells it."),
        ]
        | None
    ) = None  # fmt: skip

    cascade: bool = Field(
        default=False,
        description="Whether to take the words that prove the items out of the conversations, too.",
    )

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if self.query is not None and (self.items is not None or self.handle is not None):
            raise ValueError("query comes alone: it shows what is forgotten by the handle of the answer")
        if self.query is None and self.items is None and self.handle is None:
            raise ValueError("say what to forget: items, a query, or the handle of what was shown for one")
        return self


class ForgetCandidate(Response):
    """Something that may be forgotten."""

    family: str
    kind: str
    id: str
    text: str
    at: datetime | None = Field(description="When it was said, or last changed; null where nobody knows.")
    relevance: float | None = Field(
        description="How much it has to do with the query; null where that is not known."
    )


class ForgottenItem(Response):
    """What became of an item."""

    family: str
    kind: str
    id: str
    outcome: Outcome = Field(
        description="forgotten; not_found: there is no such item for who asks; refused: error_code and message say "
        "why; unavailable: its family is away, so ask again."
    )
    error_code: str | None
    message: str | None


class Forgotten(Response):
    """What is shown, or what became of each item."""

    handle: UUID | None = Field(description="By which what is shown is forgotten; null when something was.")
    expires_at: datetime | None = Field(description="Until when the handle is good.")
    candidates: list[ForgetCandidate]
    items: list[ForgottenItem]
    degraded: list[str] = Field(description="Families that were away.")
    remaining: list[str] = Field(
        default_factory=list,
        description="Addresses of entries that still hold the words that prove what was forgotten. They go with "
        "cascade, or with their conversation.",
    )
    redacted: list[str] = Field(
        default_factory=list, description="Addresses of entries of which these words were taken out."
    )


FORGET: Final = Operation(
    "forget_memories", "POST", "/v1/forget", "Forget what is known, over all families", ForgetMemories, Forgotten,
    tag=TAG, text="any", errors=(NotFound, ScopeDenied, Unavailable),
)  # fmt: skip
