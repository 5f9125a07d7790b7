"""The fields that requests and responses share: their types and bounds, what they mean, and an example of each.

Documents and tools for readers who have never seen ELF are made from these, so each says what it is, not what it is
called.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, WithJsonSchema

from elf.api.bodies import GivenIdentifier, Identifier
from elf.api.moment import moments

MAX_PAGE = 200
MAX_CURSOR_CHARS = 512
MAX_TTL_DAYS = 36_500


NOTE_EXAMPLE = "0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001"
VERSION_EXAMPLE = "3f6c1c52-2a07-4c6f-8f0e-6f9f4f0d2b10"
TRACE_EXAMPLE = "c7a9e9e4-9d5b-4f39-8a77-1f6a5e3c4d20"
HANDLE_EXAMPLE = "9a1d6f0b-64c2-4c5e-b1c8-0d2f7e8a9b30"

UnitInterval = Annotated[float, Field(ge=0.0, le=1.0)]
TtlDays = Annotated[float, Field(ge=-MAX_TTL_DAYS, le=MAX_TTL_DAYS)]
NoteStatus = Literal["active", "deleted", "deprecated", "expired"]

# Where a note belongs

_TENANT = "The organisation or user the memory belongs to. Tenants never see each other's notes."
_PROJECT = "The project within the tenant."
_AGENT = "The agent that speaks. Only it sees its own notes of the scope agent_private."
# What is given is kept, logged and shown, so it is looked at; what was given is told as it is.
_GIVEN = (
    " Any name, number or hash will do. Refused are the API keys and tokens of providers, JWTs, private keys, seed "
    "phrases, connection strings with a password, and what is named a password or key, such as password=..."
)


TenantId = Annotated[Identifier, Field(description=_TENANT, examples=["acme"])]
TenantIdGiven = Annotated[GivenIdentifier, Field(description=_TENANT + _GIVEN, examples=["acme"])]
ProjectId = Annotated[Identifier, Field(description=_PROJECT, examples=["website"])]
ProjectIdGiven = Annotated[GivenIdentifier, Field(description=_PROJECT + _GIVEN, examples=["website"])]
AgentId = Annotated[Identifier, Field(description=_AGENT, examples=["helper"])]
AgentIdGiven = Annotated[GivenIdentifier, Field(description=_AGENT + _GIVEN, examples=["helper"])]
ScopeName = Annotated[
    str,
    Field(
        max_length=128,
        description="Who shares the notes: agent_private (this agent), project_shared (all agents of the project) or "
        "org_shared, unless the config names others.",
        examples=["project_shared"],
    ),
]
ReadProfile = Annotated[
    Identifier,
    Field(
        description="Which scopes are read, by the name of a profile in the config: private_only, "
        "private_plus_project or all_scopes, unless it names others.",
        examples=["all_scopes"],
    ),
]

# What a note is

NoteId = Annotated[
    UUID, Field(description="The note's id, which it keeps for life.", examples=[NOTE_EXAMPLE])
]
VersionId = Annotated[UUID, Field(description="The id of one change of a note.", examples=[VERSION_EXAMPLE])]
TypeName = Annotated[
    str,
    Field(
        max_length=128,
        description="What kind of note it is: preference, constraint, decision, profile, fact or plan.",
        examples=["preference"],
    ),
]
Key = Annotated[
    Identifier,
    Field(
        description="A stable name for what the note is about. A later note of the same type, scope and agent with "
        "the same key replaces this one. Without a key, a note that says the same, by the config's rule of merging, is "
        "found by its text.",
        examples=["preferred_language"],
    ),
]
NoteText = Annotated[
    str,
    Field(description="One short English sentence, at most memory.max_note_chars of the config long.",
          examples=["Preference: Ana wants answers in English."]),
]  # fmt: skip
Importance = Annotated[
    UnitInterval,
    Field(description="How much it matters, 0 to 1. It moves results up a little.", examples=[0.8]),
]
Confidence = Annotated[UnitInterval, Field(description="How sure the writer is, 0 to 1.", examples=[0.9])]
TtlGiven = Annotated[
    TtlDays,
    Field(description="Days until the note expires. 0, less or null: what the config says for its type.",
          examples=[30]),
]  # fmt: skip
SourceRef = Annotated[
    dict[str, Any],
    Field(description="Where the note comes from: the JSON object its writer gave; for an extracted note, the "
          "evidence and the reason."),
]  # fmt: skip
Status = Annotated[
    str, Field(description="active, deleted, deprecated or expired; only active notes are found by a search.")
]
CreatedAt = Annotated[datetime, Field(description="When the note was first stored.")]
UpdatedAt = Annotated[datetime, Field(description="When the note last changed.")]
ExpiresAt = Annotated[datetime | None, Field(description="When the note expires; null is never.")]

# What became of a note

ReasonCode = Annotated[
    str | None,
    Field(
        description="Why, for programs; null when there is nothing to say. Rejections: REJECT_EMPTY, REJECT_CJK, "
        "REJECT_TOO_LONG, REJECT_INVALID_TYPE, REJECT_SCOPE_DENIED, REJECT_SECRET, REJECT_EVIDENCE_MISMATCH, "
        "REJECT_MALFORMED, CAP_REACHED (the request has its most notes), and of what was asked to be remembered "
        "REJECT_QUESTION, REJECT_NO_ANTECEDENT (it says nothing without what was said before), REJECT_UNSURE, "
        "REJECT_TOO_SHORT. SIMILARITY_UNCHECKED: stored while the model was away, so duplicates were not looked for."
    ),
]
Reason = Annotated[str | None, Field(description="Why, for people; null when there is nothing to say.")]

# Pages

PageSize = Annotated[
    int,
    Field(
        ge=1,
        le=MAX_PAGE,
        description="Most items of the page; fewer come when they are large.",
        examples=[50],
    ),
]
CursorGiven = Annotated[
    str,
    Field(
        max_length=MAX_CURSOR_CHARS,
        description="next_cursor of the page before; leave it out for the first page.",
    ),
]
NextCursor = Annotated[
    str | None, Field(description="Send it as `cursor` for the next page; null on the last one.")
]

Detail = Annotated[
    Literal["full", "brief"],
    Field(
        description="full: all there is to know. brief: the little that a language model needs, in fewer words."
    ),
]

# Searches


_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d([Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d))?", re.ASCII)
_NO_MOMENT: Final = (
    "should be a moment of RFC 3339, such as 2026-01-31T09:30:00Z, or a date, which is its midnight in UTC"
)
_moment: Final = moments(_MOMENT, _NO_MOMENT)
KeyPrefix = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        description="Only notes whose key begins so, in the same case.",
        examples=["deploy/"],
    ),
]


def _moment_schema(description: str) -> dict[str, Any]:
    return {
        "type": "string",
        "anyOf": [{"format": "date-time"}, {"format": "date"}],
        "description": description,
        "examples": ["2026-01-31T09:30:00Z", "2026-01-31"],
    }


UpdatedSince = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema(
        _moment_schema(
            "Only notes that last changed then or later: a moment of RFC 3339, or a date, which is its midnight in UTC."
        )
    ),
]
UpdatedBefore = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema(_moment_schema("Only notes that last changed earlier.")),
]
CreatedSince = Annotated[
    datetime,
    BeforeValidator(_moment),
    WithJsonSchema(_moment_schema("Only notes first stored then or later.")),
]
CreatedBefore = Annotated[
    datetime, BeforeValidator(_moment), WithJsonSchema(_moment_schema("Only notes first stored earlier."))
]
TraceId = Annotated[UUID, Field(description="The search's id, for its trace.", examples=[TRACE_EXAMPLE])]
ResultHandle = Annotated[
    UUID,
    Field(description="The id of one result of one search, for explaining it.", examples=[HANDLE_EXAMPLE]),
]
ChunkId = Annotated[UUID, Field(description="The piece of the note's text that was found.")]
Degraded = Annotated[
    list[str],
    Field(description="The parts that could not help with this answer; empty when all did. The results are the best "
          "that the others can give."),
]  # fmt: skip
RetrievalScore = Annotated[
    float | None, Field(description="The fused score of both searches, 0 to 1; null when there was none.")
]
RetrievalRank = Annotated[
    int | None, Field(description="The place among the candidates, from 1; null when there was none.")
]
FinalScore = Annotated[
    float, Field(description="The score the results are ordered by, the higher the better.")
]

Relevance = Annotated[
    float | None,
    Field(
        description="How much of the query the result holds, on one scale for every query: with the packaged reranker"
        " up to 1, and below 0.42 there is mostly nothing to find. Null when the reranker's scores tell no such thing,"
        " or it could not help."
    ),
]
WeakMatch = Annotated[
    bool | None,
    Field(
        description="Whether no result is relevant enough to count on; null when that is not known. A false name or"
        " person in the query is not noticed by it."
    ),
]
