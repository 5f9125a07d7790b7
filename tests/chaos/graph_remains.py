"""What is left in the folder of a memory after a siege, and what should not be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import apsw

from elf.families.graph.store.layout import Layout

Answered: TypeAlias = tuple[str, str]
"""A memory that was added, and one that was changed with it."""

_SAID: Final = "Said by {}."
_ALONE: Final = """
SELECT memory_id FROM memories AS m
WHERE memory_id LIKE 'p%' AND NOT (
  EXISTS (SELECT 1 FROM memory_edges WHERE from_memory_id = m.memory_id)
  AND EXISTS (SELECT 1 FROM memory_spans AS s WHERE s.memory_id = m.memory_id)
  AND EXISTS (SELECT 1 FROM memory_sources AS s WHERE s.memory_id = m.memory_id)
)
"""
_GAPS: Final = """
SELECT m.memory_id, m.version, count(v.version), max(v.version)
FROM memories AS m LEFT JOIN memory_versions AS v USING (memory_id)
GROUP BY m.memory_id HAVING m.version <> count(v.version) OR m.version <> max(v.version)
"""
_LAST: Final = """
SELECT memory_id FROM memories AS m JOIN memory_versions AS v USING (memory_id, version)
WHERE v.memory ->> '$.content' <> m.content
"""
_TEXTS: Final = "SELECT memory_id, memory ->> '$.content' FROM memory_versions"
_DROPPED: Final = (
    "SELECT content, count(*), max(version) FROM memories WHERE content LIKE 'Dropped %' GROUP BY content"
)
_LEDGER: Final = "SELECT dropped_name, count(*), count(finished_at) FROM memory_ingests GROUP BY dropped_name"


def faults_of_memory(connection: apsw.Connection, answered: Iterable[Answered]) -> list[str]:
    """Return what is wrong with the rows of a memory, given what was answered to those who wrote them."""
    checks: Sequence[Callable[[apsw.Connection], list[str]]] = (_damages, _alone, _gaps)
    return [*(fault for check in checks for fault in check(connection)), *_lost(connection, answered)]


def faults_of_files(
    connection: apsw.Connection, layout: Layout, dropped: Sequence[str], again: Sequence[str]
) -> list[str]:
    """Return what is wrong with what became of dropped files, some of which were dropped again."""
    faults = [f"{path.name} was rejected" for path in layout.rejected.iterdir() if path.suffix == ".txt"]
    faults += [f"{path.name} was left" for path in layout.ingest.iterdir() if not path.is_dir()]
    manifests = [json.loads(path.read_text()) for path in layout.processed.glob("*.json")]
    told = Counter((_name_in(one["sourcePath"]), one["status"]) for one in manifests)
    wanted = Counter({(name, "processed"): 1 for name in dropped})
    wanted.update((name, "duplicate") for name in again)
    faults += [f"{key} has {told[key]} manifests" for key in told | wanted if told[key] != wanted[key]]
    rows = {name: tuple(counts) for name, *counts in connection.execute(_LEDGER)}
    memories = {text: tuple(counts) for text, *counts in connection.execute(_DROPPED)}
    faults += [f"{name} has {rows.get(name)} rows" for name in dropped if rows.get(name) != (1, 1)]
    texts = {f"Dropped as {name}.": name for name in dropped}
    faults += [
        f"{name} became {memories.get(text)} memories"
        for text, name in texts.items()
        if memories.get(text) != (1, 1)
    ]
    return faults


def _name_in(path: str) -> str:
    """Return the name under which a file was dropped: where it ends it may have a number behind it."""
    name = Path(path).name
    return name[: name.index(".txt") + len(".txt")]


def _damages(connection: apsw.Connection) -> list[str]:
    found = [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
    found += [
        f"a row of {table} has no other end" for table, *_ in connection.execute("PRAGMA foreign_key_check")
    ]
    for table in ("memory_fts", "memory_span_fts"):
        try:
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
        except apsw.CorruptError as error:
            found.append(f"{table} is not what is in the memories: {error}")
    return [f"the file is damaged: {one}" for one in found]


def _alone(connection: apsw.Connection) -> list[str]:
    return [f"{memory_id} was written in part" for (memory_id,) in connection.execute(_ALONE)]


def _gaps(connection: apsw.Connection) -> list[str]:
    faults = [
        f"{memory_id} has the version {version}, and {kept} of them are kept, the last of which is {last}"
        for memory_id, version, kept, last in connection.execute(_GAPS)
    ]
    return faults + [f"{memory_id} is not its last version" for (memory_id,) in connection.execute(_LAST)]


def _lost(connection: apsw.Connection, answered: Iterable[Answered]) -> list[str]:
    """Return which changes were answered and are not there, be it as a version that others have changed since."""
    texts = set(connection.execute(_TEXTS))
    return [
        f"{memory_id} was answered, and its change of {one} is not there"
        for memory_id, shared_id in answered
        for one in (memory_id, shared_id)
        if (one, _SAID.format(memory_id)) not in texts
    ]
