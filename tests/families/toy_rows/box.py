"""What the toy family does: rows, their vectors by a queue, a count by a chore, and a diary that is a file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import anyio
from anyio.abc import TaskStatus
from pgvector import Vector

from elf.api.caller import Caller
from elf.api.operation import Handler, for_anyone
from elf.core.errors import NotFound, Unavailable
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries
from elf.family import Opened, StoredGauge
from elf.ground import Ground
from elf.offers import Item, Question, Subject
from elf.outbox.chores import Chore, Due, every
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, outbox_queries
from elf.outbox.leases import Job
from elf.outbox.queue import Queue
from tests.families.toy_rows import manifest as m

QUEUE: Final = "toy_vectors"


def open_box(ground: Ground) -> Opened:
    box = Box(ground)
    outbox = LeasedOutbox(ground.database, box.sql, table="toy_outbox", lease_seconds=10.0)
    by_name = {m.PUT_TOY: box.put, m.PUT_TOYS: box.put_all, m.GET_TOY: box.get, m.DROP_TOY: box.drop}
    by_name |= {m.FIND_TOYS: box.find, m.ALL_TOYS: box.all, m.EMPTY_BOX: box.empty}
    handlers: Mapping[str, Handler] = {one.name: for_anyone(do) for one, do in by_name.items()}
    return Opened(
        handlers=handlers,
        outboxes={QUEUE: outbox},
        queues=[Queue(family="toy_rows", name=QUEUE, outbox=outbox, handle=partial(box.embed, outbox))],
        garbage=[GarbageStep("toy_rows", "done_toy_jobs", box.drop_done)],
        chores=[
            Chore(
                family="toy_rows", name="count", when=every(timedelta(minutes=1)),
                run=box.count, subjects=box.tenants,
            )
        ],
        owners=[box.diary],
        stored_gauges=[StoredGauge(name="elf_toys", about="Toys, as counted last.", read=box.counted)],
        recall=box.recall,
        items=box,
        subjects=box,
    )  # fmt: skip


class Diary:
    """The file of the family: a line for each toy that came."""

    name = "toy_diary"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_open = False
        self._turn = anyio.Lock()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        await anyio.to_thread.run_sync(lambda: self._path.parent.mkdir(parents=True, exist_ok=True))
        self._is_open = True
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            self._is_open = False

    async def write(self, lines: Sequence[str]) -> None:
        if not self._is_open:
            raise Unavailable("the diary is closed")
        async with self._turn, await anyio.open_file(self._path, "a", encoding="utf-8") as file:
            await file.write("".join(f"{line}\n" for line in lines))

    async def strike(self, lines: Collection[str]) -> int:
        async with self._turn:
            path = anyio.Path(self._path)
            kept = (await path.read_text(encoding="utf-8")).splitlines()
            await path.write_text(
                "".join(f"{line}\n" for line in kept if line not in lines), encoding="utf-8"
            )
        return sum(line in lines for line in kept)


class Box:
    """Carries the operations out, and offers what whoever stands above all families may ask."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.database = ground.database
        about = JobSubject(
            kind="'toy'", tenant="(SELECT t.tenant_id FROM toys AS t WHERE t.toy_id = o.toy_id)"
        )
        own = Queries.load(m.TOY_ROWS.sql_folder)
        self.sql = outbox_queries("toy_outbox", subject="toy_id", about=about, own=own)
        self.diary = Diary(Path(ground.config.of(m.ToyRowsTable).diary))

    async def rows(self, name: str, *arguments: Any) -> list[Mapping[str, Any]]:
        async with self.database.connection() as connection:
            return await connection.fetch(self.sql[name], *arguments)

    async def put(self, request: m.PutToy) -> m.Toy:
        toy = m.Toy(toy_id=uuid4(), words=request.words)
        await self.keep(request, [toy])
        return toy

    async def put_all(self, request: m.PutToys) -> m.Toys:
        toys = [m.Toy(toy_id=uuid4(), words=words) for words in request.toys]
        await self.keep(request, toys)
        return m.Toys(toys=toys)

    async def keep(self, place: m.Place, toys: Sequence[m.Toy]) -> int:
        ids, words = [toy.toy_id for toy in toys], [toy.words for toy in toys]
        new = await self.rows("put_toys", place.tenant_id, place.project_id, ids, words)
        self.ground.ring(QUEUE)()
        await self.diary.write([str(row["toy_id"]) for row in new])
        return len(new)

    async def get(self, request: m.OneToy) -> m.Toy:
        rows = await self.rows("get_toy", request.toy_id, request.tenant_id, request.project_id)
        return m.Toy(**rows[0]) if rows else _missing(request.toy_id)

    async def drop(self, request: m.OneToy) -> None:
        if not await self.rows("drop_toys", request.toy_id, request.tenant_id, request.project_id):
            _missing(request.toy_id)

    async def empty(self, request: m.Place) -> None:
        await self.rows("drop_toys", None, request.tenant_id, request.project_id)

    async def find(self, request: m.FindToys) -> m.Toys:
        assert self.ground.search is not None
        vector = (await self.ground.search.models.embedder.embed([request.query]))[0]
        rows = await self.rows("near_toys", request.tenant_id, request.project_id, vector, request.limit)
        return m.Toys(toys=[m.Toy(**row) for row in rows])

    async def all(self, request: m.Place) -> AsyncGenerator[m.Toy, None]:
        rows = await self.rows("all_toys", request.tenant_id, request.project_id)

        async def events() -> AsyncGenerator[m.Toy, None]:
            for row in rows:
                yield m.Toy(toy_id=row["toy_id"], words=row["words"])

        return events()

    async def embed(self, outbox: LeasedOutbox, jobs: Sequence[Job]) -> None:
        assert self.ground.models.embedder is not None
        rows = await self.rows("words_of", [job.subject_id for job in jobs])
        vectors = await self.ground.models.embedder.embed([row["words"] for row in rows]) if rows else []
        async with self.database.transaction() as connection:
            ids = [row["toy_id"] for row in rows]
            await connection.execute(self.sql["keep_vectors"], ids, [Vector(vector) for vector in vectors])
            await outbox.finish(jobs, connection)

    async def tenants(self) -> Sequence[str]:
        return [row["tenant_id"] for row in await self.rows("tenants")]

    async def count(self, due: Due) -> None:
        await self.rows("count_toys", due.subject)

    async def counted(self) -> Mapping[tuple[str, ...], float] | None:
        ((toys,),) = (tuple(row.values()) for row in await self.rows("counted_toys"))
        return {(): float(toys or 0)}

    async def drop_done(self, now: datetime, limit: int) -> int:
        return len(await self.rows("drop_done_jobs", now - timedelta(days=1), limit))

    async def recall(self, question: Question, caller: Caller) -> Sequence[Item]:
        place = (question.subject.tenant_id, question.subject.user)
        rows = (
            []
            if (vector := await question.embedded()) is None
            else await self.rows("near_toys", *place, vector, question.limit)
        )
        return [_item(row, likeness=row["score"]) for row in rows]

    async def read(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> Item:
        return _item((await self.get(_address(item_id, subject))).model_dump())

    async def forget(self, kind: str, item_id: str, subject: Subject, caller: Caller) -> None:
        await self.drop(_address(item_id, subject))

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        rows = await self.rows("drop_toys", None, subject.tenant_id, subject.user)
        gone = {str(row["toy_id"]) for row in rows}
        return {"toys": len(gone), "lines of the diary": await self.diary.strike(gone)}

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        for row in await self.rows("all_toys", subject.tenant_id, subject.user):
            yield {**row, "toy_id": str(row["toy_id"])}

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        return sum([await self.keep(m.Place(agent_id="-", **_box(one)), [m.Toy(**one)]) for one in exported])


def _box(exported: Mapping[str, Any]) -> dict[str, str]:
    return {name: exported[name] for name in ("tenant_id", "project_id")}


def _address(item_id: str, subject: Subject) -> m.OneToy:
    """Return an item's address: of a user's toys, who is the project."""
    place = {
        "tenant_id": subject.tenant_id,
        "project_id": subject.user or "",
        "agent_id": subject.agent_id or "-",
    }
    return m.OneToy(toy_id=UUID(item_id), **place)


def _item(row: Mapping[str, Any], **terms: float) -> Item:
    return Item(kind="toy", id=str(row["toy_id"]), text=row["words"], terms=terms)


def _missing(toy_id: UUID) -> m.Toy:
    raise NotFound(f"there is no toy {toy_id} in this box")
