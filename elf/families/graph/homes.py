"""Where the memory of each orchestrator is: Postgres says which host has it, as only one of them may write the file."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from elf.core.clock import Clock
from elf.core.errors import Conflict, Unavailable
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.graph.errors import GraphLivesElsewhere, GraphRootLost, NoSuchOrchestrator
from elf.families.graph.store.statements import OwnerKey

NAME_FILE: Final = ".home"


class Home(NamedTuple):
    """Where the memory of an orchestrator is, and since when; whether its file was made, and since when it is gone."""

    key: OwnerKey
    home: str
    folder: str
    created_at: datetime
    is_made: bool
    lost_at: datetime | None


class Homes:
    """The rows that say where memories are, as seen from one root folder."""

    def __init__(self, database: Database, queries: Queries, clock: Clock, *, most: int) -> None:
        self._database = database
        self._queries = queries
        self._clock = clock
        self._most = most

    async def take(self, key: OwnerKey, home: str, folder: Path, *, is_listed: bool) -> None:
        """See that the memory of an orchestrator is at a home, in a folder; one that is new gets its row.

        Raises GraphLivesElsewhere when it is somewhere else, GraphRootLost when it was here in a root that is gone, and
        Conflict when the tenant has as many orchestrators as it may; those that the config lists are always taken.
        """
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._queries["home_of"], key.tenant_id, key.orchestrator_id)
        if row is None:
            async with self._database.transaction() as connection:
                await connection.execute(self._queries["lock_homes"], key.tenant_id)
                if not is_listed:
                    await self._refuse_too_many(connection, key)
                await connection.execute(
                    self._queries["take_home"], key.tenant_id, key.orchestrator_id, home, str(folder), self._clock.now()
                )  # fmt: skip
                row = await connection.fetchrow(self._queries["home_of"], key.tenant_id, key.orchestrator_id)
        if row is not None and row["home"] != home:
            raise why_elsewhere(key, row["home"], row["folder"], folder)

    async def take_over(self, key: OwnerKey, lost_home: str, home: str, folder: Path) -> None:
        """Say that a memory is at a home from now on, and no longer at one that is lost.

        Raises NoSuchOrchestrator where there is none, and Conflict for one that is at neither.
        """
        async with self._database.transaction() as connection:
            await connection.execute(
                self._queries["take_over"], key.tenant_id, key.orchestrator_id, home, str(folder), lost_home
            )
            row = await connection.fetchrow(self._queries["home_of"], key.tenant_id, key.orchestrator_id)
        if row is None:
            raise NoSuchOrchestrator(key.orchestrator_id)
        if row["home"] != home:
            path = "$.lost_home"
            raise Conflict(
                f"{path}: the memory of {key.orchestrator_id} is kept in {row['home']}", fields=[path]
            )

    async def is_made(self, key: OwnerKey) -> bool:
        """Tell whether the file of a memory was made."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._queries["home_of"], key.tenant_id, key.orchestrator_id)
        return row is not None and row["is_made"]

    async def note_made(self, key: OwnerKey, folder: Path) -> None:
        """Say that the file of a memory is there, in a folder."""
        async with self._database.transaction() as connection:
            await connection.execute(
                self._queries["note_made"], key.tenant_id, key.orchestrator_id, str(folder), self._clock.now()
            )

    async def give_up(self, key: OwnerKey) -> None:
        """Say that the file of a memory is to be made again."""
        async with self._database.transaction() as connection:
            await connection.execute(self._queries["give_up"], key.tenant_id, key.orchestrator_id)

    async def note_losses(
        self, lost: Sequence[OwnerKey], found: Sequence[OwnerKey], now: datetime
    ) -> Collection[OwnerKey]:
        """Say which memories are missed since now, and which no longer are; return those that nobody missed before."""
        noted: list[Any] = []
        async with self._database.transaction() as connection:
            if lost:
                noted = await connection.fetch(self._queries["note_lost"], *_names(lost), now)
            if found:
                await connection.execute(self._queries["note_found"], *_names(found))
        return {OwnerKey(row["tenant_id"], row["orchestrator_id"]) for row in noted}

    async def has(self, key: OwnerKey) -> bool:
        """Tell whether an orchestrator has a memory anywhere."""
        async with self._database.connection() as connection:
            row = await connection.fetchrow(self._queries["home_of"], key.tenant_id, key.orchestrator_id)
        return row is not None

    async def here(self, home: str) -> Sequence[OwnerKey]:
        """Return the orchestrators whose memory is at a home."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._queries["homes_at"], home)
        return [OwnerKey(row["tenant_id"], row["orchestrator_id"]) for row in rows]

    async def of_tenant(self, tenant_id: str, home: str, orchestrator_id: str | None) -> Sequence[OwnerKey]:
        """Return the orchestrators of a tenant whose memory is at a home, or of them the one that is asked for."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._queries["homes_of_tenant"], tenant_id, home, orchestrator_id)
        return [OwnerKey(tenant_id, row["orchestrator_id"]) for row in rows]

    async def folders(
        self, tenant_id: str, home: str, orchestrator_id: str | None
    ) -> Mapping[OwnerKey, Path]:
        """Return the folders of the orchestrators of a tenant whose memory is at a home, or of the one asked for."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._queries["folders_of_tenant"], tenant_id, home, orchestrator_id
            )
        return {OwnerKey(tenant_id, row["orchestrator_id"]): Path(row["folder"]) for row in rows}

    async def forget(self, key: OwnerKey) -> None:
        """Forget where a memory was, and what was told of it."""
        async with self._database.connection() as connection:
            await connection.execute(self._queries["forget_home"], key.tenant_id, key.orchestrator_id)

    async def elsewhere(self, tenant_id: str, home: str, orchestrator_id: str | None) -> int:
        """Return how many orchestrators of a tenant, or of them the one that is asked for, are at other homes."""
        async with self._database.connection() as connection:
            count: int = await connection.fetchval(
                self._queries["count_homes_elsewhere"], tenant_id, home, orchestrator_id
            )
        return count

    async def page(
        self, tenant_id: str | None, *, behind: tuple[str, str] | None, limit: int
    ) -> Sequence[Home]:
        """Return where memories are, of one tenant or of all, in the order of their names, behind one of them."""
        tenant_behind, id_behind = behind or ("", "")
        async with self._database.connection() as connection:
            rows = await connection.fetch(
                self._queries["page_of_homes"], tenant_id, tenant_behind, id_behind, limit
            )
        return [_home(row) for row in rows]

    async def of_host(self, home: str) -> Sequence[Home]:
        """Return where the memories at a home are, and those at homes that this host had before."""
        async with self._database.connection() as connection:
            rows = await connection.fetch(self._queries["homes_of_host"], home, f"{socket.gethostname()}-")
        return [_home(row) for row in rows]

    async def _refuse_too_many(self, connection: Connection, key: OwnerKey) -> None:
        known = await connection.fetchrow(self._queries["home_of"], key.tenant_id, key.orchestrator_id)
        if (
            known is None
            and await connection.fetchval(self._queries["count_homes"], key.tenant_id) >= self._most
        ):
            path = "$.orchestrator_id"
            raise Conflict(
                f"{path}: this tenant has {self._most} orchestrators, which is as many as it may",
                fields=[path],
            )


def why_elsewhere(
    key: OwnerKey, home: str, folder: str, runtime_root: Path
) -> GraphLivesElsewhere | GraphRootLost:
    """Return why a memory cannot be used that is at another home than this one, in a folder there.

    One that this host had in the same folder was lost with its root: another host has other names, or other folders.
    """
    if home.rpartition("-")[0] == socket.gethostname() and folder == str(runtime_root):
        return GraphRootLost(key.orchestrator_id, home)
    return GraphLivesElsewhere(
        f"the memory of {key.orchestrator_id} is kept on another host: {home}", retry_after_s=60
    )


def _home(row: Mapping[str, Any]) -> Home:
    key = OwnerKey(row["tenant_id"], row["orchestrator_id"])
    return Home(key, row["home"], row["folder"], row["created_at"], row["is_made"], row["lost_at"])


def _names(keys: Sequence[OwnerKey]) -> tuple[list[str], list[str]]:
    return [key.tenant_id for key in keys], [key.orchestrator_id for key in keys]


def home_name(root: Path) -> str:
    """Return the name of a root folder, which it keeps wherever it is mounted; a new one is named after the host.

    Blocks. Raises Unavailable when the folder cannot be made or read.
    """
    path = root / NAME_FILE
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            made = root / f"{NAME_FILE}.{uuid4().hex}.tmp"
            made.write_text(f"{socket.gethostname()}-{uuid4().hex[:8]}", encoding="utf-8")
            _link(made, path)
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"the root folder of graphs cannot be used: {error.strerror}") from error


def _link(made: Path, path: Path) -> None:
    """Give a finished file its name, unless another process was first."""
    try:
        os.link(made, path)
    except FileExistsError:
        return
    finally:
        made.unlink()
