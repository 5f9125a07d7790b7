"""Comparing memories, asked for now: request, report and operation."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.families.assistant.api import fields as f

TAG: Final = "assistant: consolidation"


class Consolidate(Request):
    """Whose memories are compared: those of one user, of a tenant, or of all."""

    tenant_id: f.TenantIdGiven | None = None
    user_id: Annotated[f.UserIdGiven, Field(description="A user of that tenant.")] | None = None
    dry_run: bool = Field(default=False, description="Whether it is only told what would be done.")


class Consolidated(Response):
    """What it came to. Tokens are those of the questions and of the longest answers that they may have."""

    dry_run: bool
    users: int
    duplicates_before: int = Field(description="How many pairs might be one memory.")
    duplicates_after: int
    pairs_seen: int
    pairs_asked: int = Field(description="How many pairs a language model was asked about.")
    questions: int
    merged: int = Field(description="How many pairs became one memory.")
    contradictions: int = Field(description="How many pairs are opposites; both stay and are linked.")
    tokens: int
    skipped: dict[str, int] = Field(
        description="How many pairs stay two for now, by reason: COMPARED_LATELY, PAIRS_CAP, TOKEN_BUDGET, TIME, "
        "MODEL_AWAY, UNREADABLE, UNDECIDED, DIFFERENT, NO_TEXT, CHANGED."
    )


CONSOLIDATE: Final = Operation(
    "consolidate_assistant", "POST", "/v1/admin/assistant/consolidate", "Compare memories now", Consolidate,
    Consolidated, tag=TAG, is_slow=True, counted=("merged",),
)  # fmt: skip
