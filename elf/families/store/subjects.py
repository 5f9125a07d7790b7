"""All that there is of a user, or of a tenant: taken along, taken in, and erased. Agents have nothing of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import uuid4

import msgspec
from pydantic import ValidationError

from elf.api.body_faults import faults_told
from elf.api.moment import MomentGiven
from elf.core.errors import InvalidRequest
from elf.db.errors import retrying
from elf.db.queries import Queries, sql_folder
from elf.erasing import in_passes
from elf.families.store.api import fields as f
from elf.families.store.api.operations import Address
from elf.families.store.kit import Kit
from elf.families.store.model import FAMILY, Place, Row
from elf.families.store.rules.places import address_of, path_of
from elf.families.store.writing import Writing, as_text, paths_of
from elf.offers import Subject

TABLES: Final = ("store_outbox", "store_vectors", "store_items")
"""In the order in which they are erased: work that is left first, so that nobody does it afterwards."""
STEP: Final = 1000
PAGE: Final = 200


class ExportedItem(Address):
    """A value as it is exported."""

    tenant_id: f.TenantIdGiven
    user_id: f.UserIdGiven
    value: f.Value
    index: f.Paths | None = None
    ttl: f.TtlMinutes | None = None
    expires_at: MomentGiven | None = None
    created_at: MomentGiven
    updated_at: MomentGiven


class StoreSubjects:
    """Erases, exports and takes in. Each raises Unavailable, after which it may be called again."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._writing = Writing(kit)
        folder = sql_folder() / FAMILY / "erasing"
        self._erasing = {
            table: Queries.load(folder, values={"table": table})["erase_rows"] for table in TABLES
        }

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        """Erase all of a subject; returns how many rows of each kind went."""
        kinds = [_told_name(table) for table in TABLES]
        if subject.agent_id is not None:
            return dict.fromkeys(kinds, 0)
        return dict(await in_passes(kinds, partial(self._once, subject)))

    async def _once(self, subject: Subject) -> Counter[str]:
        gone: Counter[str] = Counter()
        for table in TABLES:
            while count := await retrying(partial(self._some_of, table, subject)):
                gone[_told_name(table)] += count
        return gone

    async def _some_of(self, table: str, subject: Subject) -> int:
        async with self._kit.database.transaction() as connection:
            return len(await connection.fetch(self._erasing[table], subject.tenant_id, subject.user, STEP))

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the values of a subject, without their vectors."""
        behind: tuple[str, bytes] = ("", b"")
        whose = (subject.tenant_id, subject.user, self._kit.now())
        while subject.agent_id is None:
            async with self._kit.database.connection() as connection:
                rows = await connection.fetch(self._sql["export_items"], *whose, *behind, PAGE)
            if not rows:
                return
            for row in rows:
                yield _line(subject.tenant_id, row)
            behind = rows[-1]["user_id"], rows[-1]["address"]

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Keep what another service exported, as it was there; returns how much of it is new.

        Raises InvalidRequest for what is not as it is exported, and keeps nothing then.
        """
        read = [_read(place, one) for place, one in enumerate(exported)]
        return await retrying(partial(self._restore, read)) if read else 0

    async def _restore(self, read: Sequence[ExportedItem]) -> int:
        new = 0
        async with self._kit.database.transaction() as connection:
            for place in sorted({Place(one.tenant_id, one.user_id) for one in read}):
                items = [one for one in read if (one.tenant_id, one.user_id) == place]
                rows = await connection.fetch(self._sql["restore_items"], *place, *_columns(items))
                new += len(rows)
                later = [row["revision"] for row in rows if row["is_indexed"]]
                await self._writing.leave_jobs(connection, place, later)
        return new


def _told_name(table: str) -> str:
    return table.removeprefix(f"{FAMILY}_")


def _line(tenant_id: str, row: Row) -> dict[str, Any]:
    ttl: timedelta | None = row["ttl"]
    return {
        "tenant_id": tenant_id,
        "user_id": row["user_id"],
        "namespace": row["namespace"],
        "key": row["key"],
        "value": msgspec.json.decode(row["value"]),
        "index": None if row["indexed"] is None else paths_of(row["indexed"]),
        "ttl": None if ttl is None else ttl / timedelta(minutes=1),
        **{
            name: None if row[name] is None else row[name].isoformat()
            for name in ("expires_at", "created_at", "updated_at")
        },
    }


def _read(place: int, exported: Mapping[str, Any]) -> ExportedItem:
    try:
        item = ExportedItem.model_validate(exported)
    except ValidationError as error:
        path, problem = faults_told(error)[0]
        where = path.replace("$", f"$[{place}]", 1)
        raise InvalidRequest(f"{where}: {problem}", fields=[where]) from None
    if (item.ttl is None) != (item.expires_at is None):
        where = f"$[{place}].expires_at"
        raise InvalidRequest(f"{where}: stands with ttl, or neither does", fields=[where])
    return item


def _columns(items: Sequence[ExportedItem]) -> list[list[Any]]:
    return [
        [address_of(one.namespace, one.key) for one in items],
        [path_of(one.namespace) for one in items],
        [one.key for one in items],
        [msgspec.json.encode(one.value).decode() for one in items],
        [as_text(one.index) for one in items],
        [None if one.ttl is None else timedelta(minutes=one.ttl) for one in items],
        [uuid4() for _ in items],
        [one.expires_at for one in items],
        [one.created_at for one in items],
        [one.updated_at for one in items],
    ]
