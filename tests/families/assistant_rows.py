"""What of an assistant's memory somebody could be after, by which operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.families.assistant_world import AssistantWorld, checkpoint, path_of
from tests.families.rows import (
    COLLEAGUE,
    FOREIGN,
    INCOMPLETE,
    NARROW,
    STRANGER,
    Arguments,
    Attempt,
    Kind,
    Row,
)

Told = Callable[[AssistantWorld], Any]
NOT_THERE: Final = frozenset({FOREIGN, INCOMPLETE})
OF_THE_TENANT: Final = {COLLEAGUE: "whoever is of the tenant and proves no user may name each of its users"}
WHATEVER_AGENT: Final = OF_THE_TENANT | {NARROW: "it is of no category, and so of every agent of the user"}
BY_THREAD: Final = WHATEVER_AGENT | {INCOMPLETE: "a thread that one user has may be named without the user"}
_OPERATOR: Final = "an operator of the tenant works on each of its users"
OF_OPERATORS: Final = dict.fromkeys((COLLEAGUE, NARROW, STRANGER, INCOMPLETE), _OPERATOR)
SUPERVISOR: Final = {"agent": "supervisor"}


def _id(name: str) -> Told:
    return lambda world: getattr(world, name)


def _path(name: str) -> Told:
    return lambda world: path_of(getattr(world, name))


def _folder(name: str) -> Told:
    return lambda world: f"/memories/{getattr(world, name)}"


def _told(
    label: str, *, refused: bool = False, narrow: str = "", sees: bool = True, of: Told | None = None, **fields: Any
) -> Attempt:  # fmt: skip
    """Something to be told. `refused`: for who names another memory than the owner's it is of nothing there is.

    An agent that may not read the category is `narrow`: its request is "refused" likewise, or "forbidden".
    """

    def arguments(world: AssistantWorld, own: AssistantWorld | None) -> Mapping[str, Any]:
        said = {name: value(world) if callable(value) else value for name, value in fields.items()}
        return said if of is None else {**of(world), **said}

    also: frozenset[Kind] = frozenset({NARROW})
    return Attempt(
        label=label,
        arguments=arguments,
        refused=(NOT_THERE if refused else frozenset()) | (also if narrow == "refused" else frozenset()),
        forbidden=frozenset({STRANGER}) | (also if narrow == "forbidden" else frozenset()),
        owner_sees=sees,
    )


def _done(label: str, *, refused: bool = True, narrow: str = "refused", **fields: Any) -> Attempt:
    """Something to be done to what the owner has."""
    return _told(label, refused=refused, narrow=narrow, sees=False, **fields)


def _row(
    *names: str, attempts: list[Attempt], open_to: Mapping[Kind, str] = OF_THE_TENANT, **more: Any
) -> Row:
    return Row(names=names, attempts=attempts, open_to=open_to, **more)


def _changing(name: str, memory_id: str, **fields: Any) -> Row:
    return _row(name, attempts=[_done("by id", memory_id=_id(memory_id), **fields)])


def _query(world: AssistantWorld) -> str:
    return f"the museum of {world.word}"


def _in_filters(sent: Arguments) -> Arguments:
    """Put the user where a query names it."""
    filters = {"user_id": sent["user_id"]} if "user_id" in sent else {}
    return {**{name: value for name, value in sent.items() if name != "user_id"}, "filters": filters}


def _named(sent: Arguments) -> Arguments:
    """Put the user where an erasure names it."""
    return {**{name: value for name, value in sent.items() if name != "user_id"}, "name": sent.get("user_id")}


def _lines(world: AssistantWorld) -> list[dict[str, Any]]:
    moments = dict.fromkeys(("created_at", "updated_at"), "2026-01-02T03:04:05Z")
    memory = {
        "id": world.goal, "type": "semantic", "category": "goals", "text": "It rains.", "importance": 1,
        "pinned": False, "state": "active", "source": "manual", **moments,
    }  # fmt: skip
    return [{"user_id": "somebody", "memory": memory}]


def _threads(world: AssistantWorld) -> list[str]:
    return [world.thread]


def _write(world: AssistantWorld) -> list[dict[str, Any]]:
    return [{"channel": "messages", "idx": 0, "type": "bytes", "data": "aGk="}]


def _agreed(world: AssistantWorld) -> list[dict[str, Any]]:
    return [{"proposal_id": world.city, "decision": "approve", "quote": "That is right"}]


READING: Final = (
    _row("get_assistant_memory", attempts=[
        _told("by id", refused=True, narrow="refused", memory_id=_id("goal")),
        _told("a deleted one", refused=True, narrow="refused", memory_id=_id("gone")),
    ]),
    _row("list_assistant_memories", attempts=[
        _told("all", limit=200), _told("of the thread", thread_id=_id("thread")),
        _told("deleted ones", state="soft_deleted"),
    ]),
    _row("assistant_memory_history", attempts=[
        _told("by id", refused=True, narrow="refused", memory_id=_id("goal")),
    ]),
    _row("assistant_history", attempts=[_told("all", limit=200)]),
    _row("assistant_user_context", attempts=[_told("all")], open_to=WHATEVER_AGENT),
    _row("assistant_proposals", attempts=[_told("all")], open_to=WHATEVER_AGENT),
    _row(
        "memory_query", sent_as=_in_filters,
        attempts=[
            _told("by its words", query=_query, **SUPERVISOR),
            _told("all of it", query=_query, **SUPERVISOR, **{"return": "full"}, top_k=50, budget_tokens=8192),
            _told("in the thread", query="what is wanted?", **SUPERVISOR, thread_id=_id("thread"), since_rev=0),
            _told("how it is done", query=_query, agent="planner", categories=["procedural"], narrow="forbidden"),
        ],
    ),
    _row("get_checkpoint", attempts=[
        _told("the newest", thread_id=_id("thread")),
        _told("by id", thread_id=_id("thread"), checkpoint_id=_id("checkpoint")),
    ], open_to=WHATEVER_AGENT),
    _row("list_checkpoints", attempts=[
        _told("all"), _told("of the thread", thread_id=_id("thread")),
        _told("of the run", facts=lambda world: {"run_id": world.checkpoint}),
    ], open_to=WHATEVER_AGENT),
    _row("get_thread_checkpoint", attempts=[
        _told("of the thread", thread_id=_id("thread")), _told("without a saver", thread_id=_id("other_thread")),
    ], open_to=WHATEVER_AGENT),
)  # fmt: skip

FILES: Final = (
    _row("view_assistant_file", attempts=[
        _told("the file", refused=True, path=_path("file")), _told("all", path="/memories"),
        _done("the folder", path=_folder("file")),
    ], open_to=WHATEVER_AGENT),
    _row("read_assistant_file", attempts=[
        _told("the file", refused=True, path=_path("file")),
        _told("as it was", refused=True, path=_path("file"), version=1),
    ], open_to=WHATEVER_AGENT),
    _row("list_assistant_files", attempts=[
        _told("all"), _done("below", refused=False, narrow="", path=_folder("file")),
    ], open_to=WHATEVER_AGENT),
    _row(
        "list_assistant_file_versions",
        attempts=[_done("of the file", path=_path("file"))], open_to=WHATEVER_AGENT,
    ),
    _row("search_assistant_files", attempts=[_told("by its words", query="the boat")], open_to=WHATEVER_AGENT),
    _row("create_assistant_file", attempts=[
        _done("beside it", refused=False, path="/memories/new.md", file_text="It rains."),
    ], open_to=WHATEVER_AGENT),
    _row("str_replace_assistant_file", attempts=[
        _done("of the file", path=_path("spare_file"), old_str="boat", new_str="ship"),
    ], open_to=WHATEVER_AGENT),
    _row("insert_assistant_file", attempts=[
        _done("into the file", path=_path("spare_file"), insert_line=0, insert_text="It rains."),
    ], open_to=WHATEVER_AGENT),
    _row("rename_assistant_file", attempts=[
        _done("the folder", old_path=_folder("spare_file"), new_path="/memories/elsewhere"),
    ], open_to=WHATEVER_AGENT),
    _row("delete_assistant_file", attempts=[
        _done("the folder", path=_folder("doomed_file")),
    ], open_to=WHATEVER_AGENT),
)  # fmt: skip

CHANGING: Final = (
    _changing("update_assistant_memory", "spare", importance=5),
    _changing("pin_assistant_memory", "spare", pinned=True),
    _changing("delete_assistant_memory", "doomed", hard="true"),
    _changing("restore_assistant_memory", "gone"),
    _row("add_assistant_memory", attempts=[
        _done("in the thread", refused=False, narrow="forbidden", text="User hopes for rain.", category="goals",
              thread_id=_id("thread")),
    ]),
    _row("add_assistant_procedure", attempts=[
        _done("in the thread", refused=False, narrow="forbidden", steps=["Look up."], thread_id=_id("thread")),
    ]),
    _row("assistant_turn", attempts=[
        _done("the same turn", refused=False, of=lambda world: world.turn),
        _done("a decision", turn_id="2", thread_id=_id("thread"), acknowledgements=_agreed,
              messages=[{"role": "user", "content": "That is right."}]),
    ], open_to=WHATEVER_AGENT),
    _row("decide_assistant_proposal", attempts=[
        _done("by id", proposal_id=_id("city"), decision="approve"),
    ], open_to=WHATEVER_AGENT),
    _row("put_checkpoint", attempts=[
        _done("in the thread", refused=False, thread_id=_id("thread"),
              of=lambda world: checkpoint(world.checkpoint, "aGk=")),
    ], open_to=WHATEVER_AGENT),
    _row("put_checkpoint_writes", attempts=[
        _done("after the checkpoint", refused=False, thread_id=_id("thread"), checkpoint_id=_id("checkpoint"),
              task_id="task", writes=_write),
    ], open_to=WHATEVER_AGENT),
    _row("copy_checkpoints", attempts=[
        _done("of the thread", refused=False, source_thread_id=_id("thread"),
              target_thread_id=_id("copied_thread")),
    ], open_to=BY_THREAD),
    _row("save_thread_checkpoint", attempts=[
        _done("of the thread", refused=False, thread_id=_id("other_thread"), checkpoint_data={"says": "nothing"}),
    ], open_to=WHATEVER_AGENT),
    _row("prune_checkpoints", attempts=[
        _done("of the copy", refused=False, thread_ids=lambda world: [world.copied_thread], strategy="delete"),
    ], open_to=BY_THREAD),
    _row("delete_checkpoints", attempts=[
        _done("of the thread", refused=False, thread_ids=_threads),
        _done("of the run", refused=False, run_ids=lambda world: [world.checkpoint]),
    ], open_to=BY_THREAD),
)  # fmt: skip

EXPORTING: Final = (
    _row("export_own_assistant_memory", attempts=[_told("all", narrow="forbidden")]),
    _row("export_assistant_memory", attempts=[_told("of the user")], open_to=OF_OPERATORS),
)
KEEPING: Final = (
    _row("redact_checkpoints", attempts=[_done("of all threads", refused=False)], open_to=OF_OPERATORS),
    _row("consolidate_assistant", attempts=[_done("what is alike", refused=False)], open_to=OF_OPERATORS, spans=True),
    _row(
        "import_assistant_memory", attempts=[_done("the same memory", refused=False, items=_lines)],
        open_to=OF_OPERATORS,
    ),
    # Last, for nothing of the owner is left when it has done this itself.
    _row(
        "erase_assistant_memory", attempts=[_done("the user", refused=False, what="user")], open_to=OF_OPERATORS,
        sent_as=_named,
    ),
)  # fmt: skip

ROWS: Final = (*READING, *FILES, *EXPORTING, *CHANGING, *KEEPING)
