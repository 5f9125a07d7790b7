"""Erased memories are gone: from answers, from the bytes of every file, and from what stands beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.db.graph.house import FACT, House, eventually, fact, link

pytestmark = pytest.mark.anyio
WORD = "Xylographer"
STEM = b"xylograph"  # as the index of words keeps it
SECRETIVE = f"The {WORD} lives in Lisbon. She has a cat."


def said_in(conversation_id: str) -> dict[str, str]:
    return {"sourceType": "channel_transcript", "capturedBy": "user", "conversationId": conversation_id}


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).lower()


async def test_nothing_of_an_erased_memory_is_left_in_any_file(house: House) -> None:
    erased = fact("m1", content=SECRETIVE)
    await house.post("memories", memories=[erased, fact("m2")], edges=[link("m1", "m2", reason=WORD)])
    await house.post("memories/m1/update", content=f"The {WORD} lives in Porto.")
    context = await house.post("context", purpose="selector", message_id="msg", message=WORD)
    assert WORD in context["bulletin"]["rendered"]
    await eventually(
        lambda: house.post("recall", query="Porto", top_k_text=0), lambda bundle: bundle["nodes"]
    )
    assert STEM in bytes_below(house.memory())
    receipt = await house.erase(memory_ids=["m1", "none"])
    counts = receipt["erased"]
    assert (counts["memories"], counts["edges"], counts["spans"], counts["versions"], counts["bulletins"]) == (
        1, 1, 1, 2, 1,
    )  # fmt: skip
    assert receipt["log_truncated"] is True
    assert STEM not in bytes_below(house.memory())
    assert [one["memoryId"] for one in (await house.get("memories", status="all"))["items"]] == ["m2"]
    await house.get("memories/m1", 404)


async def test_a_conversation_is_erased_alone(house: House) -> None:
    memories = [
        fact("a", source=said_in("c1")), fact("b", source=said_in("c1")), fact("c", source=said_in("c2")),
    ]  # fmt: skip
    await house.post("memories", memories=[*memories, FACT])
    assert (await house.erase(conversation_id="c1"))["erased"]["memories"] == 2
    left = {one["memoryId"] for one in (await house.get("memories"))["items"]}
    assert left == {"c", "m1"}


async def test_a_file_goes_with_what_was_taken_out_of_it_and_may_come_again(house: House) -> None:
    await house.post("memories", memories=[FACT])
    processed = house.memory() / "ingest" / "processed"
    final = str(processed / "notes.md")

    async def drop() -> None:
        await anyio.Path(house.memory() / "ingest" / "notes.md").write_text(SECRETIVE)
        await eventually(lambda: house.get("memories", source_path=final), lambda page: page["items"])
        await eventually(anyio.Path(f"{final}.processed.json").exists, bool)

    await drop()
    counts = (await house.erase(source_path=final))["erased"]
    assert (counts["files"], counts["memories"] >= 1) == (2, True)
    assert list(processed.iterdir()) == []
    assert STEM not in bytes_below(house.memory())
    await drop()


async def test_everything_of_an_orchestrator_goes_and_of_no_other(house: House) -> None:
    await house.post("memories", memories=[FACT, fact("m2")])
    await house.post("memories", memories=[FACT], orchestrator_id="writer")
    rejected = house.memory() / "ingest" / "rejected"
    (rejected / "odd.txt").write_text(WORD)
    counts = (await house.erase(everything=True))["erased"]
    assert (counts["memories"], counts["files"]) == (2, 1)
    assert (await house.get("memories", status="all"))["items"] == []
    assert len((await house.get("memories", orchestrator_id="writer"))["items"]) == 1


@pytest.mark.parametrize(
    "what", [{}, {"memory_ids": []}, {"everything": False}, {"everything": True, "conversation_id": "c"}]
)
async def test_what_goes_is_said_in_one_way(house: House, what: dict[str, Any]) -> None:
    answer = await house.client.post("/v1/admin/graph/erase", json={"orchestrator_id": "planner", **what})
    assert answer.status_code == 400


async def test_what_has_no_memory_is_not_made_to_be_erased(house: House) -> None:
    answer = await house.client.post(
        "/v1/admin/graph/erase", json={"orchestrator_id": "new", "everything": True}
    )
    assert answer.json()["error_code"] == "NOT_FOUND"
    assert not house.memory("new").exists()
