"""Slips of the pen in the statements of the assistant, and in its rules, that the isolation table has to find."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from elf.api.caller import Caller
from elf.families.assistant.access import Access
from elf.families.assistant.model import Place
from tests.families.leaks import BY_TENANT, Condition, Leak, Leaks, loosened

BY_USER: Final = Condition("users", re.compile(r"\w+\.user_id = (\$\d+)"))

_BEHIND: Final = "it is of what a statement of the same transaction has found within the tenant"
_PLACE: Final = "it is done for the user whose memory another statement has found"
_WORKER: Final = "work in the background is for a user that it was given"
_KEYS: Final = "who has not every word of a turn is told nothing by it"
_CHECKPOINTS: Final = "what it finds is read by another statement, which asks for the tenant again"
_OPERATORS: Final = "operators ask for it, and a test of erasing and exporting shows whose it is"
_OFFERED: Final = "it is asked by whoever stands above all families; the tests of offers show whose it is"
_OWN_THREADS: Final = "it is of threads that are locked by the tenant's name, which no other has"

_SIZE: Final = "it tells who has just written a checkpoint no more than whether that is too large"
_FILE: Final = "the file is read, or its folder locked, by a statement before it"
_TAKEN: Final = (
    "it tells no more than that something is there; a test of files shows that it does not of others'"
)

_CHANGING: Final = (
    "update_assistant_memory", "pin_assistant_memory", "delete_assistant_memory", "restore_assistant_memory",
)  # fmt: skip
_OF_USERS: Final = (
    "get_assistant_memory", "list_assistant_memories", "assistant_memory_history", "assistant_history",
    "assistant_user_context", "assistant_proposals", "memory_query", "get_checkpoint", "list_checkpoints",
    "get_thread_checkpoint", "view_assistant_file", "read_assistant_file", "list_assistant_files",
    "list_assistant_file_versions", "search_assistant_files",
)  # fmt: skip
_CATEGORIES: Final = ("get_assistant_memory", "assistant_memory_history", "assistant_history")


def _lost(query: str, *operations: str, condition: Condition = BY_TENANT, also: tuple[str, ...] = ()) -> Leak:
    """A query, and others that it is held by, which have lost a condition."""
    return Leak(
        name=f"{query} of all {condition.what}",
        query=query,
        conditions=(condition,),
        operations=operations,
        plant=loosened(also, condition) if also else None,
    )


def _anybody(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Whoever names a user gets this user's memory."""

    def place(_: Access, tenant_id: str, user_id: str | None, caller: Caller, *, path: str = "") -> Place:
        return Place(tenant_id, user_id or caller.user or "")

    patch.setattr(Access, "place", place)


def _every_category(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Agents reach every category."""
    patch.setattr(Access, "categories", lambda self, caller, *, wanted=None: None)


LEAKS: Final = Leaks(
    reading=[
        _lost("get_memory", "get_assistant_memory"),
        _lost("get_memory", "get_assistant_memory", condition=BY_USER),
        _lost("list_memories", "list_assistant_memories"),
        _lost("list_memories", "list_assistant_memories", condition=BY_USER),
        _lost("list_history", "assistant_memory_history"),
        _lost("list_all_history", "assistant_history"),
        _lost("list_all_history", "assistant_history", condition=BY_USER),
        _lost("get_user_context", "assistant_user_context"),
        _lost("list_proposals", "assistant_proposals"),
        _lost("load_saver_checkpoints", "get_checkpoint", "list_checkpoints",
              also=("find_saver_checkpoints",)),
        _lost("get_file", "view_assistant_file", "read_assistant_file"),
        _lost("get_file", "view_assistant_file", "read_assistant_file", condition=BY_USER),
        _lost("look_into_folder", "view_assistant_file"),
        _lost("look_into_folder", "view_assistant_file", condition=BY_USER),
        _lost("list_files", "list_assistant_files"),
        _lost("list_files", "list_assistant_files", condition=BY_USER),
        _lost("list_file_versions", "list_assistant_file_versions"),
        _lost("search_files", "search_assistant_files"),
        _lost("search_files", "search_assistant_files", condition=BY_USER),
        Leak(name="users may name other users", plant=_anybody, operations=_OF_USERS),
        Leak(name="agents reach every category", plant=_every_category, operations=_CATEGORIES),
    ],
    changing=[
        _lost("find_candidates", "memory_query"),
        _lost("find_candidates", "memory_query", condition=BY_USER),
        _lost("changes_since", "memory_query"),
        _lost("get_memory", *_CHANGING),
        _lost("lock_proposal", "decide_assistant_proposal"),
        _lost("lock_file", "str_replace_assistant_file", "insert_assistant_file", also=("update_file",)),
        _lost("measure_files", "rename_assistant_file"),
        _lost("delete_files", "delete_assistant_file"),
        _lost("delete_files", "delete_assistant_file", condition=BY_USER),
    ],
    behind_others={
        **dict.fromkeys(["restore_sources"], "it is of lines that an operator takes in for the tenant that is named"),
        "redact_supervisor_checkpoints": "operators do it for the tenant that is named",
        "restore_relations": "it is of lines that an operator takes in for the tenant that is named",
        **dict.fromkeys(
            [
                "log_changes", "pending_proposal", "end_proposal", "is_corroborated", "find_related",
                "count_recall", "see_thread", "end_turn", "texts_of", "find_equal_memory", "update_memory",
                "drop_vector", "put_vector", "purge_memory",
                "blank_history", "blank_changes", "link_neighbours", "move_relations",
                "keep_recent", "due_after_turn",
                "forget_recent", "forget_proposals", "forget_signals", "lock_merged_into", "repeat_memory",
                "read_recent_of_user",
                "newest_texts", "add_source", "move_sources", "drop_source", "move_to_thread", "take_source",
            ],
            _BEHIND,
        ),
        **dict.fromkeys(["lock_memory", "category_of", "near_memories"], _PLACE),
        "get_turn": _KEYS,
        **dict.fromkeys(
            [
                "comparable_memories", "compared_since", "end_episode", "end_run", "give_back_fingerprints",
                "has_ended", "newest_of_type", "note_compared", "read_recent", "used_of_budget",
                "users_to_consolidate",
            ],
            _WORKER,
        ),
        **dict.fromkeys(
            [
                "erase_rows", "erase_memories_of_agent", "erase_recalls_of_agent", "leave_threads_of_agent",
                "export_memories", "export_sources",
                "export_relations",
                "export_history", "export_user_contexts", "export_proposals", "export_thread_checkpoints",
            ],
            _OPERATORS,
        ),
        **dict.fromkeys(
            ["get_file_version", "update_file", "move_files", "restore_files", "restore_file_versions"], _FILE
        ),
        **dict.fromkeys(["what_stands_at", "file_among", "count_files"], _TAKEN),
        **dict.fromkeys(["export_files", "export_file_versions"], _OPERATORS),
        **dict.fromkeys(["find_saver_checkpoints"], _CHECKPOINTS),
        **dict.fromkeys(["categories_of", "standing_of"], _OFFERED),
        **dict.fromkeys(
            [
                "put_supervisor_checkpoint", "put_agent_state", "owners_of_saver_threads", "owners_of_saver_runs",
                "threads_of_saver_runs", "delete_saver_runs", "prune_saver_threads", "sweep_saver_threads",
                "copy_saver_thread", "agents_of_saver_threads",
            ],
            _OWN_THREADS,
        ),
        "size_of_saver_checkpoint": _SIZE,
    },
)  # fmt: skip
