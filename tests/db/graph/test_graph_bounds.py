"""Any memory and edge is taken in as it is or refused, and what is taken in is within the bounds of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.core.errors import InvalidRequest
from elf.families.graph.model import CAPTURERS, NODE_TYPES, SOURCE_TYPES, STATUSES, MemoryNode, Source
from elf.families.graph.store.file import FileKit
from elf.families.graph.store.nodes import need_memory
from tests.db.graph.graph_kit import KEY, MEMORY, memory, opened, put

NAMES = st.sampled_from(["", "Rumour", "active", "manual"])
SOURCES = st.builds(
    Source,
    source_type=st.sampled_from(SOURCE_TYPES) | NAMES,
    captured_by=st.sampled_from(CAPTURERS) | NAMES,
    source_path=st.sampled_from([None, "/a/b", "a/b"]),
    conversation_id=st.sampled_from([None, "", "c1", "c" * 129]),
    workflow_run_id=st.sampled_from([None, "run"]),
    step_id=st.sampled_from([None, "step"]),
)
MEMORIES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(NODE_TYPES) | NAMES,
        "status": st.sampled_from(STATUSES) | NAMES,
        "importance": st.sampled_from([-1, 0, 100, 101]) | st.integers(-10, 110),
        "confidence": st.sampled_from([-0.1, 0.0, 1.0, 1.1, float("nan"), float("inf")]),
        "content": st.text(max_size=20).map(lambda text: text.replace("\0", "")) | st.just("x" * 16_385),
        "summary": st.sampled_from(["", "s", "s" * 280, "s" * 281]),
        "source": SOURCES,
    },
)


def allowed(memory: MemoryNode) -> bool:
    """Tell whether the spec allows a memory; a second statement of its rules."""
    source = memory.source
    needed = {
        "workflow_output": (source.workflow_run_id, source.step_id),
        "channel_transcript": (source.conversation_id,),
        "ingest_file": (source.source_path,),
    }
    return (
        memory.type in NODE_TYPES
        and memory.status in STATUSES
        and 0 <= memory.importance <= 100
        and 0 <= memory.confidence <= 1
        and 1 <= len(memory.content) <= 16_384
        and 1 <= len(memory.summary) <= 280
        and source.source_type in SOURCE_TYPES
        and source.captured_by in CAPTURERS
        and (source.source_path is None or source.source_path.startswith("/"))
        and (source.conversation_id is None or 1 <= len(source.conversation_id) <= 128)
        and None not in needed.get(source.source_type, ())
    )


@pytest.mark.anyio
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(MEMORIES, min_size=1, max_size=8))
async def test_the_file_takes_in_what_the_rules_allow_and_nothing_else(
    tmp_path: Path, kit: FileKit, changes: list[dict[str, Any]]
) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, tmp_path, KEY, kit)
        await put(file, MEMORY)
        for change in changes:
            wanted = memory(**change)
            before = (await file.read(lambda snapshot: need_memory(snapshot, "m1"))).memory
            if allowed(wanted):
                await put(file, wanted)
                before = wanted
            else:
                with pytest.raises(InvalidRequest):
                    await put(file, wanted)
            assert (await file.read(lambda snapshot: need_memory(snapshot, "m1"))).memory == before
        group.cancel_scope.cancel()
