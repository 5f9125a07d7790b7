"""An erasure over families of any sort: it knows whose conversations are meant, goes on, and ends with its receipt."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from elf.api.caller import Caller
from elf.core.errors import Conflict, InvalidRequest, NotFound, ScopeDenied, Unavailable
from elf.db.database import Database
from elf.db.queries import Queries, sql_folder
from elf.erasing import erasing as being_erased
from elf.memory.api import erasing as e
from elf.memory.erasing.own import OwnedBySomebody
from elf.memory.erasing.points import IndexPoints
from elf.memory.erasing.proving import Proving
from elf.memory.erasing.service import Erasing
from elf.memory.erasing.whose import Somebody
from elf.offers import ELSEWHERE, Subject
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio
OPERATOR = Caller(client="operator")
ANA = e.Erase(tenant_id="acme", user_id="ana")


@dataclass
class Shelf:
    """A family that has some pieces of the user of each conversation, and may be away."""

    pieces: dict[str, int] = field(default_factory=dict)
    is_away: bool = False
    elsewhere: int = 0
    asked: list[Subject] = field(default_factory=list)

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        self.asked.append(subject)
        if self.is_away:
            raise Unavailable("the shelf is away")
        going = [name for name in self.pieces if name in subject.conversations]
        gone = {"pieces": sum(self.pieces.pop(name) for name in going)}
        return gone | ({ELSEWHERE: self.elsewhere} if self.elsewhere else {})

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        for name, count in self.pieces.items():
            yield {name: count}

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        return len(exported)


@dataclass
class Talks:
    """The conversations of users, which are gone once they are erased."""

    of: dict[str, list[str]]

    async def __call__(self, tenant_id: str, user: str) -> AsyncGenerator[str, None]:
        for name in self.of.get(user, []):
            yield name

    async def erase(self, subject: Subject) -> Mapping[str, int]:
        return {"talks": len(self.of.pop(subject.user or "", []))}

    export = Shelf.export
    take_in = Shelf.take_in


def erasing(database: Database, talks: Talks, shelf: Shelf) -> Erasing:
    queries = Queries.load(sql_folder() / "memories")
    return Erasing(
        database,
        queries,
        {"talks": talks, "shelf": shelf},  # type: ignore[dict-item]
        OwnedBySomebody(database, queries, [talks]),
        IndexPoints([]),
        clock=TurnedClock(),
    )


async def rows(database: Database, table: str) -> int:
    async with database.connection() as connection:
        count: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
        return count


async def test_a_repeat_finishes_what_was_broken_off(database: Database) -> None:
    """Whose the conversations were is known although the family that knew it has erased them."""
    talks, shelf = Talks({"ana": ["a", "b"], "bob": ["c"]}), Shelf({"a": 2, "b": 3, "c": 5}, is_away=True)
    service = erasing(database, talks, shelf)
    with pytest.raises(Unavailable):
        await service.erase(ANA, OPERATOR)
    assert talks.of == {"bob": ["c"]}
    assert (await rows(database, "memory_erasures"), await rows(database, "memory_receipts")) == (1, 0)
    shelf.is_away = False
    receipt = await service.erase(ANA, OPERATOR)
    assert receipt.erased == {"talks": {"talks": 2}, "shelf": {"pieces": 5}}
    assert shelf.pieces == {"c": 5}
    assert (await rows(database, "memory_erasures"), await rows(database, "memory_receipts")) == (0, 1)
    assert "ana" not in receipt.model_dump_json()


async def test_a_receipt_is_that_of_one_alone(database: Database) -> None:
    service = erasing(database, Talks({}), Shelf())
    receipt = await service.erase(ANA, OPERATOR)
    found = await service.receipt(
        e.ReadReceipt(tenant_id="acme", user_id="ana", receipt_id=receipt.receipt_id), OPERATOR
    )
    assert found == receipt
    for whose in (
        {"tenant_id": "acme"},
        {"tenant_id": "rival", "user_id": "ana"},
        {"tenant_id": "acme", "agent_id": "ana"},
    ):
        with pytest.raises(NotFound):
            await service.receipt(e.ReadReceipt(**whose, receipt_id=receipt.receipt_id), OPERATOR)


async def test_what_is_on_other_hosts_is_told_as_out_of_reach(database: Database) -> None:
    receipt = await erasing(database, Talks({}), Shelf(elsewhere=2)).erase(ANA, OPERATOR)
    assert receipt.erased["shelf"] == {"pieces": 0}
    assert "shelf: 2 places on other hosts" in receipt.out_of_reach


async def test_two_erase_the_same_one_after_the_other(database: Database) -> None:
    service = erasing(database, Talks({}), Shelf())
    async with being_erased(database, Somebody("acme", "user", "ana")):
        with pytest.raises(Conflict, match="another request"):
            await service.erase(ANA, OPERATOR)
        await service.erase(e.Erase(tenant_id="acme", user_id="bob"), OPERATOR)


@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({}, ("$.user_id", "$.agent_id", "$.everything")),
        ({"user_id": "ana", "agent_id": "bot"}, ("$.user_id", "$.agent_id")),
        ({"user_id": "ana", "everything": True}, ("$.user_id", "$.everything")),
    ],
)
async def test_who_is_meant_has_to_be_said(
    database: Database, asked: dict[str, Any], fields: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await erasing(database, Talks({}), Shelf()).erase(e.Erase(tenant_id="acme", **asked), OPERATOR)
    assert refused.value.fields == fields


@pytest.mark.parametrize(
    "bound", [{"project_id": "bob"}, {"agent_id": "bot"}, {"project_id": "ana", "read_profile": "shared"}]
)
async def test_who_is_bound_to_less_erases_nothing(database: Database, bound: dict[str, str]) -> None:
    shelf = Shelf()
    with pytest.raises(ScopeDenied):
        await erasing(database, Talks({}), shelf).erase(ANA, Caller(client="operator", bound=bound))
    assert shelf.asked == []
    await erasing(database, Talks({}), shelf).erase(
        ANA, Caller(client="operator", bound={"project_id": "ana"})
    )


async def test_a_name_in_any_table_is_found_and_for_who_is_bound_in_those_of_the_tenant_alone(
    database: Database,
) -> None:
    queries = Queries.load(sql_folder() / "memories")
    proving = Proving(database, queries, {}, IndexPoints([]), vector_dim=4, clock=TurnedClock())
    receipt = await erasing(database, Talks({}), Shelf()).erase(ANA, OPERATOR)
    given = e.GivenReceipt.model_validate(receipt.model_dump(mode="json"))
    request = e.ProveErased(tenant_id="acme", user_id="ana", receipt=given)
    assert (await proving.prove(request, OPERATOR)).proven
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO memory_forget_handles (tenant_id, handle_id, items, expires_at) "
            "SELECT t.tenant, gen_random_uuid(), jsonb_build_array(t.name), now() "
            "FROM (VALUES ('acme', 'ana'), ('rival', 'ana'), ('acme', 'banana')) AS t (tenant, name)"
        )
        await connection.execute("CREATE TABLE unowned (said text, bytes bytea)")
        await connection.execute("INSERT INTO unowned VALUES ('it was ana', convert_to('ana', 'UTF8'))")
    try:
        places = {one.place: one.count for one in (await proving.prove(request, OPERATOR)).found}
        assert places == {
            "public.memory_forget_handles.items": 1,
            "public.unowned.said": 1,
            "public.unowned.bytes": 1,
        }
        bound = Caller(client="operator", bound={"tenant_id": "acme"})
        found = (await proving.prove(request, bound)).found
        assert [one.place for one in found] == ["public.memory_forget_handles.items"]
    finally:
        async with database.connection() as connection:
            await connection.execute("DROP TABLE unowned")


async def test_a_namesake_in_another_tenant_is_not_found_in_what_belongs_to_a_note_or_a_trace(
    database: Database,
) -> None:
    queries = Queries.load(sql_folder() / "memories")
    proving = Proving(database, queries, {}, IndexPoints([]), vector_dim=4, clock=TurnedClock())
    receipt = await erasing(database, Talks({}), Shelf()).erase(ANA, OPERATOR)
    given = e.GivenReceipt.model_validate(receipt.model_dump(mode="json"))
    request = e.ProveErased(tenant_id="acme", user_id="ana", receipt=given)
    noted = (
        "INSERT INTO memory_notes (note_id, tenant_id, project_id, agent_id, scope, type, text, importance, "
        "confidence, status, created_at, updated_at, embedding_version, source_ref) "
        "VALUES ($2, $1, 'p', 'a', 'project_shared', 'fact', 'tea', 0.5, 0.5, 'active', now(), now(), 'v', '{}')"
    )
    told = (
        "INSERT INTO memory_note_sources (note_id, thread, source_ref, created_at) VALUES ($1, 'ana', '{}', now())",
        "INSERT INTO memory_note_versions (version_id, note_id, op, reason, actor) VALUES ($1, $1, 'ADD', 'it', 'ana')",
    )
    planned = (
        "INSERT INTO chore_runs (family, chore, subject, due_at) "
        "VALUES ('assistant', 'consolidation', json_build_array($1::text, 'ana')::text, now())"
    )
    expected = {
        "public.memory_note_sources.thread",
        "public.memory_note_versions.actor",
        "public.chore_runs.subject",
    }
    for tenant, places in (("rival", set[str]()), ("acme", expected)):
        async with database.connection() as connection:
            note = uuid4()
            await connection.execute(noted, tenant, note)
            for statement in told:
                await connection.execute(statement, note)
            await connection.execute(planned, tenant)
        assert {one.place for one in (await proving.prove(request, OPERATOR)).found} == places
    async with database.connection() as connection:
        await connection.execute("DELETE FROM memory_notes")
    found = {one.place: one.count for one in (await proving.prove(request, OPERATOR)).found}
    assert found["public.memory_note_versions.actor"] == 2, "nobody says whose a note was"
