"""A drop folder, and a pipeline over a memory in a file of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from elf.core.clock import Clock
from elf.families.graph.extraction.chat import TextExtractor
from elf.families.graph.ingest.ledger import Ledger
from elf.families.graph.ingest.pipeline import Pipeline
from elf.families.graph.ingest.reading import Home
from elf.families.graph.ingest.rest import Rest
from elf.families.graph.store.file import MemoryFile
from tests.db.graph.graph_kit import KEY, VERSION

MOST: Final = 100_000


def pipeline_of(
    file: MemoryFile,
    clock: Clock,
    *,
    rest: Rest | None = None,
    ledger: Ledger | None = None,
    max_bytes: int = MOST,
    indexed_chars: int = 100_000,
) -> Pipeline:
    """Return a pipeline for the drop folder of a file; without a `rest`, every file is at rest."""
    memory = str(file.layout.memory)
    return Pipeline(
        home=Home(orchestrator_id=KEY.orchestrator_id, memory=memory, folders=[memory]),
        ledger=ledger or Ledger(file, embedding_version=VERSION),
        extractor=TextExtractor(None),
        clock=clock,
        rest=rest or Rest(seconds=0),
        max_bytes=max_bytes,
        indexed_chars=indexed_chars,
    )


def told(memory_id: str, **changes: Any) -> dict[str, Any]:
    """Return a memory as a file of JSON tells it."""
    source = {"sourceType": "ingest_file", "capturedBy": "user"}
    usual = {
        "type": "Fact",
        "importance": 5,
        "content": f"Told {memory_id}.",
        "summary": "Told.",
        "confidence": 1.0,
    }
    return {"memoryId": memory_id, **usual, "source": source, "status": "active", **changes}


def json_file(*memories: dict[str, Any], edges: Any = ()) -> str:
    """Return the text of a file of JSON."""
    return json.dumps({"memories": list(memories), "edges": list(edges)})


def edge_told(edge_id: str, start: str, end: str) -> dict[str, Any]:
    """Return an edge as a file of JSON tells it."""
    ends = {"fromMemoryId": start, "toMemoryId": end}
    return {"edgeId": edge_id, **ends, "edgeType": "RelatedTo", "weight": 0.5}


def manifest(path: Path) -> dict[str, Any]:
    """Return what a manifest says."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def lines_of(file: MemoryFile) -> list[dict[str, Any]]:
    """Return the lines of a memory's log that are about files."""
    lines = [json.loads(line) for line in file.layout.log_file.read_text().splitlines()]
    return [line for line in lines if line["event"].startswith("memory.ingest.")]


def tree(folder: Path, *, without: Path | None = None) -> dict[str, bytes]:
    """Return what is in a folder and below: the bytes of each file, where each link leads; pipes, too.

    What is in the folder `without` is left out.
    """
    return {
        str(path.relative_to(folder)): _bytes_of(path)
        for path in folder.rglob("*")
        if not _is_folder(path) and (without is None or without not in path.parents)
    }


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _bytes_of(path: Path) -> bytes:
    if path.is_symlink():
        return bytes(path.readlink())
    return path.read_bytes() if path.is_file() else b""
