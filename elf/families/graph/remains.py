"""Looks for words in the files of memories: in every cell of memory.db, and in what lies beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from anyio import to_thread

from elf.core.errors import Unavailable
from elf.core.whole_words import whole_words
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.statements import Snapshot
from elf.offers import Subject

Holds = Callable[[str], bool]


class GraphRemains:
    """Looks into the memories that are on this host."""

    def __init__(self, orchestrators: Orchestrators, files: OpenFiles) -> None:
        self._orchestrators = orchestrators
        self._files = files

    async def __call__(self, subject: Subject, words: Sequence[str]) -> Mapping[str, int]:
        """Return in how many cells and files one of the words stands, by table and folder. Raises Unavailable."""
        found: Counter[str] = Counter()
        holds = whole_words(words)
        for key in await self._orchestrators.of_tenant(subject.tenant_id, None):
            async with self._files.known(key.tenant_id, key.orchestrator_id) as place:
                found.update(await place.read(lambda snapshot: _in_tables(snapshot, holds)))
                found.update(await to_thread.run_sync(_in_files, place.layout, holds))
        return dict(found)


def _in_tables(snapshot: Snapshot, holds: Holds) -> Counter[str]:
    return Counter(f"memory.db {table}" for table, text in snapshot.texts() if holds(text))


def _in_files(layout: Layout, holds: Holds) -> Counter[str]:
    """Look into all files but memory.db, and at their names. Blocks. Raises Unavailable for one that cannot be read."""
    found: Counter[str] = Counter()
    for path in sorted(layout.memory.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.name.startswith(layout.database.name):
            continue
        if holds(path.name) or holds(_read(path)):
            found[f"files of {path.parent.relative_to(layout.memory.parent)}"] += 1
    return found


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:  # it was moved meanwhile, and is looked at where it is
        return ""
    except OSError as error:
        raise Unavailable(f"{path.name} cannot be looked into: {error.strerror}") from error
