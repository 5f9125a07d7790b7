"""The tools of the knowledge family: which operation each forwards to, and what a model is told about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.tool import REQUIRED, Tool
from elf.families.knowledge.api import entities as e
from elf.families.knowledge.api import lifecycle as y
from elf.families.knowledge.api import listing as a
from elf.families.knowledge.api import searching as s
from elf.families.knowledge.api import working as k
from elf.families.knowledge.api import writing as w

ABOUT: Final = """\
ELF keeps what agents learn, across sessions: episodes (what happened, for a week), facts (what is known of a subject) \
and rules (how to behave). Facts and rules fade unless somebody confirms them.

- Before a task, call memory_context or memory_recall to see what is known.
- Store what happened with memory_store_episode; facts and rules are made of episodes later. Store with \
memory_store_fact what you know for sure: it takes the place of what was known of the same subject and predicate.
- When something known proves true, memory_confirm it; when it is wrong, memory_forget it. After you applied a rule, \
tell by memory_mark_helpful or memory_mark_harmful how it went.
- Never store passwords, keys or other secrets: they are blanked.

A call that fails is answered with a JSON object: error_code, message, and fields with the paths of the arguments at \
fault. Correct those and call again; after UNAVAILABLE, wait some seconds and repeat the same call."""

TENANT: Final[Mapping[str, Any]] = {"tenant_id": "default"}
TENANT_AND_BUTLER: Final[Mapping[str, Any]] = {**TENANT, "butler": REQUIRED}

_TENANT_ID: Final = {"tenant_id": "The organisation or app."}
_MEMORY: Final = {
    "memory_type": "episode, fact or rule.",
    "memory_id": "From a search, a recall or an earlier write.",
    **_TENANT_ID,
}
_RULE_ID: Final = {"rule_id": "From a search, a recall or an earlier write."}
_SCOPE: Final = {"scope": "What is for everybody, and what is for this agent; left out: all."}


def instructions(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return what an agent is told before it sees the tools."""
    return ABOUT


WRITING: Final = (
    Tool(
        name="memory_store_episode",
        title="Store an episode",
        operation=w.STORE_EPISODE,
        context=TENANT_AND_BUTLER,
        description="Store what happened in a session, in words. Returns id and expires_at. Facts and rules are made "
        "of it "
        "later.",
        arguments={
            "content": "What happened.",
            "butler": "The agent whose session it was: you.",
            "session_id": "The session, a UUID.",
            "importance": "How much it matters, 0 to 10.",
            **_TENANT_ID,
        },
    ),
    Tool(
        name="memory_store_fact",
        title="Store a fact",
        operation=w.STORE_FACT,
        context=TENANT,
        destructive=True,
        description="Store what is known of a subject. It takes the place of the fact of the same scope, subject and "
        "predicate, if there is one: superseded_id names that. Returns id and superseded_id.",
        arguments={
            "subject": "Whom or what it is about.",
            "predicate": "What of it is told, such as home or seat preference.",
            "content": "What is known.",
            "importance": "How much it matters, 0 to 10.",
            "permanence": "How fast it fades unless it is confirmed; permanent: never.",
            "scope": 'Who it is for: "global", or the name of an agent.',
            "tags": "Words to sort it by.",
            **_TENANT_ID,
        },
    ),
    Tool(
        name="memory_store_rule",
        title="Store a rule",
        operation=w.STORE_RULE,
        context=TENANT,
        description="Store how to behave, as one sentence. It begins as a candidate and proves itself by marks. "
        "Returns id.",
        arguments={
            "content": "What to do, or not to do, and when.",
            "scope": 'Who it is for: "global", or the name of an agent.',
            "tags": "Words to sort it by.",
            **_TENANT_ID,
        },
    ),
)

READING: Final = (
    Tool(
        name="memory_search",
        title="Search memories",
        operation=s.SEARCH,
        context=TENANT,
        read_only=True,
        description="Find episodes, facts and rules by meaning and by words. Returns items, best first, each with "
        "memory_type, its parts and what its score is the sum of.",
        arguments={
            "query": "What to look for.",
            "types": "Which kinds; left out: all.",
            **_SCOPE,
            "mode": "semantic, keyword or hybrid, which is both.",
            "limit": "How many at most, 1 to 100.",
            "min_confidence": "The least confidence, as faded by now; below 0.2 what is fading comes, too.",
            **_TENANT_ID,
        },
    ),
    Tool(
        name="memory_recall",
        title="Recall what matters",
        operation=s.RECALL,
        context=TENANT,
        description="Find the facts and rules that matter most for a topic, by relevance, importance, recency and "
        "confidence. What is recalled counts as referenced. Returns items with composite_score.",
        arguments={
            "topic": "What it is about.",
            **_SCOPE,
            "limit": "How many at most, 1 to 100.",
            **_TENANT_ID,
        },
    ),
    Tool(
        name="memory_get",
        title="Read a memory",
        operation=a.GET_MEMORY,
        context=TENANT,
        description="Read one memory whole. It counts as referenced.",
        arguments=_MEMORY,
    ),
    Tool(
        name="memory_context",
        title="What is known for a prompt",
        operation=s.CONTEXT,
        context=TENANT_AND_BUTLER,
        read_only=True,
        description="Put the facts and rules that matter for a prompt into a block of text for it.",
        arguments={
            "trigger_prompt": "What you are about to work on.",
            "butler": "The agent that works on it: you.",
            "token_budget": "Most tokens of the block.",
            **_TENANT_ID,
        },
    ),
    Tool(
        name="memory_stats",
        title="Count memories",
        operation=s.STATS,
        context=TENANT,
        read_only=True,
        description="Count episodes, facts and rules by their states.",
        arguments={**_SCOPE, **_TENANT_ID},
    ),
)

FEEDBACK: Final = (
    Tool(
        name="memory_confirm",
        title="Confirm a memory",
        operation=y.CONFIRM,
        context=TENANT,
        idempotent=True,
        description="Tell that a fact or a rule is still true: it begins to fade anew from now.",
        arguments={**_MEMORY, "memory_type": "fact or rule."},
    ),
    Tool(
        name="memory_mark_helpful",
        title="A rule helped",
        operation=y.MARK_HELPFUL,
        context=TENANT,
        description="Tell that a rule was applied and helped. Returns the rule with its counts and maturity.",
        arguments={**_RULE_ID, **_TENANT_ID},
    ),
    Tool(
        name="memory_mark_harmful",
        title="A rule did harm",
        operation=y.MARK_HARMFUL,
        context=TENANT,
        destructive=True,
        description="Tell that a rule was applied and did harm, which weighs four times as much as a help. A rule that "
        "goes on doing harm becomes its opposite.",
        arguments={**_RULE_ID, "reason": "What went wrong.", **_TENANT_ID},
    ),
    Tool(
        name="memory_forget",
        title="Forget a memory",
        operation=y.FORGET,
        context=TENANT,
        destructive=True,
        idempotent=True,
        description="Have a memory that is wrong or not wanted no longer found.",
        arguments=_MEMORY,
    ),
)

ENTITIES: Final = (
    Tool(
        name="entity_create",
        title="Create an entity",
        operation=e.CREATE_ENTITY,
        context={"tenant_id": REQUIRED},
        description="Make an anchor for somebody or something that facts are about. Look first with entity_resolve "
        "whether "
        "there is one. Returns entity_id.",
        arguments={
            "canonical_name": "Its name.",
            "entity_type": "person, organization, place or other.",
            **_TENANT_ID,
            "aliases": "Other names of it.",
            "metadata": "Any JSON object.",
        },
    ),
    Tool(
        name="entity_get",
        title="Read an entity",
        operation=e.GET_ENTITY,
        context=TENANT,
        read_only=True,
        description="Read an entity by its id.",
        arguments={"entity_id": "From entity_create or entity_resolve.", **_TENANT_ID},
    ),
    Tool(
        name="entity_update",
        title="Change an entity",
        operation=e.UPDATE_ENTITY,
        context=TENANT,
        destructive=True,
        idempotent=True,
        description="Change an entity: the name and the list of aliases are replaced, keys of metadata added or "
        "replaced.",
        arguments={
            "entity_id": "From entity_create or entity_resolve.",
            "canonical_name": "The new name.",
            "aliases": "All other names.",
            "metadata": "Keys to add or replace.",
            **_TENANT_ID,
        },
    ),
    Tool(
        name="entity_resolve",
        title="Find whom a name means",
        operation=e.RESOLVE_ENTITY,
        context=TENANT,
        read_only=True,
        description="Find the entities that a name may mean, best first, with how the name is theirs and a score. It "
        "makes "
        "none.",
        arguments={
            "name": "The name that was said.",
            **_TENANT_ID,
            "entity_type": "person, organization, place or other; left out: all.",
            "context_hints": "What is known of the situation: topic, mentioned_with, and domain_scores, which adds a "
            "number "
            "to the score of an entity by its id.",
            "enable_fuzzy": "Whether names that are merely similar count.",
        },
    ),
    Tool(
        name="entity_merge",
        title="Make two entities one",
        operation=e.MERGE_ENTITIES,
        context=TENANT,
        destructive=True,
        description="Merge an entity into another: its facts, aliases and metadata go over, and it stays as a "
        "pointer. Of "
        "two facts of one scope and predicate the more confident one stays.",
        arguments={
            "source_entity_id": "The one that goes.",
            "target_entity_id": "The one that stays.",
            **_TENANT_ID,
        },
    ),
)

WORK: Final = (
    Tool(
        name="memory_run_consolidation",
        title="Consolidate episodes now",
        operation=k.RUN_CONSOLIDATION,
        context=TENANT,
        description="Make facts and rules out of the next episodes of each agent now, which else happens by itself. "
        "Returns "
        "counts.",
        arguments=_TENANT_ID,
    ),
    Tool(
        name="memory_run_episode_cleanup",
        title="Clean up episodes now",
        operation=k.RUN_CLEANUP,
        context=TENANT,
        destructive=True,
        idempotent=True,
        description="Delete expired episodes now, and the oldest consolidated ones beyond a number.",
        arguments={"max_entries": "How many may stay.", **_TENANT_ID},
    ),
)

TOOLS: Final = (*WRITING, *READING, *FEEDBACK, *ENTITIES, *WORK)
