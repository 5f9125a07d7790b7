"""The spaces that the index process has open: a shard each, with a desk and damage of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeAlias

from elf.index.edge.folder import CleanMark, IndexFolder, ShardFolder
from elf.index.edge.opening import open_shard
from elf.index.edge.report import report
from elf.index.edge.request_queue import Desk
from elf.index.edge.shard import Refused, ShardDamaged
from elf.index.space import Space

Work: TypeAlias = Coroutine[None, None, None]
HangUp: TypeAlias = Callable[[], None]


@dataclass(slots=True)
class _Served:
    """A space at work: its desk, the desk's task, and how to hang up on those who are connected to it."""

    space: Space
    files: ShardFolder
    desk: Desk
    task: asyncio.Task[None] | None = None
    hang_up: set[HangUp] = field(default_factory=set)


class OpenSpaces:
    """Opens the shards of a folder that this process owns, each when it is first asked for.

    A shard that turns out damaged while it serves is let go of and all its connections are closed; whoever connects
    next has it opened anew. The other shards serve on. `start` runs the work of a desk as a task.
    """

    def __init__(
        self, folder: IndexFolder, *, vector_dim: int, start: Callable[[Work], asyncio.Task[None]]
    ) -> None:
        self._folder = folder
        self._vector_dim = vector_dim
        self._start = start
        self._served: dict[str, _Served] = {}

    def connect(self, space: Space, hang_up: HangUp) -> Desk:
        """Return the desk of a space; `hang_up` is called when it ends before `disconnect` was.

        Raises OSError, Refused or ShardDamaged when not even a new shard can be made.
        """
        served = self._served.get(space.name) or self._opened(space)
        served.hang_up.add(hang_up)
        return served.desk

    def disconnect(self, space: Space, hang_up: HangUp) -> None:
        """Forget a connection; harmless when the space has been let go of."""
        if served := self._served.get(space.name):
            served.hang_up.discard(hang_up)

    def _opened(self, space: Space) -> _Served:
        files = self._folder.of(space)
        opened = open_shard(files, space, vector_dim=self._vector_dim)
        if opened.damage is not None:
            report("damaged_shard_replaced", folder=str(files.root), reason=opened.damage)
        served = _Served(space, files, Desk(opened))
        self._served[space.name] = served
        served.task = self._start(self._work(served))
        return served

    async def _work(self, served: _Served) -> None:
        try:
            await served.desk.run()
        except ShardDamaged as error:
            report("shard_damaged", folder=str(served.files.root), reason=str(error))
            del self._served[served.space.name]
            for hang_up in served.hang_up:
                hang_up()

    async def close(self) -> None:
        """End the desks and let go of the files in order, marked clean where they are known to be complete."""
        ending, self._served = list(self._served.values()), {}
        for served in ending:
            if served.task is not None:
                served.task.cancel()
        await asyncio.gather(*(one.task for one in ending if one.task is not None), return_exceptions=True)
        for served in ending:
            try:
                points = served.desk.close()
            except (
                Refused,
                ShardDamaged,
            ) as error:  # it stays unmarked, and the others have a right to their marks
                report("shard_not_closed", folder=str(served.files.root), reason=str(error))
            else:
                if served.desk.settled:
                    served.files.write_clean_mark(CleanMark(points=points))
