"""Which memories may be shown: not those of files that are granted to their orchestrator no longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from elf.core.errors import ScopeDenied, Unavailable
from elf.families.graph import model as m
from elf.families.graph.recall.place import Place
from elf.families.graph.store.statements import Change

DENIED: Final = "memory.recall.source_path_denied"

Granted = Callable[[str], bool]
"""Tells whether the file of a path may be named today. Blocks."""

log = structlog.get_logger()


@dataclass(slots=True)
class Grants:
    """Which paths may be named, each looked up once; `denied` are the memories whose path may not, by id."""

    is_granted: Granted
    denied: dict[str, str] = field(default_factory=dict)
    _known: dict[str, bool] = field(default_factory=dict)

    def allow(self, memory: m.MemoryNode) -> bool:
        """Tell whether a memory may be shown, and remember one that may not."""
        path = memory.source.source_path
        if self.allow_path(path):
            return True
        self.denied[memory.memory_id] = path or ""
        return False

    def allow_path(self, path: str | None) -> bool:
        """Tell whether a path may be named."""
        if path is None:
            return True
        if path not in self._known:
            self._known[path] = self.is_granted(path)
        return self._known[path]

    def need(self, memory: m.MemoryNode, *, at: str = "$.memory_id") -> m.MemoryNode:
        """Return a memory that was asked for at a path. Raises ScopeDenied for one that may not be shown."""
        if not self.allow(memory):
            raise ScopeDenied(
                f"{at}: the file that it is from lies in no folder of this orchestrator or granted to it",
                fields=[at],
            )
        return memory


async def tell_denied(place: Place, denied: Mapping[str, str]) -> None:
    """Log what was left out of an answer; that it cannot be logged takes the answer from nobody."""
    whose = place.key.orchestrator_id

    def tell(change: Change) -> None:
        for memory_id, source_path in denied.items():
            change.log(DENIED, **told_denied(whose, memory_id, source_path))

    if not denied:
        return
    try:
        await place.write(tell)
    except Unavailable as error:
        log.warning("graph.denial_not_logged", memories=len(denied), error=type(error).__name__)


def told_denied(orchestrator_id: str, memory_id: str, source_path: str) -> dict[str, Any]:
    """Return what the log says of a memory that was left out."""
    return {"orchestrator_id": orchestrator_id, "memory_id": memory_id, "source_path": source_path}
