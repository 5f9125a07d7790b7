"""A service that requires keys, by each of its doors: the client, the command line, and MCP both ways."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from elf.cli import main
from elf.client import AsyncClient, Client, ScopeDenied, Unauthorized, local
from elf.config import load
from elf.core.api_key import new_key
from tests.folders import fresh_folder
from tests.fronts.mcp_kit import failure, over_stdio, read
from tests.keys_kit import with_keys
from tests.system.service import RunningService, started_already, write_config

pytestmark = pytest.mark.anyio

BOUND, AGENCY, OPERATOR = new_key(), new_key(), new_key()
KEYS = (
    {"name": "bot", "key": BOUND, "tenant_id": "acme", "project_id": "site", "agent_id": "bot"},
    {"name": "agency", "key": AGENCY, "tenant_id": "acme", "project_id": "{user}", "acts_for_users": True},
    {"name": "operator", "key": OPERATOR, "role": "admin"},
)
FREE = {"agent_id": "helper", "read_profile": "all_scopes"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def guarded(model_folder: Path) -> Iterator[RunningService]:
    """A service that serves these keys and nobody else."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"', log_level='"debug"')
        config.write_text(with_keys(config.read_text(), *KEYS))
        with RunningService(config) as service:
            yield service


class Desk(NamedTuple):
    """A config that reaches the service, and the folder of its keys."""

    config: Path
    folder: Path

    def key_file(self, key: str) -> Path:
        file = self.folder / f"{KEY_NAMES[key]}.key"
        file.write_text(f"{key}\n")
        file.chmod(0o600)
        return file


KEY_NAMES = {BOUND: "bot", AGENCY: "agency", OPERATOR: "operator", "elf_wrong": "wrong"}


@pytest.fixture
def desk(guarded: RunningService, tmp_path: Path) -> Desk:
    text = guarded.config.read_text()
    for key, url in (("http_bind", guarded.url), ("admin_bind", guarded.admin_url)):
        text = re.sub(rf"^{key} = .*$", f'{key} = "{url.removeprefix("http://")}"', text, flags=re.MULTILINE)
    config = tmp_path / "elf.toml"
    config.write_text(text)
    return Desk(config, tmp_path)


Elf = Callable[..., tuple[int, str, str]]


@pytest.fixture
def elf(desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Elf:
    """Run a command with a key, or with none."""
    for name in ("ELF_API_KEY", "ELF_API_KEY_FILE", "ELF_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run(command: str, *arguments: str, key: str | None = None) -> tuple[int, str, str]:
        flags = [] if key is None else ["--key-file", str(desk.key_file(key))]
        code = main([command, "-c", str(desk.config), *flags, *arguments])
        return (code, *capsys.readouterr())

    return run


# The client


def test_a_client_with_a_key_says_no_more_than_what_the_key_leaves_open(guarded: RunningService) -> None:
    with Client(guarded.url, api_key=BOUND, read_profile="all_scopes") as memory:
        written = memory.add_note("Fact: The bot likes rye bread.", key="bread")
        assert written.note_id is not None
        note = memory.get(written.note_id)
        assert (note.tenant_id, note.project_id, note.agent_id) == ("acme", "site", "bot")
        assert memory.within(tenant_id="acme").get(written.note_id) == note
        with pytest.raises(ScopeDenied) as caught:
            memory.within(tenant_id="other").list().pages().__next__()
        assert caught.value.fields == ("tenant_id",)


@pytest.mark.parametrize("proof", [{}, {"api_key": "elf_wrong"}, {"token": "no-token"}])
def test_whoever_proves_nothing_is_unauthorized_and_a_service_is_ready_for_all(
    guarded: RunningService, proof: dict[str, Any]
) -> None:
    with Client(guarded.url, **proof) as memory:
        assert memory.ready().ready
        with pytest.raises(Unauthorized):
            next(iter(memory.list()))


def test_a_key_acts_for_the_users_that_it_names_and_keeps_them_apart(guarded: RunningService) -> None:
    with Client(guarded.url, api_key=AGENCY, **FREE) as agency:
        ana, bea = agency.within(for_user="ana"), agency.within(for_user="bea")
        ana.add_note("Fact: Ana plays the cello.")
        assert [note.project_id for note in ana.list(scope="agent_private")] == ["ana"]
        assert list(bea.list(scope="agent_private")) == []
        with pytest.raises(Unauthorized, match="X-User-ID"):
            next(iter(agency.list()))
    with Client(guarded.url, api_key=BOUND, for_user="ana") as bot, pytest.raises(Unauthorized):
        next(iter(bot.list()))


async def test_an_async_client_does_the_same(guarded: RunningService) -> None:
    async with AsyncClient(guarded.url, api_key=BOUND, read_profile="all_scopes") as memory:
        assert (await memory.add_note("Fact: The bot reads at night.")).stored
    async with AsyncClient(guarded.url) as stranger:
        with pytest.raises(Unauthorized):
            await stranger.add_note("x")


async def test_a_service_of_ones_own_requires_what_its_config_does(
    guarded: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.processes.background.BackgroundSystem", started_already(guarded))
    config = load(guarded.config)
    async with local(config) as memory:
        with pytest.raises(Unauthorized):
            await memory.add_note("x")
    async with local(config, api_key=BOUND) as memory:
        written = await memory.add_note("Fact: The bot sleeps at noon.")
        assert written.note_id is not None
        assert (await memory.get(written.note_id)).tenant_id == "acme"


# The command line


def test_commands_are_of_whoever_has_the_key(elf: Elf) -> None:
    code, out, err = elf("add", "Fact: The kettle is blue.", "--json", key=BOUND)
    assert code == 0, err
    (written,) = json.loads(out)["results"]
    _, out, _ = elf("get", written["note_id"], "--json", key=BOUND)
    assert {name: json.loads(out)[name] for name in ("tenant_id", "project_id", "agent_id")} == {
        "tenant_id": "acme",
        "project_id": "site",
        "agent_id": "bot",
    }
    assert "The kettle is blue." in elf("list", key=BOUND)[1]
    code, _, err = elf("list", "--tenant", "other", key=BOUND)
    assert code == 1
    assert err.startswith("elf: SCOPE_DENIED: ")
    assert "bot.key" in err


def test_a_command_without_the_key_says_what_to_set(elf: Elf) -> None:
    code, _, err = elf("list")
    assert code == 1
    assert "UNAUTHORIZED" in err
    assert "--key-file or ELF_API_KEY_FILE, or set ELF_API_KEY or ELF_TOKEN" in err
    code, _, err = elf("list", key="elf_wrong")
    assert code == 1
    assert err.endswith("wrong.key\n")
    assert "elf_wrong" not in err


def test_operators_need_the_role(elf: Elf) -> None:
    for command in ("gc", "drift"):
        assert elf(command, key=OPERATOR)[0] == 0
        code, _, err = elf(command, key=BOUND)
        assert code == 1
        assert "FORBIDDEN: this needs the role " in err
        assert "UNAUTHORIZED" in elf(command)[2]


def test_the_status_is_for_all_and_its_figures_are_for_operators(elf: Elf) -> None:
    code, out, _ = elf("status")
    assert code == 0
    assert "unknown: UNAUTHORIZED" in out
    code, out, _ = elf("status", key=OPERATOR)
    assert code == 0
    assert "unknown" not in out


# MCP


@asynccontextmanager
async def over_http(service: RunningService, key: str, **headers: str) -> AsyncIterator[McpClient]:
    async with (
        httpx2.AsyncClient(headers={"X-API-Key": key, **headers}) as http,
        McpClient(streamable_http_client(service.mcp_url, http_client=http)) as client,
    ):
        yield client


def stdio_of(desk: Desk, key: str, **context: str) -> McpClient:
    head, _, rest = desk.config.read_text().partition("[mcp.context]")
    for name, value in {"key_file": desk.key_file(key).name, **context}.items():
        rest = re.sub(rf"^{name} = .*$", f'{name} = "{value}"', rest, count=1, flags=re.MULTILINE)
    desk.config.write_text(f"{head}[mcp.context]{rest}")
    return over_stdio(desk.config)


async def check_tools(client: McpClient, *, project: str) -> None:
    """Tools of a caller that is bound to a tenant and a project hide both, and write and read there."""
    shown = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert all(not {"tenant_id", "project_id"} & tool["properties"].keys() for tool in shown.values())
    (written,) = read(await client.call_tool("memory_add_note", {"text": f"Fact: It is for {project}."}))[
        "results"
    ]
    note = read(await client.call_tool("memory_get", {"note_id": written["note_id"]}))
    assert (note["tenant_id"], note["project_id"]) == ("acme", project)
    body = failure(
        await client.call_tool("memory_get", {"note_id": written["note_id"], "tenant_id": "other"})
    )
    assert (body["error_code"], body["fields"]) == ("SCOPE_DENIED", ["$.tenant_id"])


async def test_tools_over_http(guarded: RunningService) -> None:
    async with over_http(guarded, BOUND) as client:
        await check_tools(client, project="site")
    async with over_http(guarded, AGENCY, **{"X-User-ID": "ana"}) as client:
        await check_tools(client, project="ana")


async def test_tools_over_standard_input(desk: Desk) -> None:
    async with stdio_of(desk, AGENCY, user="cleo") as client:
        await check_tools(client, project="cleo")


async def test_mcp_is_closed_to_strangers(guarded: RunningService) -> None:
    async with httpx.AsyncClient() as http:
        for headers in ({}, {"X-API-Key": "elf_wrong"}, {"Authorization": "Bearer no-token"}):
            response = await http.post(guarded.mcp_url, json={"jsonrpc": "2.0"}, headers=headers)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


def test_no_key_is_in_the_log(guarded: RunningService) -> None:
    secrets = (BOUND, AGENCY, OPERATOR, "elf_wrong", "no-token")
    told = str(uuid4())
    for secret in secrets:
        guarded.client.get("/v1/memory/notes", headers={"X-API-Key": secret, "X-Request-Id": told})
        guarded.client.get("/v1/memory/notes", headers={"Authorization": f"Bearer {secret}"})
    assert told in guarded.log
    assert not any(secret in guarded.log for secret in secrets)
