"""The audit log in Postgres."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from elf.api.audit import BEGUN, AuditEntry, AuditOutcome, DataSubject, Subject
from elf.api.caller import DEFAULT_TENANT
from elf.api.cursor import Cursor
from elf.core.clock import Clock
from elf.db.database import Connection, Database
from elf.db.errors import retrying
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries, sql_folder
from elf.db.schema import COMMON
from elf.identity.roles import ROLES

RENAMED_AT_ONCE: Final = 1000
_AGENTS: Final = frozenset({"agent_id", "orchestrator_id", "requesting_orchestrator_id"})
_USERS: Final = frozenset({"user_id", "project_id", "name", "caller", "subject"})
_BEGUN: Final = AuditOutcome(BEGUN, None, None)

Hasher: TypeAlias = Callable[[DataSubject], str]
"""Returns the keyed hash that stands for somebody who was erased."""


class Wanted(NamedTuple):
    """Which calls are listed; None does not restrict them."""

    tenant_id: str | None
    caller: str | None
    operation: str | None
    subject: str | None
    since: datetime | None
    until: datetime | None


class AuditRows:
    """Writes, lists and ages rows. `hasher` returns what hashes the names of those who are erased."""

    def __init__(self, database: Database, hasher: Callable[[], Awaitable[Hasher]], clock: Clock) -> None:
        self._database = database
        self._sql = Queries.load(sql_folder() / "audit")
        self._make_hasher = hasher
        self._hasher: Hasher | None = None
        self._clock = clock

    async def begin(self, entry: AuditEntry) -> None:
        """Record that a call begins."""
        await self._record(entry, _BEGUN)

    async def end(self, entry: AuditEntry, outcome: AuditOutcome, *, has_begun: bool) -> None:
        """Record what became of a call."""
        if not has_begun:
            await self._record(entry, outcome)
            return
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["end_audited_call"], entry.call_id, *outcome, self._clock.now()
            )

    async def _record(self, entry: AuditEntry, outcome: AuditOutcome) -> None:
        tenant = entry.tenant_id
        names = {name: one for name, one in entry.subject.items() if isinstance(one, str)}
        lists = {name: some for name, some in entry.subject.items() if name not in names}
        of_tenant, as_users, as_agents = None, [], []
        if tenant is not None or names:
            hashed = await self._hashing()
            of = tenant or DEFAULT_TENANT
            of_tenant = None if tenant is None else hashed(DataSubject(tenant, "tenant", tenant))
            as_users = [hashed(DataSubject(of, "user", name)) for name in names.values()]
            as_agents = [hashed(DataSubject(of, "agent", name)) for name in names.values()]
        async with self._database.connection() as connection:
            await connection.execute(
                self._sql["record_audited_call"], entry.call_id, entry.called_at, entry.request_id, entry.operation,
                entry.user, entry.client, None if entry.role is None else ROLES.index(entry.role), tenant, of_tenant,
                *outcome, [*names], [*names.values()], as_users, as_agents, lists, self._clock.now(),
            )  # fmt: skip

    async def page(self, wanted: Wanted, before: Cursor, limit: int) -> Sequence[Mapping[str, Any]]:
        """Return calls before a place, newest first. Those who were erased are found by their names, too."""
        tenants = callers = subjects = None
        if wanted.tenant_id is not None or wanted.caller is not None or wanted.subject is not None:
            hashed = await self._hashing()
            of = wanted.tenant_id or DEFAULT_TENANT

            def known_as(name: str) -> list[str]:
                return [name, hashed(DataSubject(of, "user", name)), hashed(DataSubject(of, "agent", name))]

            tenants = wanted.tenant_id and [of, hashed(DataSubject(of, "tenant", of))]
            callers = wanted.caller and known_as(wanted.caller)
            subjects = wanted.subject and known_as(wanted.subject)
        async with self._database.connection() as connection:
            return await connection.fetch(
                self._sql["list_audited_calls"], before.moment, before.id, tenants, callers, wanted.operation, subjects,
                wanted.since, wanted.until, limit,
            )  # fmt: skip

    async def pseudonymize(self, erased: DataSubject) -> None:
        """Replace the names of somebody who was erased, in every row: those of a tenant with all that it names."""
        hashed, stand_ins = await self._hashing(), set[str]()

        def replaced(subject: DataSubject) -> str:
            stand_ins.add(stand_in := hashed(subject))
            return stand_in

        replaced(erased)
        while await retrying(lambda: self._rename_apart(erased, replaced)):
            pass
        # What was being recorded meanwhile is done when this lock is held, and what comes after it finds the hashes.
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_audit_log"])
            while await self._rename_some(connection, erased, replaced):
                pass
            await connection.execute(self._sql["keep_pseudonyms"], sorted(stand_ins))

    async def _rename_apart(self, erased: DataSubject, replaced: Hasher) -> int:
        async with self._database.transaction() as connection:
            return await self._rename_some(connection, erased, replaced)

    async def _rename_some(self, connection: Connection, erased: DataSubject, replaced: Hasher) -> int:
        hashed = await self._hashing()
        tenants = erased.tenant_id, hashed(DataSubject(erased.tenant_id, "tenant", erased.tenant_id))
        if erased.kind == "tenant":
            rows = await connection.fetch(self._sql["audited_calls_of_tenant"], *tenants, RENAMED_AT_ONCE)
        else:
            statement = self._sql[f"audited_calls_naming_{erased.kind}"]
            rows = await connection.fetch(statement, *tenants, erased.name, RENAMED_AT_ONCE)
        renamed = [_renamed(row, erased, replaced) for row in rows]
        if renamed:
            await connection.execute(
                self._sql["rename_in_audited_calls"], *map(list, zip(*renamed, strict=True))
            )
        return len(renamed)

    def garbage(self, age: timedelta) -> GarbageStep:
        """Return what removes older rows."""

        async def collect(now: datetime, limit: int) -> int:
            async with self._database.connection() as connection:
                return len(await connection.fetch(self._sql["drop_old_audited_calls"], now - age, limit))

        return GarbageStep(COMMON, "old_audited_calls", collect)

    async def _hashing(self) -> Hasher:
        if self._hasher is None:
            self._hasher = await self._make_hasher()
        return self._hasher


def _renamed(
    row: Mapping[str, Any], erased: DataSubject, replaced: Hasher
) -> tuple[Any, str | None, str | None, str | None, Subject]:
    """Return a row without the names of somebody."""
    user, client, of, subject = (
        row[name] for name in ("caller_user", "caller_client", "tenant_id", "subject")
    )
    if erased.kind == "tenant":
        user = user and _of_tenant("user_id", user, erased, replaced)
        client = client and _of_tenant("agent_id", client, erased, replaced)
        of = replaced(erased)
        subject = {
            field: one if isinstance(one, list) else _of_tenant(field, one, erased, replaced)
            for field, one in subject.items()
        }
    else:
        hash = replaced(erased)
        user = hash if erased.kind == "user" and user == erased.name else user
        client = hash if erased.kind == "agent" and client == erased.name else client
        subject = {field: _with_hash(name, erased.name, hash) for field, name in subject.items()}
    return row["call_id"], user, client, of, subject


def _with_hash(value: str | list[str], name: str, hash: str) -> str | list[str]:
    if isinstance(value, list):
        return [hash if one == name else one for one in value]
    return hash if value == name else value


def _of_tenant(field: str, value: str, erased: DataSubject, replaced: Hasher) -> str:
    """Return what stands for a name in a row of a tenant that was erased; ids of what is gone name nobody."""
    if value == erased.name:
        return replaced(erased)
    if field not in _AGENTS | _USERS or value.startswith("hmac-"):
        return value
    return replaced(DataSubject(erased.tenant_id, "agent" if field in _AGENTS else "user", value))
