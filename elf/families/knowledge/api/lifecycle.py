"""Confirming, forgetting and judging memories: requests, answers and operations."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from elf.api.bodies import Request, Response
from elf.api.operation import Operation
from elf.core.errors import NotFound
from elf.families.knowledge import model as m
from elf.families.knowledge.api import fields as f
from elf.families.knowledge.api import rows
from elf.families.knowledge.api.writing import InTenant
from elf.families.knowledge.rules.searchable_text import without_nul

TAG: Final = "knowledge: lifecycle"


def _said(text: str) -> str | None:
    text = without_nul(text).strip()
    return text or None


Said = Annotated[str, Field(max_length=m.MAX_CONTENT_CHARS), AfterValidator(_said)]


class OneMemory(InTenant):
    """Which memory."""

    memory_type: f.MemoryTypeField
    memory_id: f.MemoryId


class MarkHelpful(InTenant):
    """Which rule helped."""

    rule_id: f.RuleId
    context: Said | None = Field(default=None, description="Where it was applied.")


class MarkHarmful(MarkHelpful):
    """Which rule did harm, and why."""

    reason: Said | None = Field(default=None, description="What went wrong.")


class Confirmed(Response):
    confirmed: bool


class Forgotten(Response):
    forgotten: bool


def _post(name: str, path: str, summary: str, request: type[Request], response: type[Response]) -> Operation:
    return Operation(
        name,
        "POST",
        f"/v1/knowledge/{path}",
        summary,
        request,
        response,
        tag=TAG,
        text="any",
        errors=(NotFound,),
    )


CONFIRM: Final = _post(
    "confirm_memory",
    "memories/{memory_type}/{memory_id}/confirm",
    "Confirm a fact or a rule",
    OneMemory,
    Confirmed,
)
FORGET: Final = _post(
    "forget_memory", "memories/{memory_type}/{memory_id}/forget", "Forget a memory", OneMemory, Forgotten
)
MARK_HELPFUL: Final = _post(
    "mark_helpful", "rules/{rule_id}/helpful", "Tell that a rule helped", MarkHelpful, rows.Rule
)
MARK_HARMFUL: Final = _post(
    "mark_harmful", "rules/{rule_id}/harmful", "Tell that a rule did harm", MarkHarmful, rows.Rule
)

LIFECYCLE: Final = (CONFIRM, FORGET, MARK_HELPFUL, MARK_HARMFUL)
