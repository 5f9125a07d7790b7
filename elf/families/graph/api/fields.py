"""The fields that requests and answers of the graph share: their types and bounds, and what they mean."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from elf.api.bodies import WHOLE, GivenIdentifier, Identifier, Request, no_credential
from elf.core.blank_text import NOT_BLANK
from elf.families.graph import model as m

_TENANT = "The organisation or application the memory belongs to. Tenants never see each other's."
TenantId = Annotated[Identifier, Field(description=_TENANT, examples=["acme"])]
TenantIdGiven = Annotated[GivenIdentifier, Field(description=_TENANT, examples=["acme"])]
OrchestratorId = Annotated[
    str,
    Field(pattern=m.ORCHESTRATOR_PATTERN, description="Whose memory it is.", examples=["planner"]),
    AfterValidator(no_credential),
]
Id = Annotated[
    str,
    Field(pattern=m.ID_PATTERN, description="1-128 letters, digits, dots, _, : and -.", examples=["msg-17"]),
]
GivenId = Annotated[Id, AfterValidator(no_credential)]
Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=m.MAX_QUERY_CHARS,
        pattern=NOT_BLANK,
        description="What is looked for, in words.",
        examples=["Where is the office?"],
    ),
]
Text = Annotated[
    str,
    Field(
        min_length=1,
        max_length=m.MAX_CONTENT_CHARS,
        pattern=NOT_BLANK,
        description="What was said or found, in words.",
        examples=["The office moved to Lisbon."],
    ),
]
TopN = Annotated[int, Field(ge=1, le=100, description="How many memories at most."), WHOLE]
RrfK = Annotated[int, Field(ge=1, le=1_000, description="The k of 1 / (k + rank)."), WHOLE]
LegSize = Annotated[
    int, Field(ge=0, le=1_000, description="How many a leg finds at most; 0 switches it off."), WHOLE
]
Importance = Annotated[int, Field(ge=0, le=m.MAX_IMPORTANCE, description="How much it matters."), WHOLE]
BulletinChars = Annotated[
    int, Field(ge=1, le=20_000, description="How long a bulletin may be, in characters."), WHOLE
]
Degraded = Annotated[
    list[str],
    Field(
        description='What was away, or left out: "embedding" (by words only), "source_path" (files not granted); of a '
        'context also "message" and "prompt" (blank, too long, or no text).'
    ),
]

DEFAULT_BULLETIN_CHARS: Final = 4_000


class InOrchestrator(Request):
    """A request to the memory of one orchestrator, on behalf of one: the same, or it is refused."""

    tenant_id: TenantIdGiven
    orchestrator_id: OrchestratorId
    requesting_orchestrator_id: OrchestratorId | None = Field(
        default=None,
        description="Which orchestrator asks: none but the same may. Null: the agent of the key, or the same.",
    )
