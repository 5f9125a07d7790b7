"""How each family that offers candidates is given something to offer: a new one is one entry here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from uuid import uuid4

from elf.api.caller import Caller
from elf.families.assistant.api import memories as assistant
from elf.families.conversations.api import conversations
from elf.families.conversations.api import entries as conversation_entries
from elf.families.graph.api import writing as graph
from elf.families.knowledge.api import writing as knowledge
from elf.families.notes.api import operations as notes
from elf.offers import Subject
from tests.families.offers_house import OffersHouse

AGENT: Final = "planner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """A family that offers candidates.

    `keep` has it keep a text of a subject, as said now, and `kind` is that of the item which this becomes. `agent_id`
    is the agent of the subject, where the family needs one: then what is kept is that agent's, and no other reads it.
    `keeps_tokens` tells whether items have token vectors.
    """

    kind: str
    keep: Callable[[OffersHouse, Subject, str], Awaitable[object]]
    agent_id: str | None = None
    keeps_tokens: bool = False


def caller_of(subject: Subject) -> Caller:
    """Return the user of a subject, who is bound to its tenant."""
    return Caller(user=subject.user, bound={"tenant_id": subject.tenant_id})


async def _say(house: OffersHouse, subject: Subject, text: str) -> None:
    caller = caller_of(subject)
    begun = await house.do("conversations", conversations.CREATE, caller, title="A trip")
    await house.do(
        "conversations",
        conversation_entries.APPEND,
        caller,
        conversationId=begun.id,
        contentType="history",
        content=[{"text": text}],
    )


async def _write(house: OffersHouse, subject: Subject, text: str) -> None:
    source = {"sourceType": "channel_transcript", "capturedBy": "system", "conversationId": str(uuid4())}
    memory = {"type": "Fact", "importance": 50, "content": text, "confidence": 0.8, "source": source}
    await house.do(
        "graph",
        graph.WRITE,
        caller_of(subject),
        tenant_id=subject.tenant_id,
        orchestrator_id=subject.agent_id,
        memories=[memory],
    )


async def _remember(house: OffersHouse, subject: Subject, text: str) -> None:
    whose = {"tenant_id": subject.tenant_id, "user_id": subject.user}
    evidence = [{"quote": text, "turn_id": str(uuid4())}]
    await house.do(
        "assistant",
        assistant.ADD,
        caller_of(subject),
        **whose,
        text=text,
        category="goals",
        evidence=evidence,
    )


async def _note(house: OffersHouse, subject: Subject, text: str) -> None:
    note = {
        "type": "fact",
        "text": text,
        "importance": 0.5,
        "confidence": 0.9,
        "source_ref": {"thread": "t1"},
    }
    await house.do(
        "notes",
        notes.ADD_NOTE,
        caller_of(subject),
        tenant_id=subject.tenant_id,
        project_id=subject.user,
        agent_id=subject.agent_id,
        scope="agent_private",
        merge_similar=False,
        notes=[note],
    )


async def _witness(house: OffersHouse, subject: Subject, text: str) -> None:
    await house.do(
        "knowledge",
        knowledge.STORE_EPISODE,
        caller_of(subject),
        tenant_id=subject.tenant_id,
        content=text,
        butler="chat",
        metadata={"user_id": subject.user, "message_id": str(uuid4())},
    )


OFFERINGS: Final[Mapping[str, Offering]] = MappingProxyType(
    {
        "notes": Offering(kind="note", keep=_note, agent_id=AGENT, keeps_tokens=True),
        "knowledge": Offering(kind="episode", keep=_witness),
        "conversations": Offering(kind="entry", keep=_say, keeps_tokens=True),
        "graph": Offering(kind=AGENT, keep=_write, agent_id=AGENT),
        "assistant": Offering(kind="memory", keep=_remember, agent_id="supervisor"),
    }
)
