"""Files that were dropped, how a memory is, and what is for operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from elf.client.call import Call, Listing, Stream, get, listing, operators, post, reader
from elf.client.context import Given
from elf.client.families.graph import results as r
from elf.client.families.graph.finding import ROOT
from elf.client.families.graph.inputs import IngestStatus, each
from elf.client.families.graph.reading import PageSize, one_memory
from elf.client.family import C_co, FamilyClient
from elf.client.json_value import JsonObject
from elf.client.method import method
from elf.client.results import Page

ADMIN = "/v1/admin/graph"


class Keeping(FamilyClient[C_co]):
    """What is for operators is served at the admin address: by a client whose base URL that is.

    All raise ScopeDenied for another orchestrator's memory.
    """

    @method
    def ingest(self) -> Call[r.LookedNow]:
        """Look at the ingest folder now. Raises NotOffered where no files are taken in."""
        return post(f"{ROOT}/ingest/run", self.owner, reader(r.LookedNow))

    @method
    def ingested(
        self,
        *,
        status: Annotated[IngestStatus | None, "what became of them"] = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.IngestedFile]:
        """List the files that were taken in or rejected, those that ended last first."""
        params = {**self.owner, "status": status, "limit": limit}
        return listing(f"{ROOT}/ingest", params, Page[r.IngestedFile], cursor)

    @method
    def status(self) -> Call[r.MemoryStatus]:
        """Say how the memory is, and how much it holds. Raises NotFound where there is none."""
        return get(f"{ROOT}/status", self.owner, reader(r.MemoryStatus))

    @method
    def orchestrators(
        self,
        *,
        all_tenants: Annotated[bool, "those of all tenants"] = False,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.OrchestratorState]:
        """For operators: list the orchestrators of the tenant that have a memory, and how each is."""
        tenant = None if all_tenants else self.owner["tenant_id"]
        params: dict[str, Given] = {"tenant_id": tenant, "limit": limit}
        pages = listing(f"{ADMIN}/orchestrators", params, Page[r.OrchestratorState])
        return Listing(lambda behind: operators(pages.at(behind)), cursor)

    @method
    def recover(
        self,
        *,
        lost_home: Annotated[
            str | None, "the root folder, by its name, that is lost and that the memory was kept in"
        ] = None,
    ) -> Call[r.Recovered]:
        """For operators: put a damaged memory.db aside, or give a lost one up, and take the processed files in again.

        A memory that is sound stays. Sent again only when the first request surely did nothing. Raises NotFound where
        there is no memory, and Conflict for one that is kept in another root folder than the one that is named.
        """
        body = {**self.owner, "lost_home": lost_home}
        return operators(post(f"{ADMIN}/recover", body, reader(r.Recovered), repeat="undone"))

    @method
    def export(self) -> Stream[JsonObject]:
        """For operators: take a memory along, all of it as it is at one moment.

        Each object is a memory, what one has been, or an edge, in the order in which `take_in` takes them. Vectors are
        not among them, nor are files and bulletins. Raises NotFound where there is no memory.
        """
        return Stream(operators(get(f"{ADMIN}/export", self.owner, reader(JsonObject))))

    @method
    def take_in(
        self, lines: Annotated[Sequence[Mapping[str, object]], "an object of an export, as JSON"]
    ) -> Call[r.Imported]:
        """For operators: take in up to 1000 objects of an export, in their order: all, or none.

        Whosever they were, they are this orchestrator's from now on. What is there already stays as it is. Raises
        InvalidRequest for what is none, and NotFound for an edge to a memory that has not come yet.
        """
        body = {**self.owner, "items": each(lines, "lines")}
        return operators(post(f"{ADMIN}/import", body, reader(r.Imported)))

    @method
    def share(
        self,
        memory_id: Annotated[str, "the id of the memory"],
        *,
        shared: Annotated[bool, "whether they are; --no-shared takes it back"] = True,
    ) -> Call[r.Memory]:
        """For operators: say whether other users are told of a user's memory.

        Raises NotFound where there is no such memory.
        """
        body = {**self.owner, "memory_id": memory_id, "shared": shared}
        return operators(post(f"{ADMIN}/share", body, one_memory()))

    @method
    def erase(
        self,
        *,
        memory_ids: Annotated[Sequence[str] | None, "this memory; may be repeated"] = None,
        conversation_id: Annotated[str | None, "all of this conversation"] = None,
        source_path: Annotated[str | None, "all of this file"] = None,
        everything: Annotated[bool, "all memories of the orchestrator"] = False,
    ) -> Call[r.Erased]:
        """For operators: erase memories for good, by exactly one of these four.

        What is not there is counted as nothing. Raises NotFound where there is no memory.
        """
        what = {
            "memory_ids": None if memory_ids is None else list(memory_ids), "conversation_id": conversation_id,
            "source_path": source_path, "everything": everything or None,
        }  # fmt: skip
        return operators(post(f"{ADMIN}/erase", {**self.owner, **what}, reader(r.Erased)))
