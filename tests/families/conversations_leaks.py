"""Slips of the pen in the statements of conversations, and in their rules, that the isolation table has to find."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from elf.db.queries import Queries
from elf.families.conversations.finding.reach import Reach
from elf.index.port import IndexFilter
from tests.families.leaks import BY_TENANT, Condition, Leak, Leaks, patched

BY_MEMBER: Final = Condition("members", re.compile(r"m\.user_id = (\$\d+)"))
BY_CLIENT: Final = Condition("clients", re.compile(r"e\.client_id = (\$\d+)"))
BY_USER: Final = Condition("users", re.compile(r"s\.user_id = (\$\d+)"))
BY_PARTY: Final = Condition("parties", re.compile(r"(\$3) IN \(x\.from_user_id, x\.to_user_id\)"))

_FOUND: Final = "it is of what a statement of the same transaction has found within the tenant"
_LOCKED: Final = "what it locks is changed by a statement that asks for the tenant again"
_EVICTED: Final = "it tells nothing of what was there; that it is one tenant's, the tests of evicting show"
_OF_A_SUBJECT: Final = (
    "it is asked for a whole subject; that this is of one tenant, the tests of erasing and exporting show"
)
_RECORDED: Final = "it is of a recording that the process has found before, and whose id nobody is told"
_UNREAD: Final = "it is asked over gRPC alone, and answers with ids that the caller has sent"
_OF_ONE: Final = (
    "get_conversation", "list_conversation_entries", "read_conversation_context", "list_forks", "list_memberships",
)  # fmt: skip


def _lost(query: str, condition: Condition, *operations: str) -> Leak:
    return Leak(
        name=f"{query} does not tell {condition.what} apart",
        query=query,
        conditions=(condition,),
        operations=operations,
    )


def _anybody(*_: object) -> None:
    """Refuses nobody."""


def _without_levels(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Nobody asks for a level."""
    for module in ("trees", "store", "sharing"):
        patch.setattr(f"elf.families.conversations.{module}.refuse_less", _anybody)


def _as_the_owner(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Whoever writes is taken for the owner of the tree."""
    read = Queries.__getitem__

    def loose(queries: Queries, name: str) -> str:
        owner = "m.access_level = 'owner' AND $3::text IS NOT NULL"
        return read(queries, name).replace(
            "m.user_id = $3", owner if name == "write_entry" else "m.user_id = $3"
        )

    patch.setattr(Queries, "__getitem__", loose)


def _everything(*_: object) -> bool:
    return True


async def _anywhere(reach: Reach, *_: object) -> IndexFilter:
    """The whole index, whose ever it is."""
    return IndexFilter(must={})


def _found_anywhere(query: str, condition: Condition, operation: str = "search_conversations") -> Leak:
    """A query of the search that has lost a condition, which those before and behind it have lost, too."""

    def plant(patch: pytest.MonkeyPatch, world: Any) -> None:
        patch.setattr(Reach, "where", _anywhere)
        _lost("read_found", BY_TENANT).planted(patch, world)

    return Leak(
        name=f"{query} and the index do not tell {condition.what} apart",
        query=query,
        conditions=(condition,),
        plant=plant,
        operations=(operation,),
    )


LEAKS: Final = Leaks(
    reading=[
        _found_anywhere("find_by_words", BY_TENANT),
        _found_anywhere("find_by_words", BY_MEMBER),
        _found_anywhere("find_all_by_words", BY_TENANT, "admin_search_conversations"),
        _found_anywhere("read_passages", BY_TENANT),
        _found_anywhere("read_passages", BY_MEMBER),
        _lost("get_conversation", BY_TENANT, *_OF_ONE),
        _lost("get_conversation", BY_MEMBER, *_OF_ONE),
        _lost("list_conversations", BY_TENANT, "list_conversations"),
        _lost("list_conversations", BY_MEMBER, "list_conversations"),
        *(
            _lost(query, condition, operation)
            for query, operation in (
                ("get_session", "read_session"), ("list_sessions", "list_sessions"),
            )
            for condition in (BY_TENANT, BY_USER)
        ),
        _lost("find_session_key", BY_TENANT, "read_session_line"),
        _lost("find_session_key", BY_USER, "read_session_line"),
        _lost("list_transfers", BY_TENANT, "list_transfers"),
        _lost("get_transfer", BY_TENANT, "get_transfer"),
        _lost("get_transfer", BY_PARTY, "get_transfer"),
        _lost("list_unindexed", BY_TENANT, "list_unindexed_entries"),
        _lost(
            "get_any_conversation", BY_TENANT, "admin_get_conversation", "admin_list_memberships", "admin_list_forks",
            "admin_list_entries",
        ),
        *(
            _lost(query, BY_TENANT, "admin_list_conversations")
            for query in (
                "list_newest_conversations", "list_conversations_of_owner", "list_deleted_conversations",
            )
        ),
        _lost("list_view", BY_CLIENT, "list_conversation_entries"),
        _lost("list_tree_entries", BY_CLIENT, "list_conversation_entries"),
        _lost("moment_of_entry", BY_CLIENT, "list_conversation_entries"),
        Leak(
            name="reading without being a member",
            plant=patched("elf.families.conversations.trees.refuse_less", _anybody),
            operations=_OF_ONE,
        ),
        Leak(
            name="cursors in the memory of others",
            plant=patched("elf.families.conversations.store._may_see", _everything),
            operations=("list_conversation_entries",),
        ),
    ],
    changing=[
        _lost(
            "lock_tree", BY_TENANT, "share_conversation", "update_membership", "delete_membership", "create_transfer",
            "delete_conversation",
        ),
        _lost("lock_session", BY_USER, "write_session", "delete_session"),
        _lost("lock_entries", BY_TENANT, "index_entries"),
        _lost("lock_any_tree", BY_TENANT, "admin_delete_conversation"),
        _lost("latest_memory", BY_CLIENT, "sync_entries"),
        _lost("lock_conversation", BY_MEMBER, "sync_entries"),
        Leak(
            name="writing as if one were the owner",
            plant=_as_the_owner,
            operations=("append_entry",),
        ),
        Leak(
            name="forks at the memory of others",
            plant=patched("elf.families.conversations.store._may_see", _everything),
            operations=("fork_conversation",),
        ),
        Leak(
            name="changing without being a member",
            plant=_without_levels,
            operations=("fork_conversation", "create_transfer", "delete_conversation"),
        ),
    ],
    behind_others={
        "conversations_of_owner": "operators ask for it, of a user of the tenant that is named",
        "entries_of_sources": "the tests of forgetting ask for entries of others",
        "named_conversation": "what is asked for is made of the tenant's name, too",
        "erase_names": "operators erase whom they may name, which the request says",
        "clients_of_entries": "it is of entries that were found for the caller",
        "owners_of_conversations": "the graph asks for it, and tells nobody but the owner what it keeps by it",
        **dict.fromkeys(
            [
                "insert_tree", "insert_fork", "level_of", "retitle", "list_forks", "delete_tree",
                "locate_entry", "entry_at", "latest_memory", "list_view", "list_view_backwards", "list_tree_entries",
                "moment_of_entry", "index_entries", "list_memberships", "drop_membership", "transfer_of_tree",
                "delete_transfer",
                "begin_session", "move_session", "drop_session", "change_owner", "set_level", "put_membership",
                "read_found", "read_texts", "is_in_tree", "transfer_exists", "redact_entry", "redact_titles",
            ],
            _FOUND,
        ),
        "lock_conversation": _LOCKED,
        "lock_session": "what it finds of another tenant is no session that this one could move or drop",
        "write_entry": "what it finds of another tenant would break the references of what it adds",
        "find_waiting": "it finds as read_passages does, for as long as something is on its way into the index",
        "readable_conversations": "it tells which conversations that a memory names are the user's, and no more",
        "read_beginnings": "while the index is away it reads what find_by_words has found",
        **dict.fromkeys(["trees_shared_with", "trees_taken_over"], "they widen what the index is asked for alone"),
        **dict.fromkeys(["begin_recording", "follow_recording", "cancel_recordings"], _FOUND),
        **dict.fromkeys(
            [
                "renew_recording", "end_recording", "drop_recording", "follow_again", "unfollow_recording",
                "any_recording",
            ],
            _RECORDED,
        ),
        "check_recordings": _UNREAD,
        "read_entry": "it is asked by whoever stands above all families alone; the tests of offers show what it hides",
        **dict.fromkeys(
            [
                "restore_tree", "locate_any_entry", "list_whole_view", "list_whole_tree", "begin_eviction",
                "evict_entries", "evict_conversations", "evict_tree",
            ],
            _FOUND,
        ),
        **dict.fromkeys(["count_evictable", "take_evictable"], _EVICTED),
        **dict.fromkeys(
            [
                "lock_trees_of_tenant", "lock_trees_of_owner", "hide_trees", "lock_whole_tree", "erase_recordings",
                "erase_recorded", "next_membership", "next_begun_tree", "unsign_texts", "unsign_tree",
                "next_tree_of_user", "next_tree_of_client", "blank_entries_of_user", "blank_entries_of_client",
                "spoil_memories", "erase_texts", "erase_previews", "page_of_titles", "erase_titles", "export_trees",
                "export_transfer", "export_conversations", "export_entries", "export_memberships",
                "export_entries_of_user", "export_entries_of_client", "erase_sessions",
                "export_sessions", "take_in_session", "take_in_conversation", "take_in_entries", "known_entries",
            ],
            _OF_A_SUBJECT,
        ),
    },
)  # fmt: skip
