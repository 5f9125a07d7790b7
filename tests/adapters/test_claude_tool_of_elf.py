"""What the memory tool over ELF is beside the one over a file system: async, shared by many, and away at times."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

import anyio
import httpx
import pytest
from anthropic import AsyncAnthropic
from anthropic.tools import BetaLocalFilesystemMemoryTool, ToolError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.claude import AsyncElfMemoryTool, ElfMemoryTool
from elf.client import NO_RETRIES, AsyncClient, Client
from tests.adapters.claude_kit import (
    TEA,
    Command,
    Said,
    create,
    delete,
    insert,
    rename,
    replace,
    said,
    view,
    without_sizes_of_folders,
)
from tests.adapters.fake_claude import fake_claude, says, uses
from tests.db.assistant.assistant_kit import assistant_config, served_beside_the_others
from tests.folders import fresh_folder

pytestmark = pytest.mark.anyio

A = "/memories/a.md"
AWAY = "The memory does not answer at the moment. Try again later."


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with fresh_folder() as folder, served_beside_the_others(assistant_config(Path(folder))) as url:
        yield url


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Client]:
    with Client(address, tenant_id="acme") as client:
        yield client


@pytest.fixture
async def async_client(address: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(address, tenant_id="acme") as client:
        yield client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # that of the client of anthropic


@pytest.fixture
def user() -> str:
    return f"u-{uuid4()}"


async def asaid(tool: AsyncElfMemoryTool, command: Command) -> Said:
    try:
        return Said(str(await tool.call(dict(command))), False)
    except ToolError as error:
        return Said(str(error), True)


async def test_the_async_tool_says_the_same(async_client: AsyncClient, client: Client, user: str) -> None:
    tool, other = AsyncElfMemoryTool(async_client, user_id=user), ElfMemoryTool(client, user_id=f"{user}2")
    for command in (
        create(A), create(A), view("/memories"), view(A, view_range=[1, 2]), replace(A, "tea", "milk"),
        replace(A, "tea", "milk"), insert(A, 0, "top"), insert(A, 99, "x"), rename(A, "/memories/x/b.md"), view(A),
        delete("/memories/x"), delete(A), {"command": "undo"}, {},
    ):  # fmt: skip
        assert await asaid(tool, command) == said(other, command), command


async def test_a_turn_of_the_async_model_uses_it(async_client: AsyncClient, user: str) -> None:
    tool = AsyncElfMemoryTool(async_client, user_id=user, cache_control={"type": "ephemeral"})
    with fake_claude([uses(1, **create(A, TEA))], [says("Noted.")]) as claude:
        async with AsyncAnthropic(api_key="none", base_url=claude.url) as model:
            runner = model.beta.messages.tool_runner(
                model="claude-sonnet-5-5", max_tokens=100, tools=[tool],
                messages=[{"role": "user", "content": "I prefer tea."}],
            )  # fmt: skip
            last = await runner.until_done()
    assert getattr(last.content[0], "text", "") == "Noted."
    assert claude.tools == [
        {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    ]
    assert (await async_client.assistant.read_file(A, user_id=user)).text == TEA


async def test_all_memory_of_the_user_is_cleared_and_of_nobody_else(
    client: Client, async_client: AsyncClient, user: str
) -> None:
    tool, other = ElfMemoryTool(client, user_id=user), ElfMemoryTool(client, user_id=f"{user}2")
    for path in (A, "/memories/x/b.md", "/memories/x/y/c.md"):
        for one in (tool, other):
            one.call(create(path))
    assert tool.clear_all_memory() == "All memory cleared"
    assert [*client.assistant.files(user_id=user)] == []
    assert len([*client.assistant.files(user_id=f"{user}2")]) == 3
    assert (
        await AsyncElfMemoryTool(async_client, user_id=f"{user}2").clear_all_memory() == "All memory cleared"
    )
    assert [*client.assistant.files(user_id=f"{user}2")] == []


async def test_two_agents_who_edit_one_file_at_once_lose_nothing(
    async_client: AsyncClient, user: str
) -> None:
    first, second = (AsyncElfMemoryTool(async_client, user_id=user) for _ in range(2))
    await first.call(create(A, "".join(f"<{number}>\n" for number in range(10))))
    async with anyio.create_task_group() as group:
        for number in range(10):
            for mark, tool in (("a", first), ("b", second)):
                group.start_soon(tool.call, insert(A, 0, f"{mark}{number}"))
            group.start_soon(first.call, replace(A, f"<{number}>", f"[{number}]"))
    lines = (await async_client.assistant.read_file(A, user_id=user)).text.splitlines()
    wanted = [f"{mark}{number}" for mark in "ab" for number in range(10)] + [f"[{one}]" for one in range(10)]
    assert sorted(lines) == sorted(wanted)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (httpx.ConnectError("no"), AWAY),
        (httpx.Response(503, json={"error_code": "UNAVAILABLE", "message": "m"}), AWAY),
        (
            httpx.Response(401, json={"error_code": "UNAUTHORIZED", "message": "no key came with the request"}),
            "The memory cannot do this: no key came with the request",
        ),
        (httpx.Response(404, text="<html>not found</html>"), "The memory cannot do this"),
        (httpx.Response(200, text="<html>"), "The memory cannot do this: "),
    ],
    ids=["nothing listens", "away", "no key", "another server", "no answer of ours"],
)  # fmt: skip
async def test_what_else_goes_wrong_is_told_to_the_model_in_plain_words(answer: Any, wanted: str) -> None:
    def reply(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    network = httpx.MockTransport(reply)
    with Client("http://elf", transport=network, retries=NO_RETRIES, tenant_id="acme") as client:
        tool = ElfMemoryTool(client, user_id="ana")
        for command in (view(A), create(A)):
            told = said(tool, command)
            assert told.is_error
            assert told.text.startswith(wanted)
            # What may have been done is not to be done blindly once more.
            assert ("View the path first" in told.text) == (wanted == AWAY and command["command"] != "view")


async def test_whose_files_they_are_has_to_be_said_by_somebody(client: Client) -> None:
    tool = ElfMemoryTool(client)
    assert said(tool, view(A)) == Said(f"The path {A} does not exist. Please provide a valid path.", True)
    nobody = ElfMemoryTool(client.within(tenant_id=""), user_id="ana")
    told = said(nobody, view(A))
    assert told.is_error
    assert told.text.startswith("tenant_id: ")


NAMES = st.sampled_from(["a", "b", "c.md", ".h"])
PATHS = st.lists(NAMES, max_size=4).map(lambda names: "/".join(["/memories", *names]))
TEXTS = st.text(st.sampled_from("ab\n\r é"), max_size=12)
COMMANDS = st.one_of(
    st.builds(view, PATHS),
    st.builds(create, PATHS, TEXTS),
    st.builds(replace, PATHS, TEXTS.filter(bool), TEXTS),
    st.builds(insert, PATHS, st.integers(-1, 5), TEXTS),
    st.builds(delete, PATHS),
    st.builds(rename, PATHS, PATHS),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commands=st.lists(COMMANDS, min_size=5, max_size=30), number=st.uuids())
def test_whatever_is_done_both_tools_say_the_same_and_have_the_same(
    client: Client, commands: list[Command], number: UUID
) -> None:
    ours = ElfMemoryTool(client, user_id=f"{number}-{uuid4()}")
    with TemporaryDirectory() as folder:
        theirs = BetaLocalFilesystemMemoryTool(folder)
        for command in commands:
            here = without_sizes_of_folders(said(ours, command))
            try:
                there = without_sizes_of_folders(said(theirs, command))
            except OSError:  # which the model would be told as Python says it
                there = here if here.is_error else Said("an error", True)
            assert here == there, command
            _drop_empty_folders(Path(folder) / "memories")
        root = Path(folder) / "memories"
        on_disk = {
            f"/memories/{one.relative_to(root)}": one.read_bytes() for one in root.rglob("*") if one.is_file()
        }
    kept = client.assistant.files(user_id=ours.user_id)
    texts = {
        one.path: client.assistant.read_file(one.path, user_id=ours.user_id).text.encode() for one in kept
    }
    assert texts == on_disk


def _drop_empty_folders(root: Path) -> None:
    """Here a folder is there for as long as a file is in it."""
    for folder, _, _ in os.walk(root, topdown=False):
        if Path(folder) != root and not any(Path(folder).iterdir()):
            shutil.rmtree(folder)
