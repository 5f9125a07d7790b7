"""Remembering what was said, over all families: requests, answers and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, WithJsonSchema
from pydantic.config import JsonDict

from elf.api.bodies import WHOLE, FreeJson, GivenIdentifier, NulDropped, Request, Response
from elf.api.json_bounds import JsonBounds
from elf.api.moment import MomentOrDate
from elf.api.operation import Operation
from elf.api.seen_text import SEEN
from elf.core.errors import Conflict, Forbidden, NotFound, ScopeDenied
from elf.memory.api import fields as f
from elf.memory.api.recalling import TAG

MAX_MESSAGES: Final = 64
MAX_MESSAGE_CHARS: Final = 16_384
MAX_WAIT_MS: Final = 30_000
MAX_PARTS: Final = 64
MAX_BODY_BYTES: Final = 4_194_304

State = Literal["pending", "done", "refused", "skipped", "failed", "given_up", "shown"]


class ContentPart(Request):
    """A part of what is said, as the chat API of OpenAI has it: text is kept, any other part is skipped."""

    model_config = ConfigDict(extra="ignore")

    type: str = Field(default="text", description="text, input_text, output_text, or anything else.")
    text: Annotated[str, Field(max_length=MAX_MESSAGE_CHARS)] | None = None


_PARTS: Final = TypeAdapter(Annotated[list[ContentPart], Field(max_length=MAX_PARTS)])


def _content(said: object) -> object:
    """Return content with its parts read. A union of pydantic would name its branches in the path of a fault."""
    if isinstance(said, list):
        return _PARTS.validate_python(said)
    if said is not None and not isinstance(said, str):
        raise ValueError("should be a text, or a list of parts")
    if said is not None and len(said) > MAX_MESSAGE_CHARS:
        raise ValueError(f"should have at most {MAX_MESSAGE_CHARS} characters")
    return said


_BESIDE: Final = (FreeJson(), NulDropped())


class MessageSaid(Request):
    """Something that was said, as a message of the chat API of OpenAI. Only its text is kept."""

    role: Literal["user", "assistant", "tool", "function", "system", "developer"] = Field(
        default="user",
        description="Who says it. What a system or a developer says is skipped; a function is a tool.",
        examples=["user"],
    )
    content: Annotated[
        Any,
        FreeJson(),
        NulDropped(),
        AfterValidator(_content),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "maxLength": MAX_MESSAGE_CHARS},
                    {"type": "array", "items": ContentPart.model_json_schema(), "maxItems": MAX_PARTS},
                    {"type": "null"},
                ],
                "description": "What is said, in any language: a text, or parts of it.",
                "examples": ["I moved to Porto in May."],
            }
        ),
    ] = None
    name: Annotated[Any, *_BESIDE, Field(description="Not looked at.")] = None
    tool_call_id: Annotated[Any, *_BESIDE, Field(description="Not looked at.")] = None
    tool_calls: Annotated[Any, *_BESIDE, Field(description="Skipped.")] = None
    function_call: Annotated[Any, *_BESIDE, Field(description="Skipped.")] = None
    audio: Annotated[Any, *_BESIDE, Field(description="Skipped.")] = None
    refusal: Annotated[Any, *_BESIDE, Field(description="Skipped.")] = None
    annotations: Annotated[Any, *_BESIDE, Field(description="Not looked at.")] = None
    id: (
        Annotated[GivenIdentifier, Field(description="Your id of the message, which is kept as where it is from.")]
        | None
    ) = None  # fmt: skip
    at: Annotated[MomentOrDate, Field(description="When it was said. Left out: now.")] | None = None


UNHEARD: Final = ("system", "developer")
"""Roles that instruct an agent: what they say is no memory."""
TEXTS: Final = ("text", "input_text", "output_text")
"""Types of parts that are text."""
CALLS: Final = ("tool_calls", "function_call", "audio", "refusal")
"""What a message may say beside its text."""

_SEEN: Final[JsonDict] = {"type": "string", **SEEN}
_NOTHING: Final[JsonDict] = {"enum": [None, False, 0, "", [], {}]}


def _with(name: str, schema: JsonDict) -> JsonDict:
    return {"properties": {name: schema}, "required": [name]}


_SAYS_SOMETHING: Final[JsonDict] = {
    "anyOf": [
        _with("content", _SEEN),
        _with("content", {"type": "array", "minItems": 1}),
        _with("role", {"enum": [*UNHEARD]}),
        *(_with(name, {"not": _NOTHING}) for name in CALLS),
    ]
}
_ONLY_TEXT: Final[JsonDict] = {
    "properties": {"role": {"not": {"enum": [*UNHEARD]}}, **dict.fromkeys(CALLS, _NOTHING)},
    "anyOf": [
        _with("content", _SEEN),
        _with(
            "content",
            {
                "type": "array",
                "items": {
                    "properties": {"type": {"enum": [*TEXTS]}, "text": {"type": "string"}},
                    "required": ["text"],
                },
                "contains": _with("text", _SEEN),
            },
        ),
    ],
}
_STRICT: Final[JsonDict] = {
    "if": _with("strict", {"const": True}),
    "then": {"properties": {"messages": {"items": _ONLY_TEXT}}},
}


class RememberMessages(f.AboutSomebody):
    """What was said, oldest message first."""

    model_config = ConfigDict(json_schema_extra=_STRICT)

    messages: Annotated[
        list[MessageSaid],
        Field(min_length=1, max_length=MAX_MESSAGES, json_schema_extra={"contains": _SAYS_SOMETHING}),
    ]
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
    strict: bool = Field(
        default=False,
        description="Whether to refuse the request where something of a message would be skipped.",
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
    reason: Literal["ROLE", "NO_TEXT", "NOT_TEXT", "CONVERSATION_DELETED"] = Field(
        description="ROLE: what a system or a developer says is no memory. NO_TEXT: it has none. NOT_TEXT: its text "
        "was taken in, and what is no text was not. CONVERSATION_DELETED: it names a deleted conversation by its id."
    )
    fields: list[str] = Field(
        description="What of the message was not taken in, such as content[1] or tool_calls."
    )


class Remembered(Response):
    """What became of what was said."""

    id: UUID = Field(description="By which it is asked for later; a dry run's is good for nothing.")
    conversation: str = Field(description="The name of the conversation it is of.")
    repeated: bool = Field(description="Whether the same was remembered before: nothing is done twice.")
    done: bool = Field(description="Whether nothing of it is pending or failed any more.")
    said_at: datetime = Field(description="When it was taken in.")
    families: list[InFamily]
    skipped: list[Skipped] = Field(
        description="What is not stored, and why; of the messages themselves only in the response to the request."
    )


class OneRemembered(f.AboutSomebody):
    """Which."""

    id: Annotated[UUID, Field(strict=False, description="That of the answer.", examples=[f.TRACE_EXAMPLE])]


REMEMBER: Final = Operation(
    "remember_messages", "POST", "/v1/remember", "Remember what was said, over all families", RememberMessages,
    Remembered, tag=TAG, text="any", errors=(ScopeDenied, Forbidden, Conflict, NotFound), max_body_bytes=MAX_BODY_BYTES,
    json_bounds=JsonBounds(string_chars=MAX_BODY_BYTES), is_slow=True,
)  # fmt: skip
REMEMBERED: Final = Operation(
    "get_remembered", "GET", "/v1/remember/{id}", "Tell what became of what was said", OneRemembered, Remembered,
    tag=TAG, errors=(NotFound, ScopeDenied),
)  # fmt: skip
