"""A file as a user sees it: an older one, too, and one in which others have taken the same ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.families.graph.store.connections import connect
from elf.families.graph.store.file import FileKit, MemoryFile, own
from elf.families.graph.store.layout import prepare
from elf.families.graph.store.nodes import (
    MemoryFilter,
    NewMemory,
    page_of_memories,
    read_memory,
    write_memory,
)
from elf.families.graph.store.schema import bring_up
from elf.families.graph.store.statements import Change, Viewer
from tests.db.graph.graph_kit import KEY, NOW, VERSION, memory, opened, put

pytestmark = pytest.mark.anyio
ANA, BEN = Viewer("ana"), Viewer("ben")


async def written(file: MemoryFile, viewer: Viewer | None, **other: Any) -> str:
    new = NewMemory(memory=memory(**other))
    return await file.write(
        lambda change: write_memory(change, new, embedding_version=VERSION), viewer=viewer
    )


async def content(file: MemoryFile, memory_id: str, viewer: Viewer | None) -> str | None:
    found = await file.read(lambda snapshot: read_memory(snapshot, memory_id), viewer=viewer)
    return None if found is None else found.memory.content


def as_it_was(kit: FileKit, root: Path, *, steps: int) -> None:
    """Make a memory.db as it was after so many steps, with a memory of a conversation and one of none."""
    connection = connect(prepare(root).database, writes=True)
    try:
        bring_up(connection, kit.steps[:steps], whose="planner")
        with connection:
            own(Change(connection, kit.queries, KEY, now=NOW, actor=None))
            for memory_id, conversation_id in (("plain", None), ("said", "c1")):
                whose = {
                    "tenant_id": KEY.tenant_id,
                    "orchestrator_id": KEY.orchestrator_id,
                    "memory_id": memory_id,
                }
                connection.execute(
                    "INSERT INTO memories (tenant_id, orchestrator_id, memory_id, type, importance, content, summary,"
                    " confidence, status, created_at, updated_at, version)"
                    " VALUES (:tenant_id, :orchestrator_id, :memory_id, 'Fact', 50, 'x', 'x', 0.8, 'active', 1, 1, 1)",
                    whose,
                )
                connection.execute(
                    "INSERT INTO memory_sources (tenant_id, orchestrator_id, memory_id, source_type, captured_by,"
                    " conversation_id) VALUES (:tenant_id, :orchestrator_id, :memory_id, 'manual', 'user', :said)",
                    {**whose, "said": conversation_id},
                )
    finally:
        connection.close()


async def test_of_an_older_file_no_user_is_told_what_is_from_a_conversation(
    tmp_path: Path, kit: FileKit
) -> None:
    as_it_was(kit, tmp_path / "planner", steps=6)
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path / "planner", KEY, kit)
        assert [await content(file, id, ANA) for id in ("plain", "said")] == ["x", None]
        assert [await content(file, id, None) for id in ("plain", "said")] == ["x", "x"]
        unknown = Viewer("ana", sees_unknown=True)
        assert [await content(file, id, unknown) for id in ("plain", "said")] == ["x", "x"]
        group.cancel_scope.cancel()


async def test_the_same_id_is_another_memory_for_each_user(file: MemoryFile) -> None:
    assert [await written(file, who, content=f"of {who}") for who in (ANA, BEN, ANA)] == [
        "ADD",
        "ADD",
        "NONE",
    ]
    assert [await content(file, "m1", who) for who in (ANA, BEN)] == [f"of {ANA}", f"of {BEN}"]
    listed = await file.read(lambda snapshot: page_of_memories(snapshot, MemoryFilter(), limit=9))
    assert sorted((one.user_id or "", one.content) for one in listed) == [
        ("ana", f"of {ANA}"),
        ("ben", f"of {BEN}"),
    ]
    (bens,) = (one for one in listed if one.user_id == "ben")
    # Whoever takes that id, too, does not keep others from theirs.
    assert await written(file, Viewer("eve"), memory_id=bens.memory_id, content="of eve") == "ADD"
    assert await content(file, bens.memory_id, BEN) == f"of {BEN}"


async def test_what_a_user_writes_is_not_everybodys_for_being_written_again(file: MemoryFile) -> None:
    await written(file, ANA, content="of ana")
    assert await written(file, None, content="of the planner") == "UPDATE"
    assert [await content(file, "m1", who) for who in (ANA, BEN)] == ["of the planner", None]
    source = memory().source
    await put(
        file, memory("m2", source=type(source)(source_type="manual", captured_by="user", conversation_id="c"))
    )
    assert await written(file, None, memory_id="m2", content="changed") == "UPDATE"
    assert [await content(file, "m2", who) for who in (ANA, None)] == [None, "changed"]
