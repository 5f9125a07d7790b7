"""The tools of the conversations family: which operation each forwards to, and what a model is told about it.

They read. What is said and remembered is written by the program around a model, which knows all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from elf.api.tool import Tool
from elf.config.tables.conversations import Bounds
from elf.families.conversations.api import context as x
from elf.families.conversations.api import conversations as c
from elf.families.conversations.api import search as s
from elf.families.conversations.api.bounded import bounded
from elf.families.conversations.api.fields import STANDARD

ABOUT: Final = """\
ELF keeps conversations: what users and agents said, as entries of a history, and what each agent remembers of a \
conversation. You see those of one user, your own memory, and nobody else's. A conversation may be forked: its forks \
share what was said before, and are conversations of their own.

- To go on with a conversation, call conversation_context with its id: it tells what you remember of it, or what was \
said last.
- To find an earlier conversation, call conversation_search with what was said in it, or conversation_list for the \
latest ones and by title.
- A list that goes on has nextCursor: call again with it as after, and the other arguments as they were.

A call that fails is answered with a JSON object: error, code, and details, which say what is wrong and with which \
argument. Correct that and call again; after unavailable, wait some seconds and repeat the same call."""

_CONVERSATION: Final = "Its id, from conversation_list or conversation_search."
_AFTER: Final = "nextCursor of the page before."


def instructions(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return what an agent is told before it sees the tools."""
    return ABOUT


_TOOLS: Final = (
    Tool(
        name="conversation_list",
        title="List conversations",
        operation=c.LIST,
        context={},
        read_only=True,
        description="List the user's conversations, changed last first. Returns data, each with id, title, "
        "lastMessagePreview and updatedAt, and nextCursor.",
        arguments={
            "query": "Part of the title, in any case; left out: all.",
            "mode": "Of a conversation and its forks all, the root, or the one that was changed last.",
            "limit": "How many at most, 1 to {limit}.",
            "after": _AFTER,
        },
    ),
    Tool(
        name="conversation_context",
        title="What to know to go on",
        operation=x.CONTEXT,
        context={},
        read_only=True,
        description="Read what your next turn in a conversation needs: what you remember of it (source: memory), or "
        "when you remember nothing what was said (source: history), entries oldest first. truncated when older ones "
        "did not fit.",
        arguments={
            "conversationId": _CONVERSATION,
            "maxChars": "Most characters of content, up to 1,000,000; the newest entry comes in any case.",
        },
    ),
    Tool(
        name="conversation_search",
        title="Search conversations",
        operation=s.SEARCH,
        context={},
        read_only=True,
        description="Find what was said in the user's conversations, best first. Returns data, each with "
        "conversationId, conversationTitle, entryId, score, highlights and the entry, and nextCursor.",
        arguments={
            "query": "What was spoken of, in words of any language.",
            "searchType": "semantic: what means the same. fulltext: all words, or what begins with them. auto: both.",
            "groupByConversation": "Whether only the best entry of each conversation is told.",
            "limit": "How many at most, 1 to {limit}.",
            "includeEntry": "Whether each comes with its entry.",
            "after": _AFTER,
        },
    ),
)


def tools_of(bounds: Bounds) -> tuple[Tool, ...]:
    """Return the tools with the bounds of a config."""
    return tuple(_bounded(tool, bounds) for tool in _TOOLS)


def _bounded(tool: Tool, bounds: Bounds) -> Tool:
    told = bounds.model_dump()
    arguments = {name: meaning.format(**told) for name, meaning in tool.arguments.items()}
    return replace(tool, operation=bounded(tool.operation, bounds), arguments=arguments)


TOOLS: Final = tools_of(STANDARD)
