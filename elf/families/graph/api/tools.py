"""The tools of the graph family: which operation each forwards to, and what a model is told about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.tool import REQUIRED, Reshaping, Schema, Tool
from elf.families.graph.api import recalling as r
from elf.families.graph.api import remembering
from elf.families.graph.api import writing as w

ABOUT: Final = """\
ELF keeps your memory as a graph: facts, preferences, decisions, identities, events, observations, goals and todos, \
each with where it is from, and edges between them. It lasts from session to session, and is nobody else's.

- Before you work on a message, call graph_bulletin: it tells what you know that matters for it. For one question, \
call graph_recall.
- What will matter later, keep with graph_remember, one thing at a time. To correct a memory, remember it anew with \
its memory_id; what it was stays in its history.
- A memory with unresolvedContradiction stands against another one: do not rely on it. The edge of the type \
Contradicts names both; once you know which is true, call graph_resolve with its edgeId.
- Never remember passwords, keys or other secrets: they are refused.

A call that fails is answered with a JSON object: error_code, message, and fields with the paths of the arguments at \
fault. Correct those and call again; after UNAVAILABLE, wait some seconds and repeat the same call."""

WHOSE: Final = "\n\norchestrator_id says whose memory it is: your own, the same name each time."

PLACE: Final[Mapping[str, Any]] = {"tenant_id": "default", "orchestrator_id": REQUIRED}
_PLACE: Final = {"tenant_id": "The organisation or app.", "orchestrator_id": "Whose memory it is: your own."}


def instructions(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return what an agent is told before it sees the tools."""
    return ABOUT if "orchestrator_id" in fixed else ABOUT + WHOSE


def _of_message(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"purpose": "selector", **arguments}


def _message_schema() -> Schema:
    schema: Schema = r.Context.model_json_schema()
    needed = [name for name in schema["required"] if name != "purpose"]
    return {**schema, "required": [*needed, "message_id", "message"]}


OF_MESSAGE: Final = Reshaping(
    schema=_message_schema, as_request=_of_message, as_failure=lambda body, _: dict(body)
)

TOOLS: Final = (
    Tool(
        name="graph_recall",
        title="Recall memories",
        operation=r.RECALL,
        context=PLACE,
        read_only=True,
        description="Find what you know that helps with a question, by meaning and by words. Returns nodes, best "
        "first, each with its memory and unresolvedContradiction; edges between them and others; citations, where each "
        "is from. No nodes: nothing is known, so do not guess. mode full_text_only: found by words alone.",
        arguments={
            "query": "What you want to know, in words of any language.",
            "top_n": "How many at most, 1 to 100; left out: as the service is set.",
            "types": "Only these kinds.",
            "min_importance": "The least importance, 0 to 100.",
            "conversations": "Only what is from these conversations, by id.",
            "statuses": "superseded: what was true once, too.",
            **_PLACE,
        },
    ),
    Tool(
        name="graph_remember",
        title="Remember",
        operation=w.WRITE,
        context=PLACE,
        reshaping=remembering.RESHAPING,
        destructive=True,
        description="Keep one thing that will matter later. With the memory_id of a memory that there is, it takes "
        "its place. Returns memories with memoryId and outcome (ADD, UPDATE, or NONE: it was there as it is), edges, "
        "and contradictions: edges to memories that say something else of the same matter.",
        arguments={
            "content": "What to keep, in one or a few sentences that can be understood alone.",
            "type": "What kind it is.",
            "importance": "How much it matters, 0 to 100.",
            "confidence": "How sure it is, 0 to 1.",
            "captured_by": "user: somebody told you. system: you found it yourself.",
            "conversation_id": "The conversation it is from.",
            "memory_id": "Of the memory that it takes the place of; left out: a new one.",
            "links": "Edges from it to memories that there are, such as CausedBy what caused it, PartOf what it is "
            "part of. weight is 0 to 1.",
            **_PLACE,
        },
    ),
    Tool(
        name="graph_resolve",
        title="Resolve a contradiction",
        operation=w.RESOLVE,
        context=PLACE,
        destructive=True,
        idempotent=True,
        description="Say which of two memories that contradict each other is true, by exactly one of keep, retract and "
        "both_true. Returns both memories as they are now. CONFLICT: it is resolved already.",
        arguments={
            "edge_id": "The edgeId of the edge of the type Contradicts, from graph_recall or graph_remember.",
            "keep": "This end is true now, and the other one was: FROM is fromMemoryId, TO is toMemoryId.",
            "retract": "This end was never true, or both.",
            "both_true": "true: it is no contradiction.",
            "reason": "How you know.",
            **_PLACE,
        },
    ),
    Tool(
        name="graph_bulletin",
        title="What to know for a message",
        operation=r.CONTEXT,
        context=PLACE,
        reshaping=OF_MESSAGE,
        idempotent=True,
        description="Read what matters for a message before you work on it: knowledge, goals, todos, decisions, "
        "preferences and what is uncertain. Returns bulletin: rendered is the text, citations say where it is from. "
        "A message has one bulletin; the same message_id gives it again. status fallback: an earlier one, or empty.",
        arguments={
            "message_id": "The id of the message: letters, digits and . _ : - only.",
            "message": "What the message says.",
            "max_chars": "Most characters, up to 20,000.",
            **_PLACE,
        },
    ),
)
