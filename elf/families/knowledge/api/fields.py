"""The fields that requests and responses of knowledge share: their types and bounds, and what they mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from pydantic import AfterValidator, Field, JsonValue

from elf.api.bodies import WHOLE, GivenIdentifier, Identifier, NulDropped, no_credential
from elf.api.json_bounds import USUAL
from elf.api.seen_text import SEEN as SEEN
from elf.api.seen_text import is_seen, seen
from elf.families.knowledge import model as m
from elf.families.knowledge.rules.searchable_text import without_nul

MAX_PAGE: Final = 200
MAX_CURSOR_CHARS: Final = 512
MAX_BATCH: Final = 256
MEMORY_EXAMPLE: Final = "5b0a6c1e-7a4f-4a55-9a0e-2d1f7c3b8e10"
ENTITY_EXAMPLE: Final = "e7f1a2b3-0c4d-4e5f-8a9b-1c2d3e4f5a60"


def named(text: str) -> str:
    """Return a name stripped. Raises ValueError when nothing of it can be seen, or it holds a NUL."""
    if "\x00" in text:
        raise ValueError("must hold no NUL")
    if not is_seen(text):
        raise ValueError("must not be blank")
    return text.strip()


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata as it is. Raises ValueError for keys that the service writes, and when it is too long."""
    if taken := sorted(m.RESERVED_METADATA & metadata.keys()):
        raise ValueError(f"must not hold {', '.join(taken)}: the service keeps the state there")
    if len(msgspec.json.encode(metadata)) > m.MAX_METADATA_BYTES:
        raise ValueError(f"must be at most {m.MAX_METADATA_BYTES:,} bytes of JSON")
    return metadata


METADATA_BOUNDS: Final = replace(USUAL, string_chars=16 * m.MAX_METADATA_BYTES)
"""Of requests with metadata: a text in it may be as long as a body, so that the size of all of it alone decides."""


def _tags(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


# Whose it is

_TENANT = "The organisation or application the memory belongs to. Tenants never see each other's."
TenantId = Annotated[Identifier, Field(description=_TENANT, examples=["acme"])]
TenantIdGiven = Annotated[GivenIdentifier, Field(description=_TENANT, examples=["acme"])]
_BUTLER = "The agent whose session it was."
Butler = Annotated[str, Field(description=_BUTLER, examples=["travel"])]
ButlerGiven = Annotated[GivenIdentifier, Field(description=_BUTLER, examples=["travel"])]
_SCOPE = 'Who it is for: "global", or the name of an agent. What is in user:<id> is for that user alone.'
Scope = Annotated[str, Field(description=_SCOPE, examples=["global"])]
ScopeGiven = Annotated[GivenIdentifier, Field(description=_SCOPE, examples=["global"])]
IdempotencyKey = Annotated[
    GivenIdentifier,
    Field(
        description="Makes a repeat harmless: the same request with the same key gets the first answer and stores"
        " nothing; another request with it is refused.",
        examples=["run-17-fact-3"],
    ),
]

# What is stored

MemoryTypeField = Annotated[m.MemoryType, Field(description="episode, fact or rule.")]
MemoryId = Annotated[UUID, Field(description="The id of a memory.", examples=[MEMORY_EXAMPLE])]
RuleId = Annotated[UUID, Field(description="The id of a rule.", examples=[MEMORY_EXAMPLE])]
EntityId = Annotated[UUID, Field(description="The id of an entity.", examples=[ENTITY_EXAMPLE])]
Content = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_CONTENT_CHARS, description="What is known, in words.",
          examples=["prefers window seats"], json_schema_extra=SEEN),
    AfterValidator(seen),
    NulDropped(),
]  # fmt: skip
EpisodeContent = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_EPISODE_CHARS, description="What happened, in words.",
          examples=["Ana asked for a window seat."], json_schema_extra=SEEN),
    AfterValidator(seen),
    NulDropped(),
]  # fmt: skip
Subject = Annotated[
    str,
    Field(
        min_length=1,
        max_length=m.MAX_NAME_CHARS,
        description="Whom or what it is about.",
        examples=["Ana"],
        json_schema_extra=SEEN,
    ),
    AfterValidator(named),
]
Predicate = Annotated[
    str,
    Field(min_length=1, max_length=m.MAX_NAME_CHARS, description="What of it is told.", examples=["seat preference"],
          json_schema_extra=SEEN),
    AfterValidator(named),
]  # fmt: skip
Importance = Annotated[
    float, Field(ge=0.0, le=10.0, description="How much it matters, 0 to 10.", examples=[5.0])
]
PermanenceField = Annotated[
    m.Permanence,
    Field(description="How fast confidence in it fades while nobody confirms it: permanent (never), stable, standard,"
          " volatile or ephemeral."),
]  # fmt: skip
Tag = Annotated[
    str, Field(min_length=1, max_length=m.MAX_TAG_CHARS, json_schema_extra=SEEN), AfterValidator(named)
]
# By their names facts take each other's place: two that differ in a blanked credential would do so, too.
SubjectGiven = Annotated[Subject, AfterValidator(no_credential)]
PredicateGiven = Annotated[Predicate, AfterValidator(no_credential)]
TagsGiven = Annotated[
    list[Annotated[Tag, AfterValidator(no_credential)]],
    Field(max_length=m.MAX_TAGS, description="Words to sort it by.", examples=[["travel"]]),
    AfterValidator(_tags),
]
Metadata = Annotated[
    dict[str, JsonValue],
    Field(description="Any JSON object, kept as it is.", examples=[{"ticket": "SUP-1204"}]),
    AfterValidator(_metadata),
]

# How it is found and listed

Query = Annotated[
    str,
    Field(max_length=m.MAX_QUERY_CHARS, description="What to look for; blank finds nothing."),
    AfterValidator(without_nul),
    NulDropped(),
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most."), WHOLE]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many at most, 1 to 200.", examples=[50])]
CursorGiven = Annotated[
    str,
    Field(
        max_length=MAX_CURSOR_CHARS, description="The next_cursor of the page before, in the same listing."
    ),
]
NextCursor = Annotated[
    str | None, Field(description="What to pass as cursor for the next page; null on the last one.")
]
UnitInterval = Annotated[float, Field(ge=0.0, le=1.0)]
MinConfidence = Annotated[
    UnitInterval, Field(description="The least effective confidence; below 0.2 what is fading comes, too.")
]
Degraded = Annotated[
    list[str],
    Field(description='What was away: "embedding" (by words only), "storage"; empty when nothing was.'),
]
ResultHandle = Annotated[UUID, Field(description="Names this result when its search is to be explained.")]
