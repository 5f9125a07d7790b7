"""The audit log, in which the hashes that receipts have stand for the names of those who are erased."""

from __future__ import annotations

from elf.audit.log import AuditRows, Hasher
from elf.core.clock import Clock
from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.erasing.signing import signer_of


def audit_rows(database: Database, queries: Queries, clock: Clock) -> AuditRows:
    """Return the audit log; `queries` are those of the memory."""

    async def hasher() -> Hasher:
        return (await signer_of(database, queries, clock.now())).hash

    return AuditRows(database, hasher, clock)
