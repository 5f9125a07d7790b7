"""The tools of the assistant family: which operation each forwards to, and what a model is told about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.tool import REQUIRED, Tool
from elf.families.assistant.api import querying as q

ABOUT: Final = """\
ELF keeps what an assistant remembers of its users: lasting facts, what was discussed, and how things are done.

- Call memory_query when what you were given does not tell what you need to know of the user. Say which agent you are: \
each has categories of its own.
- Nothing in items means that nothing is known, so do not guess.

A call that fails is answered with a JSON object: error_code, message, and fields with the paths of the arguments at \
fault. Correct those and call again; after UNAVAILABLE, wait some seconds and repeat the same call."""

PLACE: Final[Mapping[str, Any]] = {"tenant_id": "default", "agent_id": REQUIRED}


def instructions(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return what an agent is told before it sees the tools."""
    return ABOUT


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="memory_query",
        title="Ask the memory of a user",
        operation=q.QUERY,
        context=PLACE,
        read_only=True,
        description="Find what is known of a user. Returns items, best first; context, what is always worth knowing; "
        "and related, what has to do with the items.",
        arguments={
            "agent": "Which agent you are.",
            "query": "What to look for, in words of any language.",
            "categories": "Only these; left out: all of yours but procedural, which is how things are done.",
            "types": "Only these kinds.",
            "filters": "Only such memories; user_id is whose they are, and dates are exclusive.",
            "top_k": "How many items at most, 1 to 50.",
            "threshold": "The least cosine of an item.",
            "return": "bullets, a line each, or full.",
            "budget_tokens": "How many tokens all texts have at most, 16 to 8192.",
            "thread_id": "The conversation.",
            "reason": "recall: you are not sure; at most 3 bullets of 512 tokens.",
            "tenant_id": "The organisation or app.",
        },
    ),
)
