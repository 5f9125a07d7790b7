"""What of an orchestrator's memory somebody could be after, by which operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.families.graph_world import GraphWorld, memory
from tests.families.rows import COLLEAGUE, FOREIGN, INCOMPLETE, NARROW, STRANGER, Attempt, Row

Told = Callable[[GraphWorld], Any]
NOT_THERE: Final = frozenset({FOREIGN, INCOMPLETE})
DENIED: Final = frozenset({STRANGER})
OF_THE_TENANT: Final = dict.fromkeys(
    [COLLEAGUE, NARROW], "whoever is of the tenant and bound to no agent may name each of its orchestrators"
)


def _id(name: str) -> Told:
    return lambda world: getattr(world, name)


def _told(label: str, *, refused: bool = False, sees: bool = True, **fields: Any) -> Attempt:
    """Something to be told. `refused`: for who names another memory than the owner's, it is of nothing there is."""
    return Attempt(
        label=label,
        arguments=lambda world, own: {
            name: value(world) if callable(value) else value for name, value in fields.items()
        },
        refused=NOT_THERE if refused else frozenset(),
        forbidden=DENIED,
        owner_sees=sees,
    )


def _done(label: str, *, refused: bool = True, **fields: Any) -> Attempt:
    """Something to be done to what the owner has."""
    return _told(label, refused=refused, sees=False, **fields)


def _row(*names: str, attempts: list[Attempt]) -> Row:
    return Row(names=names, attempts=attempts, open_to=OF_THE_TENANT)


def _word(world: GraphWorld) -> str:
    return f"office {world.word}"


def _changing(name: str, memory_id: str, **fields: Any) -> Row:
    return _row(name, attempts=[_done("by id", memory_id=_id(memory_id), **fields)])


def _links(world: GraphWorld) -> list[dict[str, Any]]:
    return [{"to_memory_id": world.fact, "edge_type": "PartOf"}]


def _edges(world: GraphWorld) -> list[dict[str, Any]]:
    ends = {"fromMemoryId": world.spare, "toMemoryId": world.fact}
    return [{**ends, "edgeType": "PartOf", "weight": 0.5}]


def _lines(world: GraphWorld) -> list[dict[str, Any]]:
    moments = dict.fromkeys(("createdAt", "updatedAt"), "2026-01-02T03:04:05Z")
    of_orchestrator = {"orchestratorId": "planner", "summary": "Rain", "status": "retracted", **moments}
    return [{"memory": memory(world.spare, "It rains.", **of_orchestrator), "version": 7}]


READING: Final = (
    _row("graph_list_memories", attempts=[
        _told("all", status="all", limit=200), _told("of a type", type="Fact"),
    ]),
    _row("graph_get_memory", attempts=[_told("by id", refused=True, memory_id=_id("fact"))]),
    _row("graph_memory_history", attempts=[_told("by id", refused=True, memory_id=_id("past"))]),
    _row("graph_memory_edges", attempts=[_told("by id", refused=True, memory_id=_id("fact"))]),
    _row("graph_list_contradictions", attempts=[_told("all")]),
    _row("graph_list_ingested", attempts=[_told("all", sees=False)]),
    _row("graph_status", attempts=[_told("of the memory", sees=False)]),
    _row("graph_recall", attempts=[
        _told("by its word", query=_word),
        _told("by words alone", query=_word, top_k_vector=0, statuses=["active", "superseded"]),
    ]),
    _row("graph_context", attempts=[
        _told("for a message", purpose="selector", message_id="m-1", message=_word),
        _told("for diagnostics", purpose="diagnostics", prompt=_word),
    ]),
    _row("graph_export", attempts=[_told("all of it")]),
    _row("graph_bulletin", attempts=[_told("for a message", message_id="m-1", message=_word)]),
)  # fmt: skip

CHANGING: Final = (
    _changing("graph_update_memory", "spare", importance=90),
    _changing("graph_supersede_memory", "spare", by_memory_id=_id("fact")),
    _changing("graph_retract_memory", "spare"),
    _changing("graph_restore_memory", "lost"),
    _row("graph_resolve_contradiction", attempts=[
        _done("by id", edge_id=_id("contradiction"), both_true=True, reason="guessed"),
    ]),
    _row("graph_resolve", attempts=[
        _done("by id", edge_id=_id("dispute"), both_true=True, reason="guessed"),
    ]),
    _row("graph_write_edges", attempts=[_done("between memories of the owner", edges=_edges)]),
    _row("graph_remember", attempts=[
        _done("what follows from a memory of the owner", content="It rains.", type="Fact", links=_links),
    ]),
    _row("graph_write_diagnostics", attempts=[
        _done(
            "what follows from a memory of the owner", finding_id="f-1", text="It is slow.",
            related_memory_ids=lambda world: [world.fact],
        ),
    ]),
    _row("graph_write_transcript", attempts=[
        _done("a message", refused=False, message_id="m-1", conversation_id="c-1", text="It rains."),
    ]),
    _row("graph_write_output", attempts=[
        _done(
            "of a step", refused=False, workflow_run_id="r-1", step_id="s-1", outputs={"decision": "Use Postgres."}
        ),
    ]),
    _row("graph_ingest_now", attempts=[_done("the folder", refused=False)]),
    _row("graph_share", attempts=[_done("by id", memory_id=_id("spare"), shared=False)]),
    _row("graph_recover", attempts=[_done("what is sound", refused=False)]),
    # What has the id of a memory of the owner is another one where somebody else writes it.
    _row("graph_write_memories", attempts=[
        _done("of the same id", refused=False, memories=lambda world: [memory(world.spare, "It rains.")]),
    ]),
    _row("graph_import", attempts=[_done("of the same id", refused=False, items=_lines)]),
    _row("graph_erase", attempts=[_done("by id", refused=False, memory_ids=lambda world: [world.doomed])]),
)  # fmt: skip

OVERSEEING: Final = Row(
    names=("graph_orchestrators",),
    attempts=[_told("those of the tenant", sees=False)],
    open_to=OF_THE_TENANT | {STRANGER: "it is about no orchestrator of its own"},
    lacks=frozenset({"orchestrator_id", "requesting_orchestrator_id"}),
    spans=True,
)

ROWS: Final = (*READING, *CHANGING, OVERSEEING)
