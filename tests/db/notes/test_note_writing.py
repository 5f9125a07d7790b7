"""Writing and reading notes through the service, on a real Postgres."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import anyio
import msgspec
import pytest

from elf.core.errors import InvalidRequest, NotFound, ScopeDenied
from elf.core.ids import chunk_id_for
from elf.families.notes.api.requests import GetNoteRequest, ListRequest, ListResponse
from elf.families.notes.writing.resolver import deletion
from elf.indexing.fresh import FreshNews
from tests.db.notes.conftest import CONTEXT_FIELDS, House
from tests.notes_kit import NOW, at_cosine, unit

pytestmark = pytest.mark.anyio

REFERENCE: dict[str, Any] = {
    "text": "caf\u00e9 \U0001f600", "numbers": [0, -1, 1.5, 1e-7, 2**53, 10**30], "null": None,
    "deep": {"a": [{"b": [True, False, {}]}], "": "empty key"},
}  # fmt: skip


async def test_a_note_reads_back_as_it_was_written(house: House) -> None:
    note_id = await house.add_one(
        "Fact: caf\u00e9 \U0001f600.",
        key="k",
        importance=0.8,
        confidence=1 / 3,
        ttl_days=2.5,
        source_ref=REFERENCE,
    )
    note = await house.service.get(GetNoteRequest(note_id=note_id))
    assert (note.text, note.key, note.type, note.scope) == (
        "Fact: caf\u00e9 \U0001f600.", "k", "fact", "project_shared",
    )  # fmt: skip
    assert (note.importance, note.confidence) == (0.8, 0.333333)
    assert note.created_at == note.updated_at == NOW
    assert note.expires_at == NOW + timedelta(days=2.5)
    assert msgspec.json.decode(note.source_ref) == REFERENCE


async def test_an_add_leaves_a_version_a_job_and_one_ring(house: House) -> None:
    note_id = await house.add_one("Fact: a.", key="k")
    (version,) = await house.versions(note_id)
    assert (version["op"], version["prev_snapshot"], version["actor"]) == ("ADD", None, "add_note")
    assert version["new_snapshot"]["text"] == "Fact: a."
    assert await house.jobs() == [(note_id, "UPSERT", "PENDING")]
    assert house.rings == 1


async def test_the_same_payload_again_is_none_and_writes_nothing(house: House) -> None:
    payload = [
        {"text": "Fact: a.", "key": "k", "importance": 0.3, "source_ref": REFERENCE},
        {"text": "Fact: unkeyed.", "importance": 1e-40},
    ]
    first = await house.add(*payload)
    house.clock.turn(hours=3)
    second = await house.add(*payload)
    assert [result.op for result in first] == ["ADD", "ADD"]
    assert [(result.op, result.note_id) for result in second] == [("NONE", one.note_id) for one in first]
    assert len(await house.jobs()) == 2
    assert house.rings == 1


async def test_an_update_keeps_the_id_and_the_whole_history(house: House) -> None:
    first = await house.add_one("Fact: a.", key="k")
    for text in ("Fact: b.", "Fact: c."):
        house.clock.turn(minutes=1)
        assert await house.add_one(text, key="k") == first
    versions = await house.versions(first)
    assert [version["op"] for version in versions] == ["ADD", "UPDATE", "UPDATE"]
    assert [version["prev_snapshot"] for version in versions[1:]] == [
        version["new_snapshot"] for version in versions[:-1]
    ]
    note = await house.note(first)
    assert note is not None
    assert (note.text, note.created_at, note.updated_at) == ("Fact: c.", NOW, NOW + timedelta(minutes=2))


async def test_several_steps_of_one_note_in_one_request_are_one_job_and_all_versions(house: House) -> None:
    results = await house.add(
        {"text": "Fact: a.", "key": "k"}, {"text": "Fact: b.", "key": "k"}, {"text": "Fact: b.", "key": "k"}
    )
    assert [result.op for result in results] == ["ADD", "UPDATE", "NONE"]
    (note_id,) = {result.note_id for result in results}
    assert len(await house.versions(note_id)) == 2
    assert await house.jobs() == [(note_id, "UPSERT", "PENDING")]


async def test_rejected_notes_do_not_hinder_the_others(house: House) -> None:
    results = await house.add(
        {"text": " "}, {"text": "Fact: a.", "key": "k"}, {"text": "x", "type": "rumour"}
    )
    assert [(result.op, result.reason_code) for result in results] == [
        ("REJECTED", "REJECT_EMPTY"), ("ADD", None), ("REJECTED", "REJECT_INVALID_TYPE"),
    ]  # fmt: skip
    assert (await house.add({"text": "x"}, scope="org_shared"))[0].reason_code == "REJECT_SCOPE_DENIED"


async def test_secrets_in_a_reference_are_stored_redacted_and_found_unchanged(house: House) -> None:
    note = {"text": "Fact: a.", "key": "k", "source_ref": {"log": "token AKIAIOSFODNN7QWERTYU"}}
    (added,) = await house.add(note)
    stored = await house.note(added.note_id)
    assert stored is not None
    assert "AKIA" not in str(stored.source_ref)
    assert (await house.add(note))[0].op == "NONE"


@pytest.mark.parametrize("number", range(8))
async def test_the_key_of_an_expired_note_goes_to_a_new_one(house: House, number: int) -> None:
    # The ids are random, and the order of two rows in one statement once depended on them: so several times.
    old = await house.add_one("Fact: a.", key="k", ttl_days=1)
    house.clock.turn(days=1)
    (result,) = await house.add({"text": "Fact: a.", "key": "k"})
    assert result.op == "ADD"
    assert result.note_id != old
    retired = await house.note(old)
    assert retired is not None
    assert retired.status == "deleted"
    assert [version["op"] for version in await house.versions(old)] == ["ADD", "DELETE"]
    assert sorted((await house.jobs())[1:]) == sorted(
        [(old, "DELETE", "PENDING"), (result.note_id, "UPSERT", "PENDING")]
    )


async def test_the_key_of_a_deleted_note_is_free(house: House) -> None:
    old = await house.add_one("Fact: a.", key="k")
    assert await house.delete(old) == "DELETE"
    assert await house.add_one("Fact: a.", key="k") != old


# Similarity


async def test_a_similar_note_is_updated_and_a_closer_one_is_none(house: House) -> None:
    house.model.known |= {"Fact: a.": unit(1.0), "Fact: b.": at_cosine(0.88), "Fact: c.": at_cosine(0.93)}
    first = await house.add_one("Fact: a.")
    assert (await house.add({"text": "Fact: c."}))[0].op == "NONE"
    (second,) = await house.add({"text": "Fact: b."})
    assert (second.op, second.note_id) == ("UPDATE", first)
    note = await house.note(first)
    assert note is not None
    assert note.text == "Fact: b."
    (third,) = await house.add({"text": "Fact: a."})
    assert (third.op, third.note_id) == ("UPDATE", first), "the vector of the new text is what counts"


async def test_the_vector_that_compared_a_note_is_kept_with_it(house: House) -> None:
    note_id = await house.add_one("Fact: a.")
    rows = await house.rows(
        "SELECT c.chunk_id, c.text, e.vec FROM memory_note_chunks c JOIN note_chunk_embeddings e USING (chunk_id)"
    )
    assert [(row["chunk_id"], row["text"]) for row in rows] == [(chunk_id_for(note_id, 0), "Fact: a.")]
    assert await house.value("SELECT vec FROM note_embeddings WHERE note_id = $1", note_id) is not None
    await house.index_all()
    assert house.model.texts == ["Fact: a."], "and is not computed again"


@pytest.mark.parametrize(
    "other", [{"agent_id": "bob"}, {"project_id": "beta"}, {"tenant_id": "other"}, {"scope": "agent_private"}]
)
async def test_notes_of_another_group_are_not_compared(house: House, other: dict[str, str]) -> None:
    await house.add({"text": "Fact: a."})
    assert (await house.add({"text": "Fact: a."}, **other))[0].op == "ADD"


async def test_expired_and_deleted_notes_are_not_compared(house: House) -> None:
    await house.delete(await house.add_one("Fact: a."))
    await house.add_one("Fact: a.", ttl_days=1)
    house.clock.turn(days=1)
    assert (await house.add({"text": "Fact: a."}))[0].op == "ADD"


async def test_a_keyed_note_without_a_vector_yet_is_found_by_its_text(house: House) -> None:
    keyed = await house.add_one("Fact: a.", key="k")
    (result,) = await house.add({"text": "Fact: a."})
    assert (result.op, result.note_id) == ("NONE", keyed)


async def test_while_the_model_sleeps_notes_are_kept_and_equal_texts_recognised(house: House) -> None:
    house.model.away = True
    first, second = await house.add({"text": "Fact: a."}, {"text": "Fact: b."})
    assert [(one.op, one.reason_code) for one in (first, second)] == [("ADD", "SIMILARITY_UNCHECKED")] * 2
    (again,) = await house.add({"text": "Fact: b."})
    assert (again.op, again.note_id) == ("NONE", second.note_id)


async def test_a_note_that_changes_between_comparison_and_lock_is_compared_again(house: House) -> None:
    house.model.known |= {"Fact: a.": unit(1.0), "Fact: far.": unit(0, 1.0)}
    first = await house.add_one("Fact: a.")
    once = [house.store.lock]

    async def lock_after_an_update(connection: Any, note_id: Any) -> Any:
        lock = once.pop()
        house.store.lock = lock  # type: ignore[method-assign]
        await house.update(first, text="Fact: far.")
        return await lock(connection, note_id)

    house.store.lock = lock_after_an_update  # type: ignore[method-assign]
    (result,) = await house.add({"text": "Fact: a."})
    assert not once
    assert result.op == "ADD", "the stored note no longer says this"
    assert result.note_id != first


# Writers at once


async def test_equal_notes_written_at_once_are_one_note(house: House) -> None:
    results: list[Any] = []

    async def write(note: dict[str, Any]) -> None:
        results.extend(await house.add(note))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(write, {"text": "Fact: a."})
            group.start_soon(write, {"text": "Fact: b.", "key": "k"})
    assert len({result.note_id for result in results}) == 2
    assert sorted(result.op for result in results) == ["ADD"] * 2 + ["NONE"] * 10


async def test_a_request_is_all_or_nothing(house: House) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    house.store.write_chunks = fail  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        await house.add({"text": "Fact: a."}, {"text": "Fact: b.", "key": "k"})
    assert await house.value("SELECT count(*) FROM memory_notes") == 0
    assert await house.jobs() == []
    assert house.rings == 0


# Update and delete


async def test_an_update_changes_what_is_given_and_drops_the_old_texts_chunks(house: House) -> None:
    note_id = await house.add_one("Fact: a.")
    house.clock.turn(minutes=1)
    assert await house.update(note_id, text="Fact: b.", importance=0.1) == "UPDATE"
    note = await house.note(note_id)
    assert note is not None
    assert (note.text, note.importance, note.confidence) == ("Fact: b.", 0.1, 0.9)
    assert note.updated_at == NOW + timedelta(minutes=1)
    assert await house.value("SELECT count(*) FROM memory_note_chunks") == 0
    assert await house.value("SELECT count(*) FROM note_embeddings") == 0


async def test_an_update_that_changes_no_text_keeps_the_chunks(house: House) -> None:
    note_id = await house.add_one("Fact: a.")
    assert await house.update(note_id, importance=0.1) == "UPDATE"
    assert await house.value("SELECT count(*) FROM note_chunk_embeddings") == 1


async def test_an_update_to_what_is_stored_is_none_even_after_a_change_of_model(house: House) -> None:
    note_id = await house.add_one("Fact: a.")
    house.model.version = "fake:newer:384"
    assert await house.update(note_id, text="Fact: a.", importance=0.5, ttl_days=None) == "NONE"
    assert house.rings == 1


async def test_a_life_can_be_changed_and_is_otherwise_kept(house: House) -> None:
    note_id = await house.add_one("Fact: a.", ttl_days=5)

    async def life() -> timedelta:
        note = await house.note(note_id)
        assert note is not None
        assert note.expires_at is not None
        return note.expires_at - NOW

    await house.update(note_id, importance=0.2)
    assert await life() == timedelta(days=5)
    await house.update(note_id, ttl_days=7)
    assert await life() == timedelta(days=7)
    await house.update(note_id, ttl_days=0)
    assert await life() == timedelta(days=180)


async def test_what_is_gone_cannot_be_updated(house: House) -> None:
    deleted = await house.add_one("Fact: a.")
    await house.delete(deleted)
    expired = await house.add_one("Fact: b.", ttl_days=1)
    house.clock.turn(days=1)
    for note_id in (deleted, expired, uuid4()):
        with pytest.raises(NotFound):
            await house.update(note_id, importance=0.1)


async def test_a_delete_takes_the_texts_traces_and_is_none_the_second_time(house: House) -> None:
    note_id = await house.add_one("Fact: a.")
    assert await house.delete(note_id) == "DELETE"
    assert await house.delete(note_id) == "NONE"
    assert await house.value("SELECT count(*) FROM memory_note_chunks") == 0
    assert (await house.jobs())[-1][1:] == ("DELETE", "PENDING")
    with pytest.raises(NotFound):
        await house.delete(uuid4())


async def test_a_private_note_of_another_agent_is_not_there(house: House) -> None:
    (secret,) = await house.add({"text": "Fact: a."}, scope="agent_private", agent_id="bob")
    for attempt in (house.update(secret.note_id, importance=0.1), house.delete(secret.note_id)):
        with pytest.raises(NotFound):
            await attempt
    for context in ({}, CONTEXT_FIELDS):
        with pytest.raises(NotFound):
            await house.service.get(GetNoteRequest(note_id=secret.note_id, **context))
    mine = CONTEXT_FIELDS | {"agent_id": "bob"}
    assert (await house.service.get(GetNoteRequest(note_id=secret.note_id, **mine))).text == "Fact: a."


async def test_a_scope_that_may_not_be_written_cannot_be_changed(house: House) -> None:
    note_id = await house.add_one("Fact: a.")
    await house.execute("UPDATE memory_notes SET scope = 'org_shared'")
    with pytest.raises(ScopeDenied):
        await house.update(note_id, importance=0.1)
    with pytest.raises(ScopeDenied):
        await house.delete(note_id)


# Listing


async def page(house: House, **fields: Any) -> Any:
    shown = await house.service.page(ListRequest(tenant_id="acme", project_id="alpha", **fields))
    return ListResponse.model_validate_json(msgspec.json.encode(shown))


async def test_pages_show_every_note_once_newest_first(house: House) -> None:
    for number in range(7):
        await house.add({"text": f"Fact: {number}.", "key": f"k{number}"})
        house.clock.turn(seconds=number // 3)  # some share their moment
    seen: list[Any] = []
    cursor = None
    while True:
        found = await page(house, limit=3, cursor=cursor)
        seen += found.items
        cursor = found.next_cursor
        if cursor is None:
            break
    assert len({note.note_id for note in seen}) == len(seen) == 7
    order = [(note.updated_at, note.note_id) for note in seen]
    assert order == sorted(order, reverse=True)


async def test_a_page_ends_when_its_references_are_large(house: House) -> None:
    large = {"pages": ["p" * 16_000] * 30}
    for number in range(5):
        await house.add({"text": f"Fact: {number}.", "key": f"k{number}", "source_ref": large})
    seen: list[list[str]] = []
    cursor = None
    while True:
        found = await page(house, limit=4, cursor=cursor)
        assert all(note.source_ref == large for note in found.items)
        seen.append([note.key for note in found.items])
        cursor = found.next_cursor
        if cursor is None:
            break
    assert [len(keys) for keys in seen] == [2, 2, 1]
    assert sorted(key for keys in seen for key in keys) == [f"k{number}" for number in range(5)]


async def test_the_last_full_page_has_no_cursor(house: House) -> None:
    await house.add({"text": "Fact: a.", "key": "a"}, {"text": "Fact: b.", "key": "b"})
    assert (await page(house, limit=2)).next_cursor is None
    assert (await page(house, limit=1)).next_cursor is not None


async def test_each_status_has_its_own_list(house: House) -> None:
    active = await house.add_one("Fact: a.", key="a")
    expired = await house.add_one("Fact: b.", key="b", ttl_days=1)
    deleted = await house.add_one("Fact: c.", key="c")
    await house.delete(deleted)
    house.clock.turn(days=2)
    for status, expected in (
        ("active", [active]),
        ("expired", [expired]),
        ("deleted", [deleted]),
        ("deprecated", []),
    ):
        assert [note.note_id for note in (await page(house, status=status)).items] == expected


async def test_private_notes_are_listed_to_their_agent_alone(house: House) -> None:
    (mine,) = await house.add({"text": "Fact: a."}, scope="agent_private")
    assert (await page(house)).items == []
    assert (await page(house, agent_id="anna")).items == [], "only when the scope is named"
    (found,) = (await page(house, scope="agent_private", agent_id="anna")).items
    assert found.note_id == mine.note_id
    assert (await page(house, scope="agent_private", agent_id="bob")).items == []
    with pytest.raises(InvalidRequest) as caught:
        await page(house, scope="agent_private")
    assert caught.value.fields == ("$.agent_id",)


async def test_a_list_can_be_narrowed_to_a_type_and_a_known_scope(house: House) -> None:
    await house.add({"text": "Fact: a.", "key": "a"}, {"text": "Plan: b.", "key": "b", "type": "plan"})
    assert [note.type for note in (await page(house, type="plan")).items] == ["plan"]
    assert len((await page(house, scope="project_shared")).items) == 2
    with pytest.raises(ScopeDenied):
        await page(house, scope="everywhere")


async def test_a_write_is_told_when_it_is_committed_and_never_when_it_is_undone(house: House) -> None:
    note_id = await house.add_one("Fact: a.", key="k")
    told = [FreshNews("notes", ("acme", "alpha"), [note_id])]
    assert house.told == told
    note = await house.note(note_id)
    assert note is not None
    change = deletion(note, now=NOW, reason="test")

    async def undone() -> None:
        async with house.database.transaction() as connection:
            await house.store.write(connection, [change], actor="test")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await undone()
    assert house.told == told
    async with house.database.transaction() as connection:
        await house.store.write(connection, [change], actor="test")
        assert house.told == told
    assert house.told == told * 2
