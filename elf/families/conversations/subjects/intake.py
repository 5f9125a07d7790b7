"""Taking in what another service exported. What is there already stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from uuid import UUID, uuid5

import msgspec

from elf.core.slices import Slices, in_slices
from elf.db.database import Connection, Database
from elf.db.queries import Queries
from elf.families.conversations.rules.history import role_of
from elf.families.conversations.rules.words import spacing
from elf.families.conversations.subjects import exported as x
from elf.families.conversations.trees import again
from elf.indexing.writes import CorpusWrites
from elf.taking_in import Given, by_tenant

P = TypeVar("P", bound=x.Exported)


class Intake:
    """Adds pieces, `step` a transaction or fewer large ones: trees with members, then conversations, entries, sessions.

    A piece whose tree or conversation is not there is left out. An entry is found by the first `indexed_chars` of its
    text.
    """

    def __init__(
        self, database: Database, queries: Queries, writes: CorpusWrites, *, step: int, indexed_chars: int
    ) -> None:
        self._database = database
        self._sql = queries
        self._writes = writes
        self._step = step
        self._indexed_chars = indexed_chars

    async def take_in(self, given: Sequence[Given[x.Exported]]) -> int:
        """Keep pieces of whatever tenants; returns how many of them are new."""
        new = 0
        for tenant_id, some in by_tenant(given, most=self._step):
            new += await self._take_in_some(tenant_id, some)
        return new

    @again
    async def _take_in_some(self, tenant_id: str, pieces: Sequence[x.Exported]) -> int:
        async with self._database.transaction() as connection:
            await connection.execute(self._sql["lock_intake"])
            ids = await self._entry_ids(connection, tenant_id, pieces)
            new = 0
            for tree in _of(x.ExportedTree, pieces):
                new += await connection.fetchval(self._sql["take_in_tree"], *_tree(tree))
            for one in _of(x.ExportedConversation, pieces):
                new += await connection.fetchval(self._sql["take_in_conversation"], *_conversation(one, ids))
            entries = _of(x.ExportedEntry, pieces)
            new += await self._take_in_entries(connection, tenant_id, entries, ids)
            for session in _of(x.ExportedSession, pieces):
                new += await connection.fetchval(self._sql["take_in_session"], *_session(session, ids))
            return new

    async def _entry_ids(
        self, connection: Connection, tenant_id: str, pieces: Sequence[x.Exported]
    ) -> EntryIds:
        trees = await connection.fetch(
            self._sql["trees_of_others"], tenant_id, list({one.tree_id for one in pieces})
        )
        named = {
            *(one.entry_id for one in _of(x.ExportedEntry, pieces)),
            *(one.forked_at_entry_id for one in _of(x.ExportedConversation, pieces)),
            *(one.entry_id for one in _of(x.ExportedSession, pieces)),
        } - {None}
        others = {one: uuid5(one, tenant_id) for one in named if one is not None}
        known = await connection.fetch(self._sql["known_entries"], tenant_id, [*others, *others.values()])
        return EntryIds(
            others,
            own={row["entry_id"] for row in known if row["is_own"]},
            of_others={row["entry_id"] for row in known if not row["is_own"]},
            trees_of_others={row["tree_id"] for row in trees},
        )

    async def _take_in_entries(
        self, connection: Connection, tenant_id: str, entries: Sequence[x.ExportedEntry], ids: EntryIds
    ) -> int:
        if not entries:
            return 0
        columns = zip(*await in_slices(_rows(entries, ids, self._indexed_chars)), strict=True)
        rows = await connection.fetch(
            self._sql["take_in_entries"], tenant_id, *map(list, columns), self._writes.embedding_version
        )
        found = [row["entry_id"] for row in rows if row["has_text"]]
        await self._writes.wrote(connection, (tenant_id,), found)
        return len(rows)


class EntryIds:
    """The ids that entries get here: their own, or others where another tenant has them or their tree, the same each
    time. An id is of one entry alone, whatever its tenant.
    """

    def __init__(
        self,
        others: Mapping[UUID, UUID],
        *,
        own: Collection[UUID],
        of_others: Collection[UUID],
        trees_of_others: Collection[UUID],
    ) -> None:
        self._others = others
        self._own = own
        self._of_others = of_others
        self._trees_of_others = trees_of_others

    def __call__(self, tree_id: UUID, entry_id: UUID) -> UUID:
        other = self._others[entry_id]
        if entry_id in self._own:
            return entry_id
        is_taken = tree_id in self._trees_of_others or entry_id in self._of_others
        return other if is_taken or other in self._own else entry_id


def _rows(entries: Sequence[x.ExportedEntry], ids: EntryIds, most: int) -> Slices[list[Sequence[Any]]]:
    """Return the values of entries, each in the order of take_in_entries."""
    rows = []
    for one in entries:
        rows.append((yield from _entry(one, ids, most)))
        yield
    return rows


def _of(kind: type[P], pieces: Iterable[x.Exported]) -> list[P]:
    return [one for one in pieces if isinstance(one, kind)]


_NO_TRANSFER: Final = (None,) * len(x.ExportedTransfer.__struct_fields__)


def _tree(tree: x.ExportedTree) -> Sequence[Any]:
    members = tree.members
    return (
        tree.tenant_id, tree.tree_id, tree.owner_user_id, tree.creator, tree.created_at, tree.deleted_at,
        [one.user_id for one in members], [one.access_level for one in members], [one.created_at for one in members],
        *(_NO_TRANSFER if tree.transfer is None else msgspec.structs.astuple(tree.transfer)),
    )  # fmt: skip


def _conversation(one: x.ExportedConversation, ids: EntryIds) -> Sequence[Any]:
    at = one.forked_at_entry_id
    return (
        one.tenant_id, one.tree_id, one.conversation_id, one.title, one.titled_by, one.metadata,
        one.forked_at_conversation_id, None if at is None else ids(one.tree_id, at), one.ancestors, one.ancestor_ends,
        one.last_seq, one.last_entry_at, one.last_message_preview, one.created_at, one.updated_at,
        one.name_id, one.generation,
    )  # fmt: skip


def _entry(one: x.ExportedEntry, ids: EntryIds, most: int) -> Slices[Sequence[Any]]:
    text = None if one.text is None else one.text[:most]
    return (
        one.conversation_id, one.seq, ids(one.tree_id, one.entry_id), one.user_id, one.client_id, one.channel,
        one.epoch, one.content_type, msgspec.json.encode(one.content).decode(), one.memory_count, one.memory_digest,
        one.memory_type, one.is_erased, one.created_at, role_of(one.content), text,
        None if text is None else (yield from spacing(text)), one.session_key,
    )  # fmt: skip


def _session(one: x.ExportedSession, ids: EntryIds) -> Sequence[Any]:
    at = one.entry_id
    return (
        one.tenant_id, one.user_id, one.session_id, one.conversation_id, None if at is None else ids(one.tree_id, at),
        msgspec.json.encode(one.data).decode(), one.revision, one.created_at, one.updated_at,
    )  # fmt: skip
