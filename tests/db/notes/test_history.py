"""The history of a note: paging through its versions, and making one of them the note again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import anyio
import msgspec
import pytest

from elf.core.errors import InvalidRequest, NotFound, ScopeDenied
from elf.families.notes.api.audit_requests import (
    HistoryRequest,
    HistoryResponse,
    NoteVersion,
    RestoreRequest,
    RestoreResponse,
)
from elf.families.notes.reading.history import NoteHistory
from elf.families.notes.writing.service import NotePolicy
from elf.families.notes.writing.write_rules import WriteGate
from tests.db.notes.aging import assert_gapless, collect
from tests.db.notes.conftest import CONTEXT_FIELDS, House
from tests.notes_kit import RULES, scope_rules

pytestmark = pytest.mark.anyio


def history(house: House, *, max_note_chars: int = 240, **write_allowed: bool) -> NoteHistory:
    scopes = scope_rules(**({"org_shared": False} | write_allowed))
    return NoteHistory(
        database=house.database,
        queries=house.queries,
        store=house.store,
        policy=NotePolicy(gate=WriteGate(scopes, max_note_chars), scopes=scopes, rules=RULES, redact=True),
        embedding_version=house.model.version,
        clock=house.clock,
        ring=house.ring,
    )


async def page(house: House, note_id: UUID, **fields: Any) -> HistoryResponse:
    shown = await history(house).page(HistoryRequest(note_id=note_id, **fields))
    return HistoryResponse.model_validate_json(msgspec.json.encode(shown))


async def restore(house: House, note_id: UUID, **fields: Any) -> RestoreResponse:
    return await history(house).restore(as_restore(note_id=note_id, **fields))


def as_restore(**fields: Any) -> RestoreRequest:
    values: dict[str, Any] = CONTEXT_FIELDS | fields
    return RestoreRequest(**values)


async def version_of(house: House, note_id: UUID, op: str) -> NoteVersion:
    """The oldest version with this op."""
    return next(item for item in reversed((await page(house, note_id)).items) if item.op == op)


# Reading


async def test_a_history_is_read_newest_first_and_page_by_page(house: House) -> None:
    note_id = await house.add_one("Fact: number 0.", source_ref={"chat": "monday"})
    for number in range(1, 7):
        await house.update(note_id, text=f"Fact: number {number}.")
    await house.delete(note_id)
    seen: list[NoteVersion] = []
    cursor = None
    while True:
        found = await page(house, note_id, limit=3, cursor=cursor)
        assert len(found.items) <= 3
        seen += found.items
        cursor = found.next_cursor
        if cursor is None:
            break
    assert [item.op for item in seen] == ["DELETE", *["UPDATE"] * 6, "ADD"]
    assert [(item.actor, item.reason) for item in (seen[0], seen[1], seen[-1])] == [
        ("delete", "delete request"), ("update", "update request"), ("add_note", "new note"),
    ]  # fmt: skip
    assert_gapless([item.model_dump() for item in reversed(seen)])
    assert seen[-1].new_snapshot is not None
    assert seen[-1].new_snapshot["source_ref"] == {"chat": "monday"}


async def test_a_page_that_ends_with_the_history_has_no_cursor(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    await house.update(note_id, importance=0.9)
    assert (await page(house, note_id, limit=2)).next_cursor is None
    assert (await page(house, note_id, limit=1)).next_cursor is not None
    with pytest.raises(InvalidRequest):
        await page(house, note_id, cursor="junk")


async def test_a_page_of_a_history_ends_when_it_is_large(house: House) -> None:
    large = {"pages": ["p" * 16_000] * 60}
    note_id = await house.add_one("Fact: tea is hot.", source_ref=large)
    for number in range(3):
        await house.update(note_id, importance=number / 4)
    ops: list[str] = []
    sizes: list[int] = []
    cursor = None
    while True:
        found = await page(house, note_id, cursor=cursor)
        ops += [item.op for item in found.items]
        sizes.append(len(found.items))
        cursor = found.next_cursor
        if cursor is None:
            break
    assert ops == ["UPDATE", "UPDATE", "UPDATE", "ADD"]
    assert max(sizes) == 1


async def test_a_history_is_seen_by_those_who_see_the_note(house: House) -> None:
    (result,) = await house.add({"text": "Fact: tea is hot."}, scope="agent_private")
    own = CONTEXT_FIELDS
    assert len((await page(house, result.note_id, **own)).items) == 1
    for context in (
        {},
        own | {"agent_id": "bob"},
        own | {"tenant_id": "other"},
        own | {"project_id": "other"},
    ):
        with pytest.raises(NotFound):
            await page(house, result.note_id, **context)
    with pytest.raises(NotFound):
        await page(house, uuid4())
    (shared,) = await house.add({"text": "Fact: coffee is hot."})
    assert len((await page(house, shared.note_id)).items) == 1


async def test_the_history_of_a_purged_note_is_blank_and_seen_by_the_same(house: House) -> None:
    (result,) = await house.add({"text": "Fact: tea is hot."}, scope="agent_private")
    await house.delete(result.note_id)
    house.clock.turn(days=31)
    await collect(house)
    found = await page(house, result.note_id, **CONTEXT_FIELDS)
    assert [item.op for item in found.items] == ["PURGE", "DELETE", "ADD"]
    assert "tea" not in found.model_dump_json()
    for context in ({}, CONTEXT_FIELDS | {"agent_id": "bob"}):
        with pytest.raises(NotFound):
            await page(house, result.note_id, **context)


# Restoring


async def test_a_deleted_note_is_restored_to_its_last_active_state(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.", key="tea", source_ref={"chat": "monday"})
    await house.update(note_id, text="Fact: tea is warm.", importance=0.75)
    before = await house.note(note_id)
    await house.delete(note_id)
    await house.index_all()
    assert house.index.points == {}
    house.clock.turn(hours=1)
    answer = await restore(house, note_id)
    assert (answer.op, answer.version_id) == (
        "UPDATE",
        (await version_of(house, note_id, "UPDATE")).version_id,
    )
    note = await house.note(note_id)
    assert note is not None
    assert before is not None
    assert (note.text, note.importance, note.key, note.source_ref, note.status, note.created_at) == (
        before.text, before.importance, before.key, before.source_ref, "active", before.created_at,
    )  # fmt: skip
    assert note.updated_at == house.clock.now()
    newest = (await page(house, note_id)).items[0]
    assert (newest.op, newest.reason, newest.actor) == ("UPDATE", "restore", "restore")
    assert_gapless(await house.versions(note_id))
    await house.index_all()
    assert house.index.texts() == {"Fact: tea is warm."}


async def test_a_superseded_text_becomes_the_text_again(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    await house.update(note_id, text="Fact: tea is cold.")
    await house.index_all()
    added = await version_of(house, note_id, "ADD")
    assert (await restore(house, note_id, version_id=added.version_id)).op == "UPDATE"
    await house.index_all()
    assert house.index.texts() == {"Fact: tea is hot."}
    assert await house.value("SELECT string_agg(text, '') FROM memory_note_chunks") == "Fact: tea is hot."
    assert (await restore(house, note_id, version_id=added.version_id)).op == "NONE"
    assert (await restore(house, note_id)).op == "NONE"
    assert len(await house.versions(note_id)) == 3
    assert_gapless(await house.versions(note_id))


async def test_the_version_of_a_deletion_gives_the_text_that_was_deleted(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    await house.delete(note_id)
    deleted = await version_of(house, note_id, "DELETE")
    assert (await restore(house, note_id, version_id=deleted.version_id)).op == "UPDATE"
    note = await house.note(note_id)
    assert note is not None
    assert (note.text, note.status) == ("Fact: tea is hot.", "active")


async def test_a_life_that_is_not_over_is_kept_and_one_that_is_over_begins_by_the_default(
    house: House,
) -> None:
    note_id = await house.add_one("Fact: tea is hot.", ttl_days=10)
    began = house.clock.now()
    await house.delete(note_id)
    house.clock.turn(days=1)
    await restore(house, note_id)
    assert (await expiry_of(house, note_id)) == (began + timedelta(days=10), 10.0)
    house.clock.turn(days=20)
    await collect(house)
    await restore(house, note_id)
    assert (await expiry_of(house, note_id)) == (house.clock.now() + timedelta(days=180), None)


async def test_an_expired_note_lives_on_when_it_is_restored_before_it_was_collected(house: House) -> None:
    note_id = await house.add_one("Preference: tea.", type="preference", ttl_days=1)
    house.clock.turn(days=2)
    assert (await restore(house, note_id)).op == "UPDATE"
    assert (await expiry_of(house, note_id)) == (None, None)


async def expiry_of(house: House, note_id: UUID) -> tuple[Any, Any]:
    note = await house.note(note_id)
    assert note is not None
    return note.expires_at, note.requested_ttl_days


async def test_a_key_that_another_note_holds_by_now_is_named_with_its_holder(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.", key="tea")
    await house.delete(note_id)
    holder = await house.add_one("Fact: tea is cold.", key="tea", ttl_days=5)
    with pytest.raises(InvalidRequest, match=str(holder)):
        await restore(house, note_id)
    assert len(await house.versions(note_id)) == 2
    house.clock.turn(days=6)  # the holder expires, and is not collected yet
    assert (await restore(house, note_id)).op == "UPDATE"
    assert [version["op"] for version in await house.versions(holder)] == ["ADD", "DELETE"]


async def test_a_key_taken_at_the_same_moment_leaves_one_active_note(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.", key="tea")
    await house.delete(note_id)
    ends: list[str] = []

    async def bring_back() -> None:
        try:
            ends.append((await restore(house, note_id)).op)
        except InvalidRequest:
            ends.append("held")

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(house.add, {"text": f"Fact: tea is {number}.", "key": "tea"})
            group.start_soon(bring_back)
    assert len(ends) == 4
    assert await house.value("SELECT count(*) FROM memory_notes WHERE status = 'active'") == 1
    for row in await house.rows("SELECT note_id FROM memory_notes"):
        assert_gapless(await house.versions(row["note_id"]))


async def test_a_version_of_another_note_and_an_unknown_one_are_refused(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    other = await house.add_one("Fact: ice is cold.")
    for version_id in (uuid4(), (await version_of(house, other, "ADD")).version_id):
        with pytest.raises(InvalidRequest) as caught:
            await restore(house, note_id, version_id=version_id)
        assert caught.value.fields == ("$.version_id",)


async def test_a_purged_note_cannot_be_restored(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    added = await version_of(house, note_id, "ADD")
    await house.delete(note_id)
    house.clock.turn(days=31)
    await collect(house)
    with pytest.raises(InvalidRequest, match="purged"):
        await restore(house, note_id)
    with pytest.raises(InvalidRequest, match="purged"):
        await restore(house, note_id, version_id=added.version_id)
    with pytest.raises(NotFound):
        await restore(house, note_id, tenant_id="other")


async def test_only_who_may_change_a_note_may_restore_it(house: House) -> None:
    (result,) = await house.add({"text": "Fact: tea is hot."}, scope="agent_private")
    await house.delete(result.note_id)
    for context in (
        {"agent_id": "bob"},
        {"tenant_id": "other"},
        {"project_id": "other"},
    ):
        with pytest.raises(NotFound):
            await restore(house, result.note_id, **context)
    with pytest.raises(NotFound):
        await restore(house, uuid4())
    closed = history(house, agent_private=False)
    with pytest.raises(ScopeDenied):
        await closed.restore(as_restore(note_id=result.note_id))


async def test_the_gate_is_applied_again(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    await house.delete(note_id)
    request = as_restore(note_id=note_id)
    answer = await history(house, max_note_chars=10).restore(request)
    assert (answer.op, answer.reason_code, answer.version_id) == ("REJECTED", "REJECT_TOO_LONG", None)
    note = await house.note(note_id)
    assert note is not None
    assert note.status == "deleted"
