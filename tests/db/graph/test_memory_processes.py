"""Processes that write one file: no acknowledged write is lost, also of one that is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio
import pytest

from elf.families.graph.store.file import FileKit
from elf.families.graph.store.nodes import MemoryFilter, page_of_memories, read_versions
from elf.families.graph.store.statements import Snapshot
from tests.db.graph.graph_kit import KEY, memory, opened, put

pytestmark = pytest.mark.anyio
COUNT: Final = 30


def other(root: Path, name: str, count: int) -> list[str]:
    return [sys.executable, "-m", "tests.db.graph.other_writer", str(root), name, str(count)]


async def test_four_processes_lose_nothing_of_what_each_writes(tmp_path: Path, kit: FileKit) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path, KEY, kit)
        async with anyio.create_task_group() as others:
            for name in ("a", "b", "c"):
                others.start_soon(anyio.run_process, other(tmp_path, name, COUNT))
            for number in range(COUNT):
                await put(file, memory(f"here-{number}"), memory("shared", importance=number))

        def look(snapshot: Snapshot) -> tuple[int, list[int]]:
            memories = page_of_memories(snapshot, MemoryFilter(), limit=1000)
            versions = read_versions(snapshot, "shared", behind=0, limit=1000)
            return len(memories), [one.version for one in versions]

        count, versions = await file.read(look)
        group.cancel_scope.cancel()
    assert count == 4 * COUNT + 1
    assert versions == list(range(1, len(versions) + 1))


async def test_what_a_killed_process_was_told_is_written_is_there(tmp_path: Path, kit: FileKit) -> None:
    told: list[int] = []
    async with await anyio.open_process(
        other(tmp_path, "killed", 100_000), stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        heard = b""
        async for chunk in process.stdout:
            heard += chunk
            told = [int(line) for line in heard.splitlines(keepends=True) if line.endswith(b"\n")]
            if len(told) >= COUNT:
                process.kill()
                break
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path, KEY, kit)
        memories = await file.read(lambda snapshot: page_of_memories(snapshot, MemoryFilter(), limit=100_000))
        group.cancel_scope.cancel()
    assert {f"killed-{number}" for number in told} <= {one.memory_id for one in memories}
