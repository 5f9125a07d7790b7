"""Leaks to plant in a running service: what a slip of the pen would do to its queries and its rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from elf.db.queries import QUERY_FILES, Queries, parse_blocks, read_sql, sql_folder
from elf.index.port import IndexFilter
from elf.search.retrieve import Ask, CandidateRetrieval

Plant = Callable[[pytest.MonkeyPatch, Any], None]


class Condition(NamedTuple):
    """A condition of queries on one parameter: what it keeps apart, and the parameter's type."""

    what: str
    pattern: re.Pattern[str]
    type: str = "text"

    def without(self, statement: str) -> str:
        """Return a statement in which it holds for everything."""
        loose, count = self.pattern.subn(rf"(\1::{self.type} IS NOT NULL OR true)", statement)
        assert count, f"nothing in the query is like {self.pattern.pattern}: {statement}"
        return loose


BY_TENANT: Final = Condition("tenants", re.compile(r"\w+\.tenant_id = (\$\d+)"))
BY_PROJECT: Final = Condition("projects", re.compile(r"\w+\.project_id = (\$\d+)"))
BY_AGENT: Final = Condition("agents", re.compile(r"\w+\.agent_id = (\$\d+)"))
BY_PROFILE: Final = Condition("profiles", re.compile(r"(\$\d+)::text\[\] IS NULL"), "text[]")
BY_RULE: Final = Condition(
    "private notes", re.compile(r"\w+\.scope <> 'agent_private' OR \w+\.agent_id = (\$\d+)")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A slip, and the operations that let something out by it.

    It is that `query` has lost `conditions`, or what `plant` does, or both.
    """

    name: str
    operations: tuple[str, ...]
    query: str = ""
    conditions: tuple[Condition, ...] = ()
    plant: Plant | None = None

    def planted(self, patch: pytest.MonkeyPatch, world: Any) -> None:
        """Plant it in this process; `world` is the owner that the table tries it on."""
        if self.query:
            _loosen(patch, self.query, self.conditions)
        if self.plant is not None:
            self.plant(patch, world)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaks:
    """The leaks of a family.

    Those of what leaves nothing behind, and of what changes something, as a search does that is traced. Each query that
    asks for a tenant loses that condition in one of them, or stands with the reason in `behind_others`.
    """

    reading: Sequence[Leak]
    changing: Sequence[Leak]
    behind_others: Mapping[str, str] = field(default_factory=dict)


def _loosen(patch: pytest.MonkeyPatch, query: str, conditions: tuple[Condition, ...]) -> None:
    read = Queries.__getitem__

    def loose(queries: Queries, name: str) -> str:
        statement = read(queries, name)
        for condition in conditions if name == query else ():
            statement = condition.without(statement)
        return statement

    patch.setattr(Queries, "__getitem__", loose)


def loosened(queries: Iterable[str], *conditions: Condition) -> Plant:
    """Return what takes these conditions from several queries."""

    def plant(patch: pytest.MonkeyPatch, world: Any) -> None:
        for query in queries:
            _loosen(patch, query, conditions)

    return plant


def patched(target: str, value: object) -> Plant:
    """Return what puts a value in the place of a name of a module."""
    return lambda patch, world: patch.setattr(target, value)


def index_without(*fields: str) -> Plant:
    """Return what lets the index name points whatever these fields are."""

    def plant(patch: pytest.MonkeyPatch, world: Any) -> None:
        where = CandidateRetrieval._where

        def loose(retrieval: CandidateRetrieval, ask: Ask) -> IndexFilter:
            asked = where(retrieval, ask)
            must = {key: value for key, value in asked.must.items() if key not in fields}
            if asked.any_of is None:
                return replace(asked, must=must)
            any_of = [{key: one[key] for key in one if key not in fields} for one in asked.any_of]
            return replace(asked, must=must, any_of=any_of)

        patch.setattr(CandidateRetrieval, "_where", loose)

    return plant


def queries_by_tenant(folders: Iterable[Path]) -> Iterator[str]:
    """The names of all queries in these folders, and in those of the service, that ask for a tenant.

    A folder of a family that no service offers yet is none of them.
    """
    rooms = [folder for folder in sql_folder().iterdir() if folder.is_dir()]
    common = [folder for folder in rooms if find_spec(f"elf.families.{folder.name}") is None]
    paths = {path for folder in (*common, *folders) for path in folder.rglob(QUERY_FILES)}
    for path in sorted(paths):
        for name, statement in parse_blocks(read_sql(path), source=str(path)):
            if BY_TENANT.pattern.search(statement):
                yield name
