"""The users of one tenant: what comes from one of them, and everybody of the tenant who must not be told of it.

The owner is the user ana with a token. To others what is hers does not exist, whatever they prove themselves by; an
agent's key without a user is told of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from tests.families import graph_leaks, graph_rows, graph_world, knowledge_proof
from tests.families.callers import OWNER_PROJECT
from tests.families.fronts import Reply
from tests.families.identities import Identity
from tests.families.knowledge_leaks import FINDING, GET, RESOLVING
from tests.families.knowledge_proof import SHARED, TOOL
from tests.families.leaks import Condition, Leak, patched
from tests.families.rows import COLLEAGUE, FOREIGN, Attempt, Caller, Row, World

_BOUND: Final = frozenset({"tenant_id", "project_id"})

OWNER: Final = Caller(
    "the owner", COLLEAGUE, {}, identity=Identity("token", user=OWNER_PROJECT, role="user"), leaves_out=_BOUND
)
AGENT: Final = Caller("agent's key", COLLEAGUE, {}, identity=Identity("key", role="user"))
USERS: Final = (
    Caller(
        "another user", FOREIGN, {}, identity=Identity("token", user="bob", role="user"), leaves_out=_BOUND
    ),
    Caller("key of another user", FOREIGN, {}, identity=Identity("key", user="bob", role="user")),
    Caller("key for another user", FOREIGN, {}, identity=Identity("key", acts_for="bob", role="user")),
    Caller(
        "auditor", FOREIGN, {}, identity=Identity("token", user="audrey", role="auditor"), leaves_out=_BOUND
    ),
    Caller(
        "the user elsewhere",
        FOREIGN,
        {"tenant_id": "{0} of others"},
        identity=Identity("token", user=OWNER_PROJECT, role="user"),
        leaves_out=_BOUND,
    ),
    AGENT,
)
OWNER_BY_KEY: Final = Caller(
    "the owner", COLLEAGUE, {}, identity=Identity("key", user=OWNER_PROJECT, role="user")
)
"""The same user, who comes by a key over standard input."""
BY_KEY: Final = tuple(one for one in USERS if one.identity is not None and one.identity.proof == "key")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersProof:
    """What a family keeps apart by user: how something of a user is made, the rows to try it by, and leaks to find."""

    name: str
    settle: Callable[..., World]
    rows: Sequence[Row]
    reading: Sequence[Leak] = ()
    changing: Sequence[Leak] = ()
    owner: Caller = OWNER
    callers: Sequence[Caller] = USERS


# Knowledge

BY_USER: Final = Condition(
    "users", re.compile(r"knowledge_reaches\(\s*(\$\d+),(?:[^()]|\([^()]*\))*\)"), "text[]"
)
OF_ENTITY: Final = Condition("users", re.compile(r"\((\$\d+)::text\[\]\)\[2\] IS NULL"), "text[]")


def _counts_nothing(*parts: str) -> Callable[[Reply, Any], str | None]:
    """Return what finds fault with an answer that counts anything, in these parts of it or as a whole."""

    def check(reply: Reply, own: Any) -> str | None:
        told = [reply.body[part] for part in parts] if parts else [reply.body]
        counted = [value for one in told for value in one.values() if isinstance(value, int | dict) and value]
        return f"counts {counted}" if counted else None

    return check


def _counting(*names: str, check: Callable[[Reply, Any], str | None], **arguments: Any) -> Row:
    attempt = Attempt(
        label="what it counts",
        arguments=lambda world, own: arguments,
        tried_by=frozenset({FOREIGN}),
        owner_sees=False,
        check=check,
    )
    return Row(names=names, attempts=[attempt], open_to=SHARED)


_COUNTED: Final = (
    _counting("knowledge_stats", f"{TOOL}memory_stats", check=_counts_nothing("episodes", "facts", "rules")),
    _counting("run_consolidation", f"{TOOL}memory_run_consolidation", check=_counts_nothing()),
    _counting(
        "run_episode_cleanup", f"{TOOL}memory_run_episode_cleanup", check=_counts_nothing(), max_entries=1000
    ),
)
_OF_OPERATORS: Final = frozenset(
    {
        "decay_sweep", "consolidate_all", "clean_up_all", "requeue_episodes", "reembed_knowledge", "dead_letters",
        "erase_knowledge", "share_knowledge", "knowledge_schedules",
    }
)  # fmt: skip
_ABOVE: Final = (
    Row(names=("recall_memories", "memory recall"), open_to=SHARED, attempts=[
        Attempt(label="by its words", arguments=lambda world, own: {"query": f"aisle {world.word}"}),
    ]),
    Row(names=("context_of_memory",), open_to=SHARED, attempts=[
        Attempt(label="by its words", arguments=lambda world, own: {"query": f"aisle {world.word}"}),
    ]),
    *(
        Row(names=("read_item",), open_to=SHARED, attempts=[
            Attempt(
                label=f"the {kind}",
                arguments=lambda world, own, kind=kind: {  # type: ignore[misc]
                    "family": "knowledge", "kind": kind, "id": getattr(world, kind),
                },
                refused=frozenset({FOREIGN}),
            ),
        ])
        for kind in ("fact", "rule", "episode")
    ),
    Row(names=("forget_memories", "memory forget"), open_to=SHARED, attempts=[
        Attempt(
            label="the fact",
            arguments=lambda world, own: {"items": [{"family": "knowledge", "kind": "fact", "id": world.fact}]},
            tried_by=frozenset({FOREIGN}),
            owner_sees=False,
        ),
    ]),
)  # fmt: skip
_KNOWLEDGE_ROWS: Final = (
    *_COUNTED,  # first, for later others have something of their own that is counted
    *(
        row
        for row in knowledge_proof.ROWS
        if not _OF_OPERATORS.union(*(one.names for one in _COUNTED)).intersection(row.names)
    ),
    *_ABOVE,
)


def _lost(query: str, *operations: str, of: Condition = BY_USER) -> Leak:
    """A query that no longer keeps users apart."""
    return Leak(name=query, query=query, conditions=(of,), operations=operations)


KNOWLEDGE: Final = UsersProof(
    name="knowledge",
    settle=partial(knowledge_proof.settle, owner=OWNER),
    rows=_KNOWLEDGE_ROWS,
    reading=[
        _lost("get_fact", *GET),
        _lost("get_rule", *GET),
        _lost("get_episode", *GET),
        _lost("is_there", "memory_history", "memory_links"),
        _lost("list_episodes", "list_episodes"),
        _lost("list_facts", "list_facts"),
        _lost("list_rules", "list_rules"),
        _lost("list_events", "list_events"),
        _lost("find_facts", *FINDING),
        _lost("find_episodes", "search_knowledge", f"{TOOL}memory_search"),
        _lost("memory_stats", "knowledge_stats", f"{TOOL}memory_stats"),
        _lost("pending_shards", "run_consolidation"),
        _lost("count_episodes", "run_episode_cleanup", f"{TOOL}memory_run_episode_cleanup"),
        _lost("offered_fact", "read_item"),
        _lost("offered_rule", "read_item"),
        _lost("list_entities", "list_entities", of=OF_ENTITY),
        _lost("get_entity", "get_entity", f"{TOOL}entity_get", of=OF_ENTITY),
        _lost("named_entities", *RESOLVING, of=OF_ENTITY),
        _lost("similar_entities", *RESOLVING, of=OF_ENTITY),
        Leak(
            name="traces of every user",
            plant=patched("elf.families.knowledge.reading.explain._may_see", lambda trace, reach: True),
            operations=("explain_result",),
        ),
    ],
    changing=[
        _lost("find_ends", "create_link"),
        _lost("share_episodes", "store_fact"),
        _lost("lock_rule", "confirm_memory", f"{TOOL}memory_confirm", "mark_helpful", f"{TOOL}memory_mark_helpful"),
        _lost("lock_fact", "forget_memory", f"{TOOL}memory_forget"),
        _lost("lock_entities", "update_entity", f"{TOOL}entity_update", of=OF_ENTITY),
        _lost("share_entities", "store_fact", of=OF_ENTITY),
    ],
)  # fmt: skip


# Graph

_AT_ORCHESTRATOR: Final = frozenset({"orchestrator_id", "requesting_orchestrator_id"})
_OPERATED: Final = frozenset(
    {"graph_export", "graph_import", "graph_share", "graph_recover", "graph_erase", "graph_orchestrators"}
)


def _counts_no_memory(reply: Reply, own: Any) -> str | None:
    counts = reply.body["counts"]
    return f"counts {counts}" if counts["memories"] or counts["edges"] else None


_STATUS: Final = Row(names=("graph_status",), open_to=SHARED, attempts=[
    Attempt(
        label="what it counts", tried_by=frozenset({FOREIGN}), owner_sees=False, check=_counts_no_memory
    ),
])  # fmt: skip


def _above(*names: str, refused: bool = False, sees: bool = True, **fields: Callable[[Any], Any]) -> Row:
    """Something that is asked over all families, of the agent that is the orchestrator."""
    attempt = Attempt(
        label="of the graph",
        arguments=lambda world, own: {
            "agent_id": world.place["orchestrator_id"],
            **{name: value(world) for name, value in fields.items()},
        },
        refused=frozenset({FOREIGN}) if refused else frozenset(),
        owner_sees=sees,
    )
    return Row(names=names, attempts=[attempt], open_to=SHARED, lacks=_AT_ORCHESTRATOR)


def _address(world: Any) -> dict[str, str]:
    return {"family": "graph", "kind": world.place["orchestrator_id"], "id": world.fact}


_ABOVE_THE_GRAPH: Final = (
    _above("recall_memories", "memory recall", query=lambda world: f"office {world.word}"),
    _above("context_of_memory", query=lambda world: f"office {world.word}"),
    _above("read_item", refused=True, family=lambda _: "graph",
           kind=lambda world: world.place["orchestrator_id"], id=lambda world: world.fact),
    _above("forget_memories", "memory forget", sees=False, items=lambda world: [_address(world)]),
)  # fmt: skip


def _without_users(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Every user is told of all that the orchestrator has, as if it called without one."""
    for module in ("service", "memory_writing", "memory_listing", "status"):
        patch.setattr(f"elf.families.graph.{module}.viewer_of", lambda _: None)


def _without_users_above(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Over all families everybody is the owner."""
    patch.setattr("elf.families.graph.offers.user_named", lambda subject, caller: OWNER_PROJECT)


GRAPH: Final = UsersProof(
    name="graph",
    settle=partial(graph_world.settle, owner=OWNER),
    rows=[
        _STATUS,
        *(row for row in graph_rows.ROWS if not _OPERATED.union(_STATUS.names).intersection(row.names)),
        *_ABOVE_THE_GRAPH,
    ],
    reading=[
        Leak(
            name="a memory is every user's",
            plant=_without_users,
            operations=("graph_status", *graph_leaks.READING),
        ),
        Leak(
            name="over all families a memory is every user's",
            plant=_without_users_above,
            operations=("recall_memories", "memory recall", "context_of_memory", "read_item"),
        ),
    ],
    changing=[
        Leak(
            name="a memory is changed by every user",
            plant=_without_users,
            operations=(*graph_leaks.CHANGING, "graph_write_memories"),
        ),
        Leak(
            name="over all families a memory is forgotten by every user",
            plant=_without_users_above,
            operations=("forget_memories",),
        ),
    ],
)

USER_PROOFS: Final = (KNOWLEDGE, GRAPH)
IDENTITIES: Final = {
    one.identity
    for proof in USER_PROOFS
    for one in (proof.owner, OWNER_BY_KEY, *proof.callers)
    if one.identity is not None
}
