"""Slips of the pen in the statements of knowledge, and in its rules, that the isolation table has to find."""

from __future__ import annotations

from typing import Final

from tests.families.knowledge_proof import TOOL
from tests.families.leaks import BY_TENANT, Leak, Leaks, patched

_WORKER: Final = "work in the background is for a tenant that it was given"
_BEHIND: Final = "it is of what a statement of the same transaction has found within the tenant"
_REFERENCED: Final = "what it finds is referred to within the tenant alone, which the database sees to"
_OPERATORS: Final = "operators ask for it, and it tells counts"
_OFFERED: Final = "what stands above the families asks, and its tests ask as another tenant"
_COUNTS: Final = "it tells counts, and those of another tenant are in none of its fields"


def _lost(query: str, *operations: str) -> Leak:
    """A query that has lost its tenant."""
    return Leak(name=query, query=query, conditions=(BY_TENANT,), operations=operations)


GET: Final = ("get_memory", f"{TOOL}memory_get")
FINDING: Final = (
    "search_knowledge", f"{TOOL}memory_search", "recall", f"{TOOL}memory_recall", "memory_context",
    f"{TOOL}memory_context",
)  # fmt: skip
RESOLVING: Final = ("resolve_entity", f"{TOOL}entity_resolve")

LEAKS: Final = Leaks(
    reading=[
        _lost("get_fact", *GET),
        _lost("get_rule", *GET),
        _lost("get_episode", *GET),
        _lost("is_there", "memory_history", "memory_links"),
        _lost("list_episodes", "list_episodes"),
        _lost("list_facts", "list_facts"),
        _lost("list_rules", "list_rules"),
        _lost("list_entities", "list_entities"),
        _lost("list_events", "list_events"),
        _lost("find_facts", *FINDING),
        _lost("get_entity", "get_entity", f"{TOOL}entity_get"),
        _lost("named_entities", *RESOLVING),
        _lost("similar_entities", *RESOLVING),
        Leak(
            name="traces of every tenant",
            plant=patched("elf.families.knowledge.reading.explain._may_see", lambda trace, reach: True),
            operations=("explain_result",),
        ),
    ],
    changing=[
        _lost("find_ends", "create_link"),
        _lost("lock_rule", "confirm_memory", f"{TOOL}memory_confirm"),
        _lost("lock_fact", "forget_memory", f"{TOOL}memory_forget"),
    ],
    behind_others={
        **dict.fromkeys(
            [
                "delete_expired_episodes", "last_episode_too_many", "delete_consolidated_episodes", "pending_shards",
                "next_batch", "lease_episodes", "hold_leased", "renew_lease", "shown_facts", "shown_rules",
                "target_of_update",
                "confirm_shown", "end_consolidated", "fail_leased", "release_leased", "lock_rule_to_invert",
                "invert_rule", "sweep_facts", "sweep_rules",
            ],
            _WORKER,
        ),
        **dict.fromkeys(
            [
                "facts_of_entities", "conflicting_facts", "count_active_facts", "move_facts", "note_what_stays",
                "supersede_facts", "confirm_fact", "retract_fact", "confirm_rule", "forget_rule", "expire_episode",
                "events_of_memory", "supersession_chain", "links_of_memory", "read_link", "bump_references",
                "contents_of_memories", "update_entity", "mark_rule",
            ],
            _BEHIND,
        ),
        **dict.fromkeys(
            ["share_episodes", "share_entities", "lock_active_of_subject", "lock_active_of_entity"], _REFERENCED
        ),
        **dict.fromkeys(
            [
                "requeue_episodes", "share_episode", "share_fact", "share_rule",
                "list_dead_letters", "list_episode_jobs", "count_episode_jobs",
                "decide_on_episodes",
                "count_outdated", "enqueue_outdated", "has_vector_jobs",
                "erasable_memories", "erase_memories", "lock_entities_to_erase", "erase_entities", "blank_events",
                "blank_events_of_tenant", "erase_traces",
            ],
            _OPERATORS,
        ),
        **dict.fromkeys(
            [
                "offered_episode", "offered_fact", "offered_rule", "standing_of_memories", "texts_of_episodes",
                "lock_episodes_of_subject", "episodes_of_subject", "facts_of_subject", "rules_of_subject",
                "entities_of_facts", "entities_made_by", "lock_entities_of_subject", "erase_lonely_entities",
                "unname_entities", "unsign_memories", "unsign_events",
                "erase_applications_by", "reword_rule", "unname_in_metadata", "erase_searches",
                "erase_rest_of_tenant", "export_episodes", "export_entities", "export_entities_of_tenant",
                "export_facts", "export_rules", "export_supersessions", "export_applications", "export_links",
                "export_events", "export_events_of_tenant", "find_known_ids", "take_in_episodes", "take_in_facts",
                "take_in_rules", "take_in_supersessions", "take_in_applications",
            ],
            _OFFERED,
        ),
        **dict.fromkeys(["count_episodes", "count_searched", "memory_stats"], _COUNTS),
        **dict.fromkeys(
            ["find_episodes", "find_rules"], "it is find_facts with another table, as a test of the statements shows"
        ),
        **dict.fromkeys(
            ["lock_episode", "lock_entities", "insert_entity"],
            "what it locks is changed by a statement that asks for the tenant again",
        ),
        **dict.fromkeys(
            ["find_repeated_episodes", "find_repeated_facts", "find_repeated_rules"],
            "who has not the key of a request is told nothing by it",
        ),
    },
)  # fmt: skip
