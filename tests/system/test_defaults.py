"""Who names no tenant, project or agent: the command line, MCP and the client find what the others stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from elf.client import Message, local
from tests.folders import fresh_folder
from tests.fronts.mcp_kit import over_stdio, read
from tests.system.fork_server import run_elf
from tests.system.service import RunningService, write_config

pytestmark = pytest.mark.anyio

BY_CLIENT, BY_EVENT = "Fact: Ana plays the cello.", "Preference: I prefer tea to coffee."
BY_COMMAND, BY_TOOL = "Fact: The kettle is red.", "Fact: The bicycle is in the cellar."
SHARED = "Fact: The office is in Porto."
ALL = {BY_CLIENT, BY_EVENT, BY_COMMAND, BY_TOOL}
PLACE = {"project_id": "default", "agent_id": "default"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


async def test_each_front_finds_what_the_others_stored_also_after_a_restart(folder: Path) -> None:
    with RunningService(write_config(folder)) as service:
        config = calling(service.url, folder)
        (added,) = (await command(config, "add", BY_COMMAND))["results"]
        async with over_stdio(config) as tools:
            (told,) = read(await tools.call_tool("memory_add_note", {"text": BY_TOOL}))["results"]
        await wait_found(service, BY_COMMAND, added["note_id"])
        await wait_found(service, BY_TOOL, told["note_id"])
        assert await first_by_command(config, BY_TOOL) == BY_TOOL

    async with local(folder) as memory:
        assert {note.text async for note in memory.list()} == {BY_COMMAND, BY_TOOL}
        for text in (BY_COMMAND, BY_TOOL):
            assert (await memory.search(text)).items[0].snippet == text
        await memory.add_note(BY_CLIENT)
        event = await memory.add_event([Message(role="user", content="I prefer tea to coffee.")])
        assert [note.text for note in event.stored] == [BY_EVENT]

        config = calling(memory.base_url, folder)
        listed = (await command(config, "list"))["items"]
        assert {note["text"] for note in listed} == ALL
        assert {note["scope"] for note in listed} == {"agent_private"}
        async with over_stdio(config) as tools:
            assert {note["text"] for note in read(await tools.call_tool("memory_list", {}))["items"]} == ALL
            found = read(await tools.call_tool("memory_search", {"query": BY_COMMAND}))["items"]
            assert found[0]["text"] == BY_COMMAND
        await command(config, "add", SHARED, "--scope", "project_shared")
        assert {note["text"] for note in (await command(config, "list"))["items"]} == ALL | {SHARED}


async def wait_found(service: RunningService, text: str, note_id: str) -> None:
    await to_thread.run_sync(partial(service.wait_found, "default", text, note_id, **PLACE))


async def first_by_command(config: Path, query: str) -> str:
    snippet: str = (await command(config, "search", query))["items"][0]["snippet"]
    return snippet


async def command(config: Path, name: str, *arguments: str) -> dict[str, Any]:
    """Run `elf` as a process of its own and return the service's answer."""
    done = await anyio.to_thread.run_sync(lambda: run_elf(name, "-c", config, "--json", *arguments))
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def calling(url: str, folder: Path) -> Path:
    """A config that leads to the service at a URL; that of the service itself names no port."""
    place = folder / "callers"
    place.mkdir(exist_ok=True)
    return write_config(place, http_bind=json.dumps(url.removeprefix("http://")))
