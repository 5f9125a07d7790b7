"""Keeping what another service told of its users as it was there: with its ids, times, history and what was agreed to.

Texts get the form of what is written here, and secrets are blanked. Unlike in the import of a user's own memory,
nothing is judged anew, or proposed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

import msgspec

from elf.core.secrets import redacting_json
from elf.core.slices import in_slices
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.assistant.api import subjects as a
from elf.families.assistant.kit import Kit
from elf.families.assistant.memories.given import Given
from elf.families.assistant.store.changes import VECTOR_JOB

RESTORED_BY: Final[Mapping[str, str]] = {
    "memory": "restore_memories",
    "source": "restore_sources",
    "relation": "restore_relations",
    "history": "restore_history",
    "user_context": "restore_user_contexts",
    "proposal": "restore_proposals",
    "thread": "restore_threads",
    "file": "restore_files",
    "file_version": "restore_file_versions",
}
"""In the order of an export: sources and relations are of memories that are there, and versions of such files."""

Rows = list[dict[str, Any]]


class Restoring:
    """Writes the lines of one call in a transaction. What graphs keep of their threads is left."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries
        self._given = Given(kit)

    async def take_in(self, tenant_id: str, lines: Sequence[a.ExportedLine]) -> int:
        """Keep lines; returns how many of them are new."""
        rows = {kind: [await self._clean(kind, row) for row in _rows(kind, lines)] for kind in RESTORED_BY}
        memories = rows["memory"]
        texts = ["\n".join(filter(None, (one["text"], one["steps_text"]))) for one in memories]
        embedded = await self._kit.embedder.embed_if_there(texts)
        vectors = dict(
            zip(((one["user_id"], UUID(one["id"])) for one in memories), embedded.vectors, strict=True)
        )
        return await retrying(partial(self._write, tenant_id, rows, vectors))

    async def _clean(self, kind: str, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row as it would have been written. What somebody keeps of a thread stays as it is, as there."""
        given = self._given
        match kind:
            case "memory":
                texts = {
                    "text": await given.text(row["text"]),
                    "steps_text": await given.steps(row["steps_text"]),
                }
                return row | texts | {"evidence": [await self._quoted(one) for one in row["evidence"]]}
            case "source":
                return row | {"evidence": [await self._quoted(one) for one in row["evidence"]]}
            case "history":
                refs = {name: _json(await self._redacted(row[name])) for name in ("old_ref", "new_ref")}
                return row | refs | {"meta": await self._redacted(row["meta"])}
            case "user_context":
                return row | {"value": await given.value(row["value"])}
            case "proposal":
                value, quotes = (
                    await given.quote(row["value"]),
                    [await self._quoted(one) for one in row["evidence"]],
                )
                return row | {"value": value, "evidence": quotes}
            case "file" | "file_version":
                return row | {"text": await given.quote(row["text"])}
        return row

    async def _quoted(self, evidence: dict[str, Any]) -> dict[str, Any]:
        return evidence | {"quote": await self._given.quote(evidence["quote"])}

    async def _redacted(self, said: Any) -> Any:
        return await in_slices(redacting_json(said)) if self._kit.redact else said

    async def _write(
        self, tenant_id: str, rows: Mapping[str, Rows], vectors: Mapping[tuple[str, UUID], Any]
    ) -> int:
        new = 0
        async with self._kit.database.transaction() as connection:
            for kind, statement in RESTORED_BY.items():
                if not rows[kind]:
                    continue
                if kind == "file":
                    for user_id in sorted({row["user_id"] for row in rows[kind]}):
                        await connection.execute(self._sql["lock_files"], tenant_id, user_id)
                added = await connection.fetch(self._sql[statement], tenant_id, rows[kind])
                new += len(added)
                if kind == "memory":
                    for row in added:
                        key = row["user_id"], row["memory_id"]
                        await self._put_vector(connection, tenant_id, *key, vectors[key])
        return new

    async def _put_vector(
        self, connection: Connection, tenant_id: str, user_id: str, memory_id: UUID, vector: Any
    ) -> None:
        """Give a memory its vector, or leave that to a job. Its relations are told by lines of their own."""
        if vector is not None:
            await connection.execute(
                self._sql["put_vector"], tenant_id, user_id, memory_id, self._kit.embedder.version, vector
            )
            return
        await connection.execute(self._sql["leave_jobs"], tenant_id, user_id, [VECTOR_JOB], [memory_id], [{}])
        connection.after_commit(self._kit.ring)


def _rows(kind: str, lines: Sequence[a.ExportedLine]) -> Rows:
    """Return the lines of a kind as rows."""
    told = [(line.user_id, getattr(line, kind)) for line in lines]
    rows: Rows = [{"user_id": user, **one.model_dump(mode="json")} for user, one in told if one is not None]
    return [row for row in rows if not row.get("by_saver")]


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
