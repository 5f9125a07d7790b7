"""The tools of the knowledge family: which operation each forwards to, and what a model is told about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elf.api.tool import Tool
from elf.families.knowledge.api import writing

ABOUT: Final = """\
ELF keeps what agents learn: episodes (what happened in a session), facts (what is known of a subject) and rules (how to
behave). Facts and rules fade unless they are confirmed."""


def instructions(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return what an agent is told before it sees the tools."""
    return ABOUT


TOOLS: Final = (
    Tool(
        name="memory_store_fact",
        title="Store a fact",
        operation=writing.STORE_FACT,
        destructive=True,
        description="Store what is known of a subject. It supersedes what was known of the same subject and predicate.",
        arguments={
            "subject": "Whom or what it is about.",
            "predicate": "What of it is told.",
            "content": "What is known.",
            "importance": "How much it matters, 0 to 10.",
            "permanence": "How fast it fades.",
            "scope": "Who it is for.",
            "tags": "Words to sort it by.",
            "tenant_id": "The organisation or app.",
        },
    ),
)
