"""The tools of the one memory, in words for a model that knows nothing of families."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.tool import Tool
from elf.memory.api.forgetting import FORGET
from elf.memory.api.recalling import EXPLAIN, RECALL
from elf.memory.api.remembering import REMEMBER

ABOUT: Final = """\
ELF is your memory: what was said and learned before this conversation, about users, projects and how things are done.

- Call recall before you answer whenever something said or decided earlier could matter. Ask in plain words.
- Call remember when something lasting was said: who a user is, what they like, what was decided, how things are done. \
Pass the messages as they were said, word for word: what is worth keeping is taken out of them.
- Each item names what it rests on in provenance. Where states says contradicted, fading or superseded_by, doubt it.
- No items means that nothing is known: say so, do not guess.
- When the user wants something forgotten, call forget with a query: it only shows what it finds. Then call it again \
with the handle, and with those of the candidates that are meant.

A call that fails is answered with a JSON object: error_code, message, and fields with the paths of the arguments at \
fault. Correct those and call again; after UNAVAILABLE, wait some seconds and repeat the same call."""

PLACE: Final[Mapping[str, Any]] = {
    "tenant_id": "default", "user_id": None, "agent_id": None, "project_id": None,
}  # fmt: skip
_WHOSE: Final[Mapping[str, str]] = {
    "user_id": "Whom it is about.",
    "agent_id": "Which agent you are.",
    "project_id": "The project you work on. Left out: the user's own.",
    "tenant_id": "The organisation or app.",
}


def instructions(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return what an agent is told before it sees the tools."""
    return ABOUT


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="recall",
        title="Recall what is known",
        operation=RECALL,
        context=PLACE,
        read_only=True,
        description="Find what was said and learned before that answers a question. Returns items, best first, each "
        "with its text, what it rests on (provenance), when it was said (at), and how relevant it is.",
        arguments={
            "query": "What you need to know, in plain words of any language.",
            "since": "Only what is from this moment, or date, on.",
            "until": "Only what is from before.",
            "top_k": "How many items at most, 1 to 100.",
            "budget_tokens": "How many tokens all texts have at most.",
            "min_relevance": "Leave out what is less relevant: .3 is nothing in common, 1 the same words.",
            "only_agent": "Whether to leave out what is of another agent.",
            **_WHOSE,
        },
    ),
    Tool(
        name="remember",
        title="Remember what was said",
        operation=REMEMBER,
        context=PLACE,
        destructive=True,
        description="Keep what was said for later. Facts, preferences and decisions are taken out of the messages, "
        "each with the words that prove it. Returns an id, and what became of it so far.",
        arguments={
            "messages": "What was said, oldest first: each with content, and role, which is user, assistant or tool.",
            "conversation": "The conversation it is of, by any name: the same for all of one.",
            "request_id": "A name of your own for this call: a repeat with the same one does nothing twice.",
            "wait_ms": "How long to wait for what becomes of it, in ms.",
            "dry_run": "Only tell what would be kept.",
            **_WHOSE,
        },
    ),
    Tool(
        name="explain",
        title="Explain an answer of recall",
        operation=EXPLAIN,
        context=PLACE,
        read_only=True,
        description="Tell why recall answered as it did: what each score is made of, and what was left out and why.",
        arguments={"trace_id": "That of the answer.", **_WHOSE},
    ),
    Tool(
        name="forget",
        title="Forget what is known",
        operation=FORGET,
        context=PLACE,
        destructive=True,
        idempotent=True,
        description="Forget something, in two calls. First with a query: nothing is forgotten, candidates and a handle "
        "are returned. Then with that handle, and the candidates that are meant as items: these are forgotten, and the "
        "answer says of each what became of it.",
        arguments={
            "query": "What is to be forgotten, in plain words. Alone, in the first call.",
            "handle": "That of the first call's answer.",
            "items": "family, kind and id of the candidates that are meant; left out with a handle: all that were "
            "shown. Without a handle: items whose addresses you know, such as those of a recall.",
            "cascade": "Take the words out of the conversations, too, where they were said.",
            "top_k": "How many candidates at most, 1 to 100.",
            "min_relevance": "Show none that is less relevant: .3 is nothing in common, 1 the same words.",
            **_WHOSE,
        },
    ),
)
