"""Which orchestrators there are, where each has its memory, and which folders it may name as sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from anyio import to_thread

from elf.config.tables.graph import GraphTable
from elf.families.graph.errors import GraphDisabled, NoSuchOrchestrator
from elf.families.graph.homes import Home, Homes, home_name
from elf.families.graph.model import ORCHESTRATOR_PATTERN
from elf.families.graph.store.layout import has_traces, holds_memory, is_empty
from elf.families.graph.store.statements import OwnerKey

_FOLDER: Final = re.compile(ORCHESTRATOR_PATTERN.removesuffix("$") + r"\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Residence:
    """Where an orchestrator is: its runtime root, and the folders beside it whose files it may name.

    `shared` are those of them that others may be granted, too.
    """

    key: OwnerKey
    runtime_root: Path
    workspaces: Sequence[Path] = ()
    shared: Sequence[Path] = ()


class Orchestrators:
    """Knows orchestrators by the config, and with auto_register whoever comes."""

    def __init__(self, table: GraphTable, homes: Homes) -> None:
        self._table = table
        self._homes = homes
        self._known: dict[OwnerKey, Residence] = {}
        self._made: set[OwnerKey] = set()

    async def residence(self, key: OwnerKey) -> Residence:
        """Return where an orchestrator is; one that is new is taken up.

        Raises GraphDisabled when the config has it disabled, NoSuchOrchestrator when there is none, Conflict when there
        are too many, GraphLivesElsewhere when another host has it, GraphRootLost when this one had it in a root that is
        gone, and Unavailable when nobody can say.
        """
        residence = self.configured(key)
        if key not in self._known:
            home = await self.home()
            is_listed = self._table.orchestrator(key.tenant_id, key.orchestrator_id) is not None
            await self._homes.take(key, home, residence.runtime_root, is_listed=is_listed)
            self._known[key] = residence
        return residence

    def look_anew(self, key: OwnerKey) -> None:
        """Have Postgres asked again about an orchestrator whose file is not open: it may be erased by now."""
        self._known.pop(key, None)
        self._made.discard(key)

    async def forget(self, key: OwnerKey) -> None:
        """Forget an orchestrator whose memory is erased. Raises Unavailable."""
        await self._homes.forget(key)
        self.look_anew(key)

    async def known(self, key: OwnerKey) -> Residence | None:
        """Return where an orchestrator is that has a memory already, else None. Raises as `residence`.

        One whose file is there while Postgres does not know of it, such as after a restore of an older dump, has one.
        """
        root = self.configured(key).runtime_root
        has_memory = (
            key in self._known or await self._homes.has(key) or await to_thread.run_sync(holds_memory, root)
        )
        return await self.residence(key) if has_memory else None

    async def is_lost(self, residence: Residence) -> bool:
        """Tell whether the file of a memory was made and is gone. Raises Unavailable."""

        async def is_gone() -> bool:
            return not await to_thread.run_sync(holds_memory, residence.runtime_root)

        # another process may make it in between, and say so
        return await is_gone() and await self._homes.is_made(residence.key) and await is_gone()

    async def is_emptied(self, residence: Residence) -> bool:
        """Tell whether nothing is in the file of a memory that was made. Raises Unavailable.

        One that was never made may be empty: its maker died. A memory that Postgres does not know has left traces.
        """
        root = residence.runtime_root
        if not await to_thread.run_sync(is_empty, root):
            return False
        return await self._homes.is_made(residence.key) or await to_thread.run_sync(has_traces, root)

    async def note_made(self, residence: Residence) -> None:
        """Say, before anything is written to it, that the file of a memory is there. Raises Unavailable."""
        if residence.key not in self._made:
            await self._homes.note_made(residence.key, residence.runtime_root)
            self._made.add(residence.key)

    async def give_up(self, key: OwnerKey) -> None:
        """Have the file of a memory that is lost made again. Raises Unavailable."""
        await self._homes.give_up(key)
        self._made.discard(key)

    async def take_over(self, key: OwnerKey, lost_home: str) -> None:
        """Keep a memory here from now on that was in a root that is lost.

        Raises as `configured`, Conflict for one that was in neither, and Unavailable.
        """
        residence = self.configured(key)
        await self._homes.take_over(key, lost_home, await self.home(), residence.runtime_root)

    async def note_losses(
        self, lost: Sequence[OwnerKey], found: Sequence[OwnerKey], now: datetime
    ) -> Collection[OwnerKey]:
        """Say which memories are missed since now, and which no longer are; return those that nobody missed before.

        Raises Unavailable.
        """
        return await self._homes.note_losses(lost, found, now) if lost or found else ()

    async def of_this_host(self) -> Sequence[Home]:
        """Return where the memories of this host are, also in root folders that it had before. Raises Unavailable."""
        return await self._homes.of_host(await self.home())

    def described(self, key: OwnerKey) -> Residence | None:
        """Return where the config has an orchestrator, also a disabled one."""
        try:
            return self._found(key)
        except NoSuchOrchestrator:
            return None

    async def here(self) -> Sequence[OwnerKey]:
        """Return the orchestrators whose memory is on this host. Raises Unavailable."""
        return await self._homes.here(await self.home())

    async def folders(self, tenant_id: str, orchestrator_id: str | None) -> Mapping[OwnerKey, Path]:
        """Return where the memories of a tenant that are here, or the one that is asked for, have their folders.

        Also of those that are switched off, or no longer in the config.
        """
        return await self._homes.folders(tenant_id, await self.home(), orchestrator_id)

    @property
    def root(self) -> Path:
        """The folder with those of tenants, in which the memories of their orchestrators usually are."""
        return Path(self._table.root)

    async def of_tenant(self, tenant_id: str, orchestrator_id: str | None) -> Sequence[OwnerKey]:
        """Return the orchestrators of a tenant that are here, or of them the one that is asked for."""
        return await self._homes.of_tenant(tenant_id, await self.home(), orchestrator_id)

    async def elsewhere(self, tenant_id: str, orchestrator_id: str | None) -> int:
        """Return how many orchestrators of a tenant, or whether the one that is asked for, are on other hosts."""
        return await self._homes.elsewhere(tenant_id, await self.home(), orchestrator_id)

    async def with_memory(
        self, tenant_id: str | None, *, behind: tuple[str, str] | None, limit: int
    ) -> Sequence[Home]:
        """Return orchestrators that have a memory anywhere, of one tenant or of all, in the order of their names."""
        return await self._homes.page(tenant_id, behind=behind, limit=limit)

    async def home(self) -> str:
        """Return what this host is called. Raises Unavailable."""
        return await to_thread.run_sync(home_name, Path(self._table.root))

    def configured(self, key: OwnerKey) -> Residence:
        """Return where the config has an orchestrator. Raises GraphDisabled and NoSuchOrchestrator."""
        listed = self._table.orchestrator(key.tenant_id, key.orchestrator_id)
        found = self._found(key)
        if not self._table.enabled or (listed is not None and not listed.enabled):
            raise GraphDisabled(f"the memory of {key.orchestrator_id} is disabled", retry_after_s=60)
        return found

    def _found(self, key: OwnerKey) -> Residence:
        listed = self._table.orchestrator(key.tenant_id, key.orchestrator_id)
        if listed is None and not (self._table.auto_register and _is_folder(key)):
            raise NoSuchOrchestrator(key.orchestrator_id)
        usual = Path(self._table.root) / key.tenant_id / key.orchestrator_id
        if listed is None:
            return Residence(key=key, runtime_root=usual)
        root = usual if listed.runtime_root is None else Path(listed.runtime_root)
        own = [] if listed.private_workspace is None else [Path(listed.private_workspace)]
        shared = [Path(self._table.shared_workspaces[name]) for name in listed.shared_access]
        return Residence(key=key, runtime_root=root, workspaces=[*own, *shared], shared=shared)


def _is_folder(key: OwnerKey) -> bool:
    return all(_FOLDER.match(name) for name in (key.tenant_id, key.orchestrator_id))
