"""The tenant is a wall in every statement of knowledge: each table that one touches is entered by a tenant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import elf.families.knowledge
from elf.db.queries import sql_folder
from elf.families.knowledge.kit import knowledge_queries

FOLDER = Path(elf.families.knowledge.__file__).parent
TABLES = {
    *re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", "".join(
        path.read_text() for path in (sql_folder() / "knowledge" / "tables").glob("*.sql")
    )),
    "search_traces", "search_trace_items",
}  # fmt: skip

# What belongs to no tenant.
OF_NOBODY: Final = {"knowledge_embedding_versions": "which models wrote vectors is of the whole service"}

EPISODES, FACTS, RULES, JOBS = (f"knowledge_{name}" for name in ("episodes", "facts", "rules", "outbox"))
# Statements that look over the wall, with the tables where they do, and why they may.
OF_ALL_TENANTS: Final = {
    "tenants_with_episodes": ({EPISODES}, "a chore finds its tenants, and then asks for each"),
    "decaying_tenants": ({FACTS, RULES}, "a chore finds its tenants, and then asks for each"),
    "pending_shards": ({EPISODES}, "the consolidation that is due finds its shards, and then asks for each"),
    "requeue_episodes": ({EPISODES}, "an operator has all tried again, or those of a tenant"),
    "list_dead_letters": ({EPISODES}, "an operator looks at all, or at those of a tenant"),
    "list_episode_jobs": ({EPISODES}, "an operator looks at all, or at those of a tenant"),
    "count_episode_jobs": ({EPISODES}, "an operator looks at all, or at those of a tenant"),
    "decide_on_episodes": ({EPISODES}, "an operator decides on all, or on those of a tenant"),
    "count_outdated": ({EPISODES, FACTS, RULES}, "an operator moves all to another model, or a tenant"),
    "enqueue_outdated": ({EPISODES, FACTS, RULES}, "an operator moves all to another model, or a tenant"),
    "has_vector_jobs": ({JOBS}, "an operator moves all to another model, or a tenant"),
    "count_memories": ({EPISODES, FACTS, RULES}, "a metric is of the whole service"),
    "read_jobs": ({JOBS}, "jobs are taken by their ids; each leads to a memory by its tenant"),
    "drop_done_jobs": ({JOBS}, "what is done goes, whosever it was"),
    "find_known_ids": (
        {EPISODES, FACTS, RULES, "knowledge_entities", "knowledge_events", "knowledge_rule_applications"},
        "an import gives other ids for those that are taken, and tells nobody which",
    ),
} | {
    name: ({JOBS}, "there is one queue for all tenants, and whoever works leased these jobs")
    for name in (
        "lease_fairly", "renew_jobs", "give_up_jobs", "forget_suspicions", "suspect_abandoned",
        "finish_jobs", "fail_jobs", "release_jobs", "release_abandoned",
        "outbox_statistics",
    )
} | {
    name: ({JOBS}, "an operator sees all jobs, or those of a tenant")
    for name in ("list_jobs", "count_jobs", "retry_jobs", "discard_jobs")
}  # fmt: skip

_TOUCHED = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|USING|INTO)\s+(\w+)(?:\s+AS\s+(\w+))?(?:\s*\(([^()]*)\))?", re.IGNORECASE
)
_INNERMOST = re.compile(r"\(([^()]*)\)")
_BRANCHES = re.compile(r"\bUNION(?:\s+ALL)?\b", re.IGNORECASE)
_WRITES_SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b")


def without_tenant(statement: str) -> list[str]:
    """Return the tables that a statement touches without a tenant, in their order.

    A condition counts where it binds: beside the table, and not within an OR.
    """
    said = re.sub(r"--[^\n]*|'[^']*'", "", statement)
    return [table for block in _blocks(said) for table in _entered_freely(block)]


def _entered_freely(block: str) -> Iterator[str]:
    for table, alias, columns in _TOUCHED.findall(block):
        if table not in TABLES or table in OF_NOBODY:
            continue
        if columns:
            binds = "tenant_id" in columns
        else:
            named = re.escape(alias or table)
            binds = (
                re.search(rf"(?<![\w.]){named}\.tenant_id\s*=\s*(?:\$\d+|\w+\.tenant_id)", block) is not None
            )
        if not binds:
            yield table


def _blocks(said: str) -> Iterator[str]:
    """Take a statement apart into its queries, each without those within it and without what stands in brackets."""
    while (inner := _INNERMOST.search(said)) is not None:
        is_columns = re.search(r"\bINTO\s+\w+\s*$", said[: inner.start()], re.IGNORECASE) is not None
        if is_columns:
            said = f"{said[: inner.start()]} [{inner[1]}] {said[inner.end() :]}"
            continue
        yield from _branches(inner[1])
        said = f"{said[: inner.start()]} {said[inner.end() :]}"
    yield from _branches(said)


def _branches(query: str) -> Iterator[str]:
    return (part.replace("[", "(").replace("]", ")") for part in _BRANCHES.split(query))


@pytest.mark.parametrize("name", sorted({*knowledge_queries(), *OF_ALL_TENANTS}))
def test_cross_tenant_access_prevention(name: str) -> None:
    tables, _ = OF_ALL_TENANTS.get(name, (set(), ""))
    assert set(without_tenant(knowledge_queries()[name])) == tables


def test_the_family_has_no_statement_in_its_code() -> None:
    found = [
        f"{path.name}:{node.lineno}"
        for path in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if _WRITES_SQL.search(node.value) and any(table in node.value for table in TABLES)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("SELECT f.id FROM knowledge_facts AS f WHERE f.id = $1", ["knowledge_facts"]),
        ("SELECT f.id FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.id = $2", []),
        ("SELECT FROM knowledge_facts AS f WHERE (f.tenant_id = $1 OR f.scope = 'global')", ["knowledge_facts"]),
        ("SELECT FROM knowledge_facts AS f WHERE ($1::text IS NULL OR f.tenant_id = $1)", ["knowledge_facts"]),
        ("DELETE FROM knowledge_outbox WHERE outbox_id = $1", ["knowledge_outbox"]),
        ("UPDATE knowledge_rules AS r SET tenant_id = $1 WHERE r.id = $2", ["knowledge_rules"]),
        ("INSERT INTO knowledge_links (source_type, source_id) SELECT $1, $2", ["knowledge_links"]),
        ("INSERT INTO knowledge_links (tenant_id, source_id) SELECT $1, $2", []),
        (
            "SELECT FROM knowledge_facts AS f JOIN knowledge_rules AS r ON r.id = f.id WHERE f.tenant_id = $1",
            ["knowledge_rules"],
        ),
        (
            "SELECT FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND EXISTS (SELECT FROM knowledge_rules AS r)",
            ["knowledge_rules"],
        ),
        (
            "SELECT FROM knowledge_facts AS f WHERE f.tenant_id = $1 UNION ALL SELECT FROM knowledge_facts AS f",
            ["knowledge_facts"],
        ),
        (
            "WITH a AS (SELECT FROM knowledge_rules AS e) SELECT FROM knowledge_facts AS e WHERE e.tenant_id = $1",
            ["knowledge_rules"],
        ),
        ("SELECT FROM knowledge_facts AS f -- WHERE f.tenant_id = $1\n", ["knowledge_facts"]),
    ],
)  # fmt: skip
def test_a_statement_without_a_tenant_is_found(statement: str, tables: list[str]) -> None:
    assert without_tenant(statement) == tables
