"""Erased memories are gone: from answers, from the bytes of every file, and from what stands beside."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from elf.core.errors import Unavailable
from elf.families.graph import erasing
from elf.families.graph.bulletin_files import BulletinFiles
from elf.families.graph.ingest.drop_folder import DropFolder
from tests.db.graph.house import FACT, PLANNER, House, eventually, fact, link
from tests.db.graph.ingest_kit import edge_told, json_file, told

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


# What is left in the folder

RECOVER = "/v1/admin/graph/recover"
PROCESSED = "ingest/processed"


async def drop_file(house: House, name: str, text: str, final: str | None = None) -> Path:
    """Drop a file, wait until it has ended, and return where it is."""
    await anyio.Path(house.memory() / "ingest" / name).write_text(text)
    path = house.memory() / PROCESSED / (final or name)

    async def ended() -> bool:
        await house.post("ingest/run")
        return await anyio.Path(f"{path}.processed.json").exists()

    await eventually(ended, bool)
    return path


async def recover(house: House) -> Any:
    answer = await house.client.post(RECOVER, json={"orchestrator_id": "planner"})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def see_nothing_of_it(house: House) -> None:
    """See that the word is in no file, and that a recovery brings nothing back."""
    assert STEM not in bytes_below(house.memory())
    assert [one for one in house.memory().rglob("*") if STEM.decode() in one.name.lower()] == []
    assert (await recover(house))["files"] == []
    items = (await house.get("memories", status="all", limit=200))["items"]
    assert [one for one in items if WORD in one["content"]] == []


@pytest.mark.parametrize("source", ["manual", "ingest_file"])
async def test_a_file_of_json_goes_with_a_memory_that_it_told(house: House, source: str) -> None:
    of_source = {"sourceType": source, "capturedBy": "user"}
    await house.post("memories", memories=[fact("m9")])
    path = await drop_file(
        house,
        "told.json",
        json_file(told("a", content=SECRETIVE, source=of_source), told("b", source=of_source)),
    )
    assert path.exists()
    await house.erase(memory_ids=["a"])
    assert list(path.parent.iterdir()) == []
    await see_nothing_of_it(house)
    assert {one["memoryId"] for one in (await house.get("memories"))["items"]} == {"b", "m9"}


@pytest.mark.parametrize("what", ["ids", "conversation", "everything", "source"])
async def test_copies_of_a_file_that_was_dropped_twice_go_with_it(house: House, what: str) -> None:
    in_chat = told("a", content=SECRETIVE, source=said_in("c1"))
    text = SECRETIVE if what == "source" else json_file(in_chat)
    name = "notes.md" if what == "source" else "told.json"
    await house.post("memories", memories=[fact("m9")])
    first = await drop_file(house, name, text)
    copy = await drop_file(house, name, text, f"{name}.1")
    assert first.exists()
    assert copy.exists()
    asked: dict[str, Any] = {
        "ids": {"memory_ids": ["a"]}, "conversation": {"conversation_id": "c1"},
        "everything": {"everything": True}, "source": {"source_path": str(first)},
    }[what]  # fmt: skip
    await house.erase(**asked)
    assert list(first.parent.iterdir()) == []
    await see_nothing_of_it(house)


async def test_the_file_of_a_memory_whose_source_was_changed_goes_with_it(house: House) -> None:
    await house.post("memories", memories=[fact("m9")])
    path = await drop_file(house, "notes.md", SECRETIVE)
    (one, *_) = (await house.get("memories", source_path=str(path)))["items"]
    for memory in (await house.get("memories", source_path=str(path)))["items"]:
        source = {"sourceType": "manual", "capturedBy": "user"}
        await house.post(f"memories/{memory['memoryId']}/update", source=source)
    await house.erase(memory_ids=[one["memoryId"]])
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("is_corrected", [False, True])
async def test_what_was_said_in_a_conversation_goes_though_its_memory_has_another_source_by_now(
    house: House, is_corrected: bool
) -> None:
    await house.post("memories", memories=[fact("a", content=SECRETIVE, source=said_in("c1"))])
    other = {"sourceType": "manual", "capturedBy": "user"}
    correction = {"content": "The office is in Porto."} if is_corrected else {}
    await house.post("memories/a/update", source=other, **correction)
    await house.erase(conversation_id="c1")
    await house.get("memories/a", 200 if is_corrected else 404)
    assert STEM not in bytes_below(house.memory())


async def test_a_file_goes_of_which_a_memory_said_something_else_since(house: House) -> None:
    await house.post("memories", memories=[fact("m9")])
    path = await drop_file(house, "told.json", json_file(told("a", content=SECRETIVE, source=said_in("c1"))))
    context = await house.post("context", purpose="selector", message_id="msg", message=WORD)
    assert WORD in context["bulletin"]["rendered"]
    other = {"sourceType": "manual", "capturedBy": "user"}
    await house.post("memories/a/update", source=other, content="The office is in Porto.")
    await house.erase(conversation_id="c1")
    assert not path.exists()
    await see_nothing_of_it(house)
    assert len((await house.get("memories/a/history"))["items"]) == 1


async def test_a_rejected_file_that_tells_of_an_erased_memory_goes_with_it(house: House) -> None:
    await house.post("memories", memories=[fact("a", content=SECRETIVE), fact("m9")])
    edges = [edge_told("e", "a", "none")]
    await anyio.Path(house.memory() / "ingest" / "a.json").write_text(
        json_file(told("a", content=SECRETIVE), edges=edges)
    )
    await anyio.Path(house.memory() / "ingest" / "b.json").write_text("{")
    rejected = house.memory() / "ingest" / "rejected"

    async def ended() -> int:
        await house.post("ingest/run")
        return len([*rejected.iterdir()])

    await eventually(ended, lambda count: count == 4)
    await house.erase(memory_ids=["a"])
    assert sorted(one.name for one in rejected.iterdir()) == ["b.json", "b.json.rejection.json"]
    await see_nothing_of_it(house)


async def test_an_erasure_that_was_broken_off_before_the_memories_went_is_finished_by_a_repeat(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.post("memories", memories=[fact("m9")])
    path = await drop_file(house, "told.json", json_file(told("a", content=SECRETIVE, source=said_in("c1"))))

    def killed(*_: object) -> None:
        raise Unavailable("the process is gone")

    with monkeypatch.context() as patched:
        patched.setattr(f"{erasing.__name__}.erase", killed)
        body = {"orchestrator_id": "planner", "conversation_id": "c1"}
        assert (await house.client.post("/v1/admin/graph/erase", json=body)).status_code == 503
    await house.erase(conversation_id="c1")
    assert not path.exists()
    await see_nothing_of_it(house)


async def test_a_file_of_which_a_memory_is_erased_while_it_is_taken_in_is_not_kept(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.post("memories", memories=[fact("m9")])
    moved = DropFolder.move
    erasures: list[Any] = []

    def erased_before(*arguments: Any) -> None:
        if not erasures:
            erasures.append(anyio.from_thread.run(partial(house.erase, memory_ids=["a"])))
        moved(*arguments)

    monkeypatch.setattr(DropFolder, "move", erased_before)
    await anyio.Path(house.memory() / "ingest" / "told.json").write_text(
        json_file(told("a", content=SECRETIVE))
    )

    async def taken() -> Any:
        await house.post("ingest/run")
        return erasures

    await eventually(taken, bool)
    processed = house.memory() / PROCESSED
    await eventually(taken, lambda _: not [*processed.iterdir()])
    await see_nothing_of_it(house)


async def test_a_message_of_which_the_memory_was_erased_may_come_again(house: House) -> None:
    said = {"message_id": "msg-1", "conversation_id": "c1"}
    first = await house.post("writeback/transcript", **said, text=SECRETIVE)
    assert (await house.post("writeback/transcript", **said, text=SECRETIVE))["status"] == "duplicate"
    (written,) = first["memories"]
    await house.erase(memory_ids=[written["memoryId"]])
    again = await house.post("writeback/transcript", **said, text="The office is in Porto.")
    assert (again["status"], again["memories"]) == ("written", [{**written, "outcome": "ADD"}])
    assert (await house.post("writeback/transcript", **said, text="x"))["status"] == "duplicate"
    assert STEM not in bytes_below(house.memory())


async def test_what_was_refused_for_a_secret_is_taken_when_it_comes_without(house: House) -> None:
    said = {"message_id": "msg-1", "conversation_id": "c1"}
    secret = "The key is sk-proj-Zk3vN9qLw8XyTb2Rm5Hc7Jd4Ff6Gg1Aa0Ss9Dd8Kk7Ll6Mm5"
    refused = await house.post("writeback/transcript", **said, text=secret)
    assert [one["reason"] for one in refused["skipped"]] == ["secret_detected"]
    again = await house.post("writeback/transcript", **said, text=secret)
    assert [one["reason"] for one in again["skipped"]] == ["secret_detected"]
    assert (await house.post("writeback/transcript", **said, text="The key is safe."))["status"] == "written"
    step = {"workflow_run_id": "r", "step_id": "s"}
    outputs = {"decision": "Use SQLite.", "note": secret}
    partly = await house.post("writeback/workflow_output", **step, outputs=outputs)
    assert len(partly["memories"]) == 1
    clean = {**outputs, "note": "The key is safe."}
    whole = await house.post("writeback/workflow_output", **step, outputs=clean)
    assert (whole["status"], [one["outcome"] for one in whole["memories"]]) == ("written", ["NONE", "ADD"])
    assert (await house.post("writeback/workflow_output", **step, outputs=clean))["status"] == "duplicate"


async def test_a_bulletin_of_a_memory_that_is_erased_while_it_is_made_is_not_kept(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.post("memories", memories=[fact("m1", content=SECRETIVE)])
    keep = BulletinFiles.keep

    def erased_before(files: BulletinFiles, bulletin: Any) -> Any:
        anyio.from_thread.run(partial(house.erase, memory_ids=["m1"]))
        return keep(files, bulletin)

    monkeypatch.setattr(BulletinFiles, "keep", erased_before)
    context = await house.post("context", purpose="selector", message_id="msg", message=WORD)
    assert WORD not in context["bulletin"]["rendered"]
    assert STEM not in bytes_below(house.memory())


async def test_while_everything_of_an_orchestrator_is_erased_nobody_writes_what_is_its(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.post("memories", memories=[FACT])
    removed = erasing.remove_files
    answers: list[Any] = []

    def written_meanwhile(*arguments: Any) -> Any:
        calls = [
            ("/v1/graph/memories", {"memories": [fact("m2")]}),
            ("/v1/graph/memories", {"memories": [fact("m3")], "orchestrator_id": "writer"}),
            ("/v1/admin/graph/erase", {"everything": True}),
        ]
        for path, body in () if answers else calls:
            post = partial(house.client.post, path, json={**PLANNER, **body})
            answers.append(anyio.from_thread.run(post))
        return removed(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(erasing, "remove_files", written_meanwhile)
        assert (await house.erase(everything=True))["erased"]["memories"] == 1
    told = [(answer.status_code, answer.json().get("error_code")) for answer in answers]
    assert told == [(409, "ERASING"), (200, None), (409, "CONFLICT")]
    assert (await house.get("memories", status="all"))["items"] == []
    await house.post("memories", memories=[fact("m2")])
