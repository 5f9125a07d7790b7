"""Looks for words in the files of memories: in every cell of memory.db, in what lies beside it, and in the names of
files and folders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread

from elf.core.errors import Unavailable
from elf.core.whole_words import LONG_BYTES, whole_words
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.store.connections import connect, failures
from elf.families.graph.store.statements import texts_in
from elf.offers import Subject

_DATABASE: Final = "memory.db"


class _Words:
    """Tells whether one of some words stands in a text; short ones may stand in the bytes of a vector by chance."""

    def __init__(self, words: Sequence[str]) -> None:
        self._in_text = whole_words(words)
        self._in_bytes = whole_words([word for word in words if len(word.encode()) >= LONG_BYTES])

    def __call__(self, text: str | bytes) -> bool:
        if isinstance(text, bytes):
            return self._in_bytes(text.decode(errors="replace"))
        return self._in_text(text)


class GraphRemains:
    """Looks into the memories that are on this host, also into folders of which Postgres does not know."""

    def __init__(self, orchestrators: Orchestrators) -> None:
        self._orchestrators = orchestrators

    async def __call__(self, subject: Subject, words: Sequence[str]) -> Mapping[str, int]:
        """Return in how many cells, files and names one of the words stands, by table and folder.

        Raises Unavailable.
        """
        tenant = self._orchestrators.root / subject.tenant_id
        folders = await self._orchestrators.folders(subject.tenant_id, None)
        return await to_thread.run_sync(_look, tenant, [*folders.values()], _Words(words))


def _look(tenant: Path, folders: Sequence[Path], holds: _Words) -> Mapping[str, int]:
    """Look into the folder of a tenant, and into those of its memories that are elsewhere. Blocks."""
    found: Counter[str] = Counter()
    try:
        if tenant.is_dir() and holds(tenant.name):
            found["names of folders"] += 1
        # Where a folder is that is not in the tenant's, the config says: it is not named after an orchestrator.
        for memory in (tenant, *(folder / "memory" for folder in folders if tenant not in folder.parents)):
            for path in sorted(memory.rglob("*")):
                found.update(_look_at(path, holds))
    except OSError as error:
        raise Unavailable(f"the files of memories cannot be looked into: {error.strerror}") from error
    return found


def _look_at(path: Path, holds: _Words) -> Counter[str]:
    found: Counter[str] = Counter()
    if holds(path.name):
        found[f"names of {'folders' if path.is_dir() else 'files'}"] += 1
    if path.is_symlink() or not path.is_file():
        return found
    if path.name == _DATABASE:
        found.update(f"{_DATABASE} {table}" for table in _tables_with(path, holds))
    elif not path.name.startswith(_DATABASE) and holds(_read(path)):
        found[f"files of memory/{path.parent.name}"] += 1
    return found


def _tables_with(path: Path, holds: _Words) -> list[str]:
    """Return the table of each cell in which one of the words stands."""
    with failures(path):
        connection = connect(path, writes=False)
        try:
            return [table for table, text in texts_in(connection) if holds(text)]
        finally:
            connection.close()


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:  # it was moved meanwhile, and is looked at where it is
        return ""
