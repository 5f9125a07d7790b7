"""The audit of what was let in: a decision for every note of a request, and nothing of what a refused note said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elf.core.errors import DatabaseUnavailable
from elf.db.database import Connection
from tests.db.notes.conftest import House
from tests.notes_kit import CONTEXT, at_cosine, unit

pytestmark = pytest.mark.anyio

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


async def decisions(house: House) -> list[Any]:
    return await house.rows("SELECT * FROM memory_ingest_decisions ORDER BY decision_id")


async def test_every_note_of_a_request_leaves_a_decision_in_its_order(house: House) -> None:
    results = await house.add(
        {"text": "Fact: tea is hot.", "key": "tea"},
        {"text": " "},
        {"text": "Fact: ice is cold."},
        {"text": "Fact: tea is hot.", "key": "tea"},
    )
    found = await decisions(house)
    assert [row["op"] for row in found] == ["ADD", "REJECTED", "ADD", "NONE"]
    assert [row["note_id"] for row in found] == [result.note_id for result in results]
    assert [row["reason_code"] for row in found] == [result.reason_code for result in results]
    assert [row["keyed"] for row in found] == [True, False, False, True]
    assert [row["text_chars"] for row in found] == [17, 1, 18, 17]
    assert {(row["tenant_id"], row["project_id"], row["agent_id"]) for row in found} == {
        (CONTEXT.tenant_id, CONTEXT.project_id, CONTEXT.agent_id)
    }
    assert {(row["actor"], row["ts"]) for row in found} == {("add_note", house.clock.now())}
    assert found[0]["policy"] == {
        "max_note_chars": 240, "dup_sim_threshold": 0.92, "update_sim_threshold": 0.85, "same_fact_only": False,
    }  # fmt: skip


async def test_a_decision_holds_the_note_that_was_found_and_how_similar_it_was(house: House) -> None:
    house.model.known = {
        "Fact: a.": unit(1.0), "Fact: b.": at_cosine(0.9), "Fact: c.": at_cosine(0.5), "Fact: d.": at_cosine(0.88),
    }  # fmt: skip
    (first,) = await house.add({"text": "Fact: a."})
    await house.add({"text": "Fact: c."})
    await house.add({"text": "Fact: a."})
    await house.add({"text": "Fact: b."})
    added, apart, same, changed = await decisions(house)
    assert (added["op"], added["matched_note_id"], added["similarity"]) == ("ADD", None, None)
    assert (apart["op"], apart["matched_note_id"]) == ("ADD", first.note_id)
    assert apart["similarity"] == pytest.approx(0.5, abs=1e-3)
    assert (same["op"], same["matched_note_id"], same["similarity"]) == ("NONE", first.note_id, 1.0)
    assert (changed["op"], changed["matched_note_id"]) == ("UPDATE", first.note_id)
    assert changed["similarity"] == pytest.approx(0.9, abs=1e-3)


async def test_a_refused_note_leaves_nothing_of_what_it_said(house: House) -> None:
    await house.add(
        {"text": f"Fact: the token is {SECRET}."},
        {"text": "Fact: tea is hot.", "key": f"key {SECRET}"},
        {"text": "Fact: tea is hot.", "type": f"type {SECRET}"},
        {"text": "Fact: tea is hot." * 40},
    )
    await house.add({"text": "Fact: tea is hot."}, scope=f"scope {SECRET}")
    found = await decisions(house)
    assert [row["reason_code"] for row in found] == [
        "REJECT_SECRET", "REJECT_SECRET", "REJECT_INVALID_TYPE", "REJECT_TOO_LONG", "REJECT_SCOPE_DENIED",
    ]  # fmt: skip
    assert [(row["type"], row["scope"]) for row in found] == [
        ("fact", "project_shared"), ("fact", "project_shared"), (None, "project_shared"), ("fact", "project_shared"),
        ("fact", None),
    ]  # fmt: skip
    written = json.dumps([dict(row) for row in found], default=str)
    assert SECRET not in written
    assert "tea" not in written


async def test_a_request_of_rejections_alone_still_leaves_its_decisions(house: House) -> None:
    await house.add({"text": ""}, {"text": "Fact: \u4f60\u597d."})
    assert [row["reason_code"] for row in await decisions(house)] == ["REJECT_EMPTY", "REJECT_CJK"]
    assert house.rings == 0


async def test_decisions_and_notes_are_written_together_or_not_at_all(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(connection: Connection, *_: Any, **__: Any) -> None:
        raise DatabaseUnavailable("the disk is full")

    monkeypatch.setattr(house.store, "write_chunks", broken)
    with pytest.raises(DatabaseUnavailable):
        await house.add({"text": "Fact: tea is hot."}, {"text": ""})
    assert await decisions(house) == []
    assert await house.value("SELECT count(*) FROM memory_notes") == 0


async def test_an_update_and_a_delete_are_no_ingestion(house: House) -> None:
    note_id = await house.add_one("Fact: tea is hot.")
    await house.update(note_id, text="Fact: tea is warm.")
    await house.delete(note_id)
    assert len(await decisions(house)) == 1
