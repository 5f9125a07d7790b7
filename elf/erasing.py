"""What families share that erase all of somebody.

Whoever erases a tenant, a user or an agent holds its lock: see sql/common/008-erasing.sql. Who writes meanwhile what is
theirs gets ErasureInProgress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import msgspec

from elf.api.audit import DataSubject
from elf.core.errors import Conflict, InvalidRequest, Unavailable
from elf.db.alone import alone
from elf.db.database import Connection, Database
from elf.db.errors import Retryable
from elf.db.queries import Queries, sql_folder
from elf.db.schema import COMMON
from elf.offers import Subject

MOST_PASSES: Final = 5
# Less than a statement may take.
LONGEST_WAIT_FOR_WRITERS: Final = "SET LOCAL lock_timeout = '25s'"


@asynccontextmanager
async def erasing(database: Database, subject: DataSubject) -> AsyncIterator[None]:
    """Be the only one who erases somebody for the block, in which nobody writes what is theirs.

    What is in the memory of a process at its end, and is written later, is known as what was theirs: see
    sql/common/008-erasing.sql. Whoever is at work is waited for. Raises Conflict while somebody else erases them, and
    Unavailable where a writer does not come to an end.
    """
    digest = blake2b(msgspec.json.encode(["elf", *subject]), digest_size=8, person=b"elf erase").digest()
    busy = Conflict("this is being erased by another request at this moment")
    lock = int.from_bytes(digest, signed=True)
    sql = Queries.load(sql_folder() / COMMON)
    async with alone(database, lock, busy=busy, also=partial(_keep_writers_out, subject, sql)):
        yield
        async with database.connection() as connection:
            await connection.execute(sql["tell_owner_erased"], *subject)


async def _keep_writers_out(subject: DataSubject, sql: Queries, guard: Connection) -> None:
    await guard.execute(LONGEST_WAIT_FOR_WRITERS)
    try:
        await guard.execute(sql["keep_writers_out"], *subject)
    except Retryable:
        raise Unavailable("somebody still writes what is to be erased: erase again") from None


def named(subject: Subject) -> DataSubject:
    """Return whom a subject is by name: the user, or else the agent, or else the tenant."""
    return DataSubject.by_name(subject.tenant_id, user=subject.user, agent=subject.agent_id)


async def in_passes(kinds: Iterable[str], once: Callable[[], Awaitable[Mapping[str, int]]]) -> Counter[str]:
    """Erase until a pass finds nothing, so that what the service itself was writing meanwhile goes, too.

    `once` erases all that it finds, and returns how much of each kind went. Where the lock of the owner is held, the
    last pass finds nothing; else it ends after MOST_PASSES. Returns how much went of each of the kinds, and of others
    that were found.
    """
    gone = Counter(dict.fromkeys(kinds, 0))
    for _ in range(MOST_PASSES):
        some = await once()
        gone.update(some)
        if not any(some.values()):
            break
    return gone


class NotTakenAlong:
    """What Subjects do besides erasing, where nothing is to be taken along."""

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield nothing."""
        nothing: Sequence[Mapping[str, Any]] = ()
        for one in nothing:
            yield one

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Raise InvalidRequest for anything: nothing is exported."""
        if exported:
            raise InvalidRequest("this is nothing that was exported: of this nothing is")
        return 0
