"""Takes in what was taken along. What is there already stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from elf.core.errors import InvalidRequest
from elf.core.moments import check_moments
from elf.families.graph import model as m
from elf.families.graph.drafts import key_of, refuse_secrets
from elf.families.graph.rules.provenance import check_fields, is_canonical
from elf.families.graph.store.edges import resolve_edge, write_edge
from elf.families.graph.store.nodes import NewMemory, add_memory
from elf.families.graph.store.owner_locks import Owners, owners_of
from elf.families.graph.store.statements import Change, stored_moment
from elf.families.graph.transfer.line import Line, placed_in

EVENT: Final = "memory.imported"


class Intake:
    """Lines for the memory of one orchestrator, checked and ready to be written: in one change, all or none."""

    def __init__(self, lines: Sequence[Line], orchestrator_id: str, folder: Path, *, at: str) -> None:
        """Check lines, whose path in a request is `at`, for a memory whose files are in a folder. Blocks.

        Whose they were is not asked: they are the orchestrator's from now on. A source's file is not looked for: it may
        have stayed where it was, and is checked whenever it is to be told. Raises InvalidRequest for a source that
        lacks something, or whose path has detours, and for a text with a secret in it.
        """
        self._at = at
        self._lines = [_owned(line, orchestrator_id, folder) for line in lines]
        for number, line in enumerate(self._lines):
            _check_moments(line, f"{at}[{number}]")
            _check(line, f"{at}[{number}]")
        self._keys = {
            line.memory.memory_id: key_of(line.memory) for line in self._lines if line.memory is not None
        }

    @property
    def owners(self) -> Owners:
        """Whose the memories are."""
        return owners_of(line.memory for line in self._lines if line.memory is not None)

    def write(self, change: Change, *, embedding_version: str) -> int:
        """Write the lines; return how many of them are new.

        Raises NoSuchMemory for an edge to a memory that there is not, and Conflict for the id of an edge between
        others.
        """
        new = [
            self._taken(change, line, f"{self._at}[{number}]", embedding_version)
            for number, line in enumerate(self._lines)
        ]
        if any(new):
            change.log(EVENT, orchestrator_id=change.key.orchestrator_id, lines=sum(new))
        return sum(new)

    def _taken(self, change: Change, line: Line, at: str, embedding_version: str) -> bool:
        if line.memory is not None:
            return self._take_memory(change, line.memory, line, embedding_version)
        if line.memory_version is not None:
            return _take_version(change, line.memory_version)
        assert line.edge is not None, "it is one of the three"
        return _take_edge(change, line.edge, line.resolution, f"{at}.edge")

    def _take_memory(self, change: Change, memory: m.MemoryNode, line: Line, embedding_version: str) -> bool:
        new = NewMemory(memory=memory, key=self._keys[memory.memory_id], is_indexed=line.indexed)
        is_new = add_memory(change, new, version=line.version or 1, embedding_version=embedding_version)
        if is_new and line.quote is not None:
            quote = msgspec.structs.asdict(line.quote)
            change.run("put_quote", memory_id=memory.memory_id, **quote)
        return is_new


def _check_moments(line: Line, at: str) -> None:
    try:
        check_moments(line)
    except ValueError as error:
        raise InvalidRequest(f"{at}.{error}", fields=[at]) from None


def _take_version(change: Change, one: m.MemoryVersion) -> bool:
    return bool(
        change.run(
            "take_version_in", memory_id=one.memory.memory_id, version=one.version, operation=one.operation,
            memory=msgspec.json.encode(one.memory).decode(), reason=one.reason, actor=one.actor,
            created_at=stored_moment(one.created_at),
        )
    )  # fmt: skip


def _take_edge(change: Change, edge: m.MemoryEdge, resolution: m.Resolution | None, at: str) -> bool:
    ends = {"from_memory_id": edge.from_memory_id, "to_memory_id": edge.to_memory_id}
    if change.row("edge_between", **ends, edge_type=edge.edge_type) is not None:
        return False
    write_edge(change, edge, path=at)
    if resolution is not None:
        resolve_edge(change, edge.edge_id, resolution)
    return True


def _owned(line: Line, orchestrator_id: str, folder: Path) -> Line:
    """Return a line as one of this orchestrator, with paths that are whole."""

    def owned(memory: m.MemoryNode) -> m.MemoryNode:
        return placed_in(folder, replace(memory, orchestrator_id=orchestrator_id))

    replace = msgspec.structs.replace
    if line.memory is not None:
        return replace(line, memory=owned(line.memory))
    if line.memory_version is not None:
        version = line.memory_version
        return replace(line, memory_version=replace(version, memory=owned(version.memory)))
    return line


def _check(line: Line, at: str) -> None:
    for memory, where in _memories(line, at):
        check_fields(memory.source, at=f"{where}.source")
        _check_path(memory.source.source_path, f"{where}.source.sourcePath")
        refuse_secrets({f"{where}.content": memory.content, f"{where}.summary": memory.summary})
    if line.quote is not None:
        refuse_secrets({f"{at}.quote.quote": line.quote.quote})
    for name in ("memory_version", "edge", "resolution"):
        if (part := getattr(line, name)) is not None:
            refuse_secrets({f"{at}.{name}.reason": part.reason})


def _memories(line: Line, at: str) -> Iterator[tuple[m.MemoryNode, str]]:
    if line.memory is not None:
        yield line.memory, f"{at}.memory"
    if line.memory_version is not None:
        yield line.memory_version.memory, f"{at}.memory_version.memory"


def _check_path(path: str | None, at: str) -> None:
    if path is not None and not is_canonical(path):
        raise InvalidRequest(f"{at}: must be a path without `.`, `..` and slashes too many", fields=[at])
