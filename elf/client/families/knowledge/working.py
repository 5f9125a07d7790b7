"""Work that happens by itself, asked for now; and what is for operators, at the admin address."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from elf.client.call import Call, Listing, get, operators, post, reader
from elf.client.context import Given
from elf.client.families.knowledge import results as r
from elf.client.families.knowledge.inputs import MemoryType
from elf.client.families.knowledge.storing import ROOT
from elf.client.family import C_co, FamilyClient
from elf.client.method import method
from elf.client.results import Page

ADMIN = "/v1/admin/knowledge"

MaxEntries = Annotated[int | None, "how many episodes may stay (default: the config's)"]
AllTenants = Annotated[bool, "of all tenants, not of one"]


class Working(FamilyClient[C_co]):
    """What is for operators is served at the admin address: by a client whose base URL that is."""

    @method
    def run_consolidation(
        self, *, timeout_s: Annotated[float | None, "longest wait in seconds"] = None
    ) -> Call[r.Consolidated]:
        """Make facts and rules of the next episodes of each agent now.

        A language model may take longer than other calls do: `timeout_s` takes the place of the client's. Sent again
        only when the first request surely did nothing.
        """
        call = post(f"{ROOT}/consolidation/run", self.owner, reader(r.Consolidated), repeat="undone")
        return replace(call, timeout_s=timeout_s)

    @method
    def run_episode_cleanup(self, *, max_entries: MaxEntries = None) -> Call[r.CleanedUp]:
        """Delete expired episodes now, and the oldest consolidated ones beyond a number."""
        return post(
            f"{ROOT}/episodes/cleanup", {**self.owner, "max_entries": max_entries}, reader(r.CleanedUp)
        )

    @method
    def decay_sweep(self, *, all_tenants: AllTenants = False) -> Call[r.Swept]:
        """For operators: mark what is fading, and end what has faded, now."""
        return operators(post(f"{ADMIN}/decay_sweep", self._of(all_tenants), reader(r.Swept)))

    @method
    def consolidate(self, *, all_tenants: AllTenants = False) -> Call[r.TenantsConsolidated]:
        """For operators: consolidate the next episodes of every agent and user now.

        Sent again only when the first request surely did nothing.
        """
        path, body = f"{ADMIN}/consolidation", self._of(all_tenants)
        return operators(post(path, body, reader(r.TenantsConsolidated), repeat="undone"))

    @method
    def clean_up(
        self, *, max_entries: MaxEntries = None, all_tenants: AllTenants = False
    ) -> Call[r.CleanedUp]:
        """For operators: clean up episodes of every agent and user now."""
        body = {**self._of(all_tenants), "max_entries": max_entries}
        return operators(post(f"{ADMIN}/episode_cleanup", body, reader(r.CleanedUp)))

    @method
    def requeue(
        self,
        *,
        episode_id: Annotated[UUID | str | None, "this one alone"] = None,
        all_tenants: AllTenants = False,
    ) -> Call[r.Requeued]:
        """For operators: have episodes that were given up tried again."""
        body = {**self._of(all_tenants), "episode_id": episode_id}
        return operators(post(f"{ADMIN}/requeue", body, reader(r.Requeued)))

    @method
    def dead_letters(
        self,
        *,
        all_tenants: AllTenants = False,
        limit: Annotated[int | None, "how many a page, 1 to 200"] = None,
        cursor: str | None = None,
    ) -> Listing[r.DeadLetter]:
        """For operators: list episodes that could not be consolidated, newest first."""
        params = {**self._of(all_tenants), "limit": limit}
        read = reader(Page[r.DeadLetter])
        return Listing(
            lambda cursor: operators(get(f"{ADMIN}/dead_letters", {**params, "cursor": cursor}, read)), cursor
        )

    @method
    def reembed(
        self, *, dry_run: Annotated[bool, "only count"] = False, all_tenants: AllTenants = False
    ) -> Call[r.Reembedding]:
        """For operators: have vectors made by the configured model where they are another's, or missing."""
        body = {**self._of(all_tenants), "dry_run": dry_run}
        return operators(post(f"{ADMIN}/reembed", body, reader(r.Reembedding)))

    @method
    def schedules(self) -> Call[r.Schedules]:
        """For operators: see what is due when."""
        return operators(get(f"{ADMIN}/schedules", {}, reader(r.Schedules)))

    @method
    def share(
        self,
        memory_type: MemoryType,
        memory_id: UUID | str,
        *,
        shared: Annotated[bool, "False: no longer"] = True,
    ) -> Call[r.Shared]:
        """For operators: have the other users of the tenant see a memory from one. Raises NotFound."""
        body = {**self.owner, "memory_type": memory_type, "memory_id": memory_id, "shared": shared}
        return operators(post(f"{ADMIN}/share", body, reader(r.Shared)))

    @method
    def erase_memory(self, memory_type: MemoryType, memory_id: UUID | str) -> Call[r.Erased]:
        """For operators: erase a memory for good. Raises NotFound."""
        return self._erase(self.owner, "memory", {"memory_type": memory_type, "id": memory_id})

    @method
    def erase_entity(self, entity_id: UUID | str) -> Call[r.Erased]:
        """For operators: erase an entity and its facts for good. Raises NotFound."""
        return self._erase(self.owner, "entity", {"id": entity_id})

    @method
    def erase_tenant(
        self, tenant_id: Annotated[str, "whose, named here so that no default counts"]
    ) -> Call[r.Erased]:
        """For operators: erase all knowledge of a tenant for good."""
        return self._erase({"tenant_id": tenant_id}, "tenant", {})

    def _of(self, all_tenants: bool) -> dict[str, Given]:
        return {} if all_tenants else self.owner

    def _erase(self, whose: dict[str, Given], what: str, which: dict[str, Given]) -> Call[r.Erased]:
        return operators(post(f"{ADMIN}/erase", {**whose, "what": what, **which}, reader(r.Erased)))
