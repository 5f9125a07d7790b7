"""Reads checkpoints with the values of their channels, and lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from elf.api.caller import Caller
from elf.api.cursor import sealed, unsealed
from elf.core.errors import Conflict, InvalidRequest
from elf.core.structs import read_json
from elf.families.assistant.api import checkpoints as a
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import Place

PAGE_BYTES: Final = 8 << 20
"""A page ends where it would be larger than this, unless it has one checkpoint only."""
MAX_READ_BYTES: Final = a.MAX_CHECKPOINT_BYTES + a.MAX_BODY_BYTES
"""Two requests at the same time may leave a checkpoint larger than one may make it."""

Row = Mapping[str, Any]


class Value(msgspec.Struct, frozen=True):
    type: str
    data: bytes


class ChannelValue(Value, frozen=True):
    channel: str


class TaskWrite(ChannelValue, frozen=True):
    task_id: str


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent_id: str | None
    checkpoint: Value
    metadata: Value
    values: list[ChannelValue]
    writes: list[TaskWrite]


class Found(msgspec.Struct, frozen=True):
    checkpoint: Stored | None


class Listed(msgspec.Struct, frozen=True):
    items: list[Stored]
    next_cursor: str | None


class CheckpointReading:
    """Carries out the operations that read checkpoints. Its answers are structs, whose bytes are base64 as JSON."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def get(self, request: a.GetCheckpoint, caller: Caller) -> Found:
        """Read one checkpoint, or the newest of its namespace. Raises Conflict where it is too large."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        where = (request.thread_id, request.checkpoint_ns, request.checkpoint_id)
        found = await self._load(place, [where])
        return Found(found[0] if found else None)

    async def listed(self, request: a.ListCheckpoints, caller: Caller) -> Listed:
        """List checkpoints with all that is of them, newest first. Raises Conflict where one is too large."""
        place = self._kit.access.place(request.tenant_id, request.user_id, caller)
        of = (
            *place,
            request.thread_id,
            request.checkpoint_ns,
            request.before,
            repr(sorted(request.facts.items())),
        )
        after: Sequence[str | None] = (None, None, None)
        if request.cursor is not None:
            after = _place_in(request.cursor, of)
        async with self._kit.database.connection() as connection:
            found = await connection.fetch(
                self._sql["find_saver_checkpoints"], *place, request.thread_id, request.checkpoint_ns,
                request.checkpoint_id, request.before, *after, request.facts, request.limit + 1,
            )  # fmt: skip
        keys = _page(found[: request.limit])
        cursor = _cursor(keys[-1], of) if len(keys) < len(found) else None
        places = [(key["thread_id"], key["checkpoint_ns"], key["checkpoint_id"]) for key in keys]
        return Listed(await self._load(place, places) if places else [], cursor)

    async def _load(self, place: Place, keys: Sequence[tuple[str, str, str | None]]) -> list[Stored]:
        """Return those that are there of some threads, namespaces and ids, where None is the newest.

        Raises Conflict when they are too large.
        """
        threads, namespaces, ids = zip(*keys, strict=True)
        async with self._kit.database.connection() as connection:
            rows = await connection.fetch(
                self._sql["load_saver_checkpoints"], *place, threads, namespaces, ids, MAX_READ_BYTES
            )
        if rows and rows[0]["bytes"] > MAX_READ_BYTES:
            heads = ", ".join(row["checkpoint_id"] for row in rows)
            problem = f"{rows[0]['bytes']:,} bytes, and at most {MAX_READ_BYTES:,} are read"
            raise Conflict(f"checkpoint {heads} has with its values and writes {problem}")
        return _stored(rows)


def _place_in(cursor: str, of: tuple[object, ...]) -> Sequence[str]:
    """Return the place in the list that a cursor is of. Raises InvalidRequest for one that this listing never gave."""
    try:
        return read_json(unsealed(cursor, *of), tuple[str, str, str])
    except (ValueError, msgspec.MsgspecError) as error:
        problem = "the cursor is not one that this listing returned in this context"
        raise InvalidRequest(problem, fields=["$.cursor"]) from error


def _page(found: Sequence[Row]) -> list[Row]:
    page: list[Row] = []
    room = PAGE_BYTES
    for row in found:
        room -= row["bytes"]
        if page and room < 0:
            break
        page.append(row)
    return page


def _cursor(last: Row, of: tuple[object, ...]) -> str:
    place = [last["checkpoint_id"], last["thread_id"], last["checkpoint_ns"]]
    return sealed(msgspec.json.encode(place).decode(), *of)


def _stored(rows: Iterable[Row]) -> list[Stored]:
    by_place: dict[int, tuple[list[Row], list[Row], list[Row]]] = {}
    for row in rows:
        by_place.setdefault(row["place"], ([], [], []))[row["kind"]].append(row)
    return [_one(*by_place[place]) for place in sorted(by_place)]


def _one(heads: Sequence[Row], values: Sequence[Row], writes: Sequence[Row]) -> Stored:
    (head,) = heads
    writes = sorted(writes, key=lambda row: (row["task_path"], row["task_id"], row["idx"]))
    return Stored(
        thread_id=head["thread_id"],
        checkpoint_ns=head["checkpoint_ns"],
        checkpoint_id=head["checkpoint_id"],
        parent_id=head["parent_id"],
        checkpoint=Value(head["type"], head["data"]),
        metadata=Value(head["metadata_type"], head["metadata"]),
        values=[ChannelValue(row["type"], row["data"], row["channel"]) for row in values],
        writes=[TaskWrite(row["type"], row["data"], row["channel"], row["task_id"]) for row in writes],
    )
