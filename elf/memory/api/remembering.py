"""Remembering what was said, over all families: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from elf.api.bodies import WHOLE, GivenIdentifier, NulDropped, Request, Response
from elf.api.moment import MomentOrDate
from elf.api.operation import Operation
from elf.api.seen_text import SEEN, seen
from elf.core.errors import Conflict, Forbidden, NotFound, ScopeDenied
from elf.memory.api import fields as f
from elf.memory.api.recalling import TAG

MAX_MESSAGES: Final = 64
MAX_MESSAGE_CHARS: Final = 16_384
MAX_WAIT_MS: Final = 30_000

State = Literal["pending", "done", "refused", "skipped", "failed", "given_up", "shown"]


class MessageSaid(Request):
    """Something that was said."""

    role: Literal["user", "assistant", "tool"] = Field(
        default="user", description="Who says it.", examples=["user"]
    )
    content: Annotated[
        str,
        Field(min_length=1, max_length=MAX_MESSAGE_CHARS, description="What is said, in any language.",
              examples=["I moved to Porto in May."], json_schema_extra=SEEN),
        AfterValidator(seen),
        NulDropped(),
    ]  # fmt: skip
    id: (
        Annotated[GivenIdentifier, Field(description="Your id of the message, which is kept as where it is from.")]
        | None
    ) = None  # fmt: skip
    at: Annotated[MomentOrDate, Field(description="When it was said. Left out: now.")] | None = None


class RememberMessages(f.AboutSomebody):
    """What was said, oldest message first."""

    messages: Annotated[list[MessageSaid], Field(min_length=1, max_length=MAX_MESSAGES)]
    conversation: (
        Annotated[
            GivenIdentifier,
            Field(
                description="The conversation or thread it is of, by any name. Left out: one of its own.",
                examples=["trip-to-porto"],
            ),
        ]
        | None
    ) = None
    request_id: (
        Annotated[
            GivenIdentifier,
            Field(description="Makes a repeat harmless: the same once more does nothing twice, and has the same id."),
        ]
        | None
    ) = None  # fmt: skip
    wait_ms: Annotated[
        int,
        Field(ge=0, le=MAX_WAIT_MS, description="How long to wait for what becomes of it, in ms, 0 to 30000."),
        WHOLE,
    ] = 0  # fmt: skip
    dry_run: bool = Field(
        default=False, description="Whether to tell what would become of it, and keep nothing."
    )


class WrittenItem(Response):
    """What became of something that was said."""

    kind: str = Field(description="What sort of item it is in its family.")
    id: str | None = Field(description="Its address in the family; null where there is none.")
    op: str = Field(
        description="ADD, UPDATE, NONE (known already), REJECTED, PROPOSED (the user has to agree), DEFERRED (a "
        "language model of the family reads it later)."
    )
    reason: str | None = Field(description="Why it was rejected, as a code.")
    indexed_chars: int | None = Field(
        default=None,
        description="How many characters of the item it is found by, from the first on; null where these are all.",
    )


class InFamily(Response):
    """What became of it in a family."""

    family: str
    state: State = Field(
        description="pending; done; refused: the family does not take it, error_code says why; skipped: the family is "
        "not asked any more; failed: it failed, and is tried again; given_up: it is not tried again by itself; shown: "
        "what a dry run would write."
    )
    written: list[WrittenItem]
    error_code: str | None
    message: str | None


class Skipped(Response):
    """Something that was said and is not stored."""

    message: int | None = Field(description="Which message, from 0 on; null where it is all of them.")
    family: str | None = Field(description="The family that does not store it; null where none does.")
    reason: str = Field(description="Why, as a code: CONVERSATION_DELETED.")


class Remembered(Response):
    """What became of what was said."""

    id: UUID = Field(description="By which it is asked for later; a dry run's is good for nothing.")
    conversation: str = Field(description="The name of the conversation it is of.")
    repeated: bool = Field(description="Whether the same was remembered before: nothing is done twice.")
    done: bool = Field(description="Whether nothing of it is pending or failed any more.")
    said_at: datetime = Field(description="When it was taken in.")
    families: list[InFamily]
    skipped: list[Skipped] = Field(description="What is not stored though it may be, and why.")


class OneRemembered(f.AboutSomebody):
    """Which."""

    id: Annotated[UUID, Field(strict=False, description="That of the answer.", examples=[f.TRACE_EXAMPLE])]


REMEMBER: Final = Operation(
    "remember_messages", "POST", "/v1/remember", "Remember what was said, over all families", RememberMessages,
    Remembered, tag=TAG, text="any", errors=(ScopeDenied, Forbidden, Conflict, NotFound), max_body_bytes=4_194_304,
    is_slow=True,
)  # fmt: skip
REMEMBERED: Final = Operation(
    "get_remembered", "GET", "/v1/remember/{id}", "Tell what became of what was said", OneRemembered, Remembered,
    tag=TAG, errors=(NotFound, ScopeDenied),
)  # fmt: skip
