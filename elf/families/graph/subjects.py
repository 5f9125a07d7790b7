"""Takes all memories of a tenant, of one of its agents, or of one of its users, out of the graph: for good, or to take
along.

The agent of an orchestrator is the one of its name. A user's is what the user's calls have written and what is from the
user's conversations, or from one that has the user's name; of a user and an agent, what the orchestrator has of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from itertools import groupby
from typing import Any

import msgspec
from anyio import to_thread

from elf.core.errors import InvalidRequest
from elf.core.structs import read_value
from elf.families.graph.erasing import erase_at
from elf.families.graph.memory_place import MemoryPlace
from elf.families.graph.open_files import OpenFiles
from elf.families.graph.orchestrators import Orchestrators
from elf.families.graph.places import write_at
from elf.families.graph.recall.place import Place
from elf.families.graph.store.erasing import Erasure, unname
from elf.families.graph.store.log_file import remove_lines
from elf.families.graph.store.statements import OwnerKey
from elf.families.graph.telling import Telling
from elf.families.graph.transfer.intake import Intake
from elf.families.graph.transfer.line import Line
from elf.families.graph.transfer.service import lines_at
from elf.offers import ELSEWHERE, Subject


class Exported(Line, frozen=True, kw_only=True):
    """A line of the memory of an orchestrator: one object of an export."""

    tenant_id: str
    orchestrator_id: str

    @property
    def key(self) -> OwnerKey:
        return OwnerKey(self.tenant_id, self.orchestrator_id)


class GraphSubjects:
    """Works on the memories that are on this host."""

    def __init__(
        self, orchestrators: Orchestrators, files: OpenFiles, telling: Telling, *, embedding_version: str
    ) -> None:
        self._orchestrators = orchestrators
        self._files = files
        self._telling = telling
        self._version = embedding_version

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Erase all memories of a subject; returns how much of each kind went, and how many other hosts have some."""
        counts: Counter[str] = Counter()
        if subject.user is None:
            for key, folder in (
                await self._orchestrators.folders(subject.tenant_id, subject.agent_id)
            ).items():
                counts.update(await self._files.remove(key, folder))
                await self._telling.forget(key, None)
            if subject.agent_id is not None:
                counts.update(await self._unname_agent(subject.tenant_id, subject.agent_id))
        else:
            counts.update(await self._of_user(subject, subject.user))
        elsewhere = await self._orchestrators.elsewhere(subject.tenant_id, subject.agent_id)
        return {**counts, **({ELSEWHERE: elsewhere} if elsewhere else {})}

    async def _of_user(self, subject: Subject, user: str) -> Counter[str]:
        counts: Counter[str] = Counter()
        asked = Erasure(conversations=sorted(_conversations(subject)), user=user, is_told=False)
        for key in await self._keys(subject):
            async with self._files.known(key.tenant_id, key.orchestrator_id) as place:
                erased, _ = await erase_at(place, asked, actor=None)
                await _unname(place, user)
            await self._telling.forget(key, erased.doomed.memory_ids)
            counts.update(erased.counts)
        return counts

    async def _unname_agent(self, tenant_id: str, agent_id: str) -> Counter[str]:
        """Take the name of an agent out of what is kept of others: what it did there, or was kept from."""
        names: Counter[str] = Counter()
        for key in await self._orchestrators.of_tenant(tenant_id, None):
            async with self._files.known(tenant_id, key.orchestrator_id) as place:
                names["names"] += await _unname(place, agent_id)
        return +names

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield all memories of a subject, with what they have been and the edges between them.

        What is told of an orchestrator is of one moment.
        """
        for key in await self._keys(subject):
            whose = {"tenant_id": key.tenant_id, "orchestrator_id": key.orchestrator_id}
            async with (
                self._files.known(key.tenant_id, key.orchestrator_id) as place,
                aclosing(lines_at(place, subject.user, _conversations(subject))) as lines,
            ):
                async for line in lines:
                    yield whose | msgspec.to_builtins(line)

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Write what another service exported; returns how much of it is new. What is there already stays as it is.

        Raises InvalidRequest for other objects.
        """
        new = 0
        read = [_read(one) for one in exported]
        for key, lines in groupby(read, key=lambda one: one.key):
            new += await self._take_in(key, list(lines))
        return new

    async def _take_in(self, key: OwnerKey, lines: Sequence[Line]) -> int:
        async def write(place: Place) -> int:
            folder = place.layout.memory
            intake = await to_thread.run_sync(lambda: Intake(lines, key.orchestrator_id, folder, at="$"))
            return await place.write(
                lambda change: intake.write(change, embedding_version=self._version), owners=intake.owners
            )

        return await write_at(self._files, key.tenant_id, key.orchestrator_id, write)

    async def _keys(self, subject: Subject) -> Sequence[OwnerKey]:
        return await self._orchestrators.of_tenant(subject.tenant_id, subject.agent_id)


async def _unname(place: MemoryPlace, name: str) -> int:
    """Take a name out of what tells of a memory what was done; returns how often it stood there."""
    events = await place.file.write(lambda change: unname(change, name))
    lines = await to_thread.run_sync(remove_lines, place.layout.log_file, name)
    return events + lines


def _conversations(subject: Subject) -> Collection[str]:
    """Return from which conversations a user's memories are."""
    return subject.conversations if subject.user is None else subject.conversations | {subject.user}


def _read(exported: Mapping[str, Any]) -> Exported:
    try:
        one = read_value(exported, Exported)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"this is nothing that the graph exports: {error}") from error
    if sum(part is not None for part in (one.memory, one.memory_version, one.edge)) != 1:
        raise InvalidRequest(
            "this is nothing that the graph exports: it is a memory, what one has been, or an edge"
        )
    return one
