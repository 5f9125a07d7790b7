"""Over MCP, what is of one user does not reach another, though [defaults] names a project for whoever names none."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from elf.client import local
from elf.config import load
from elf.core.api_key import new_key
from tests.folders import fresh_folder
from tests.fronts.mcp_kit import elf_mcp, failure, read
from tests.issuer import Issuer, SigningKey
from tests.keys_kit import with_keys
from tests.system.fork_server import run_elf
from tests.system.service import REPO, RunningService, started_already, write_config

pytestmark = pytest.mark.anyio

AGENCY, OF_ANA, OF_BEN, PLAIN = new_key(), new_key(), new_key(), new_key()
KEYS: list[dict[str, Any]] = [
    {"name": "agency", "key": AGENCY, "acts_for_users": True},
    {"name": "of-ana", "key": OF_ANA, "user": "ana"},
    {"name": "of-ben", "key": OF_BEN, "user": "ben"},
    {"name": "plain", "key": PLAIN, "role": "admin"},
]
JWT = """
[security.auth.jwt]
issuer = "{issuer}"
jwks_file = "jwks.json"
algorithms = ["ES256"]
users_share_projects = true
"""
ISSUER = Issuer(SigningKey("known", "ES256"))
PATIENCE_MS = 30_000
ANA_SAYS = "Preference: I prefer green tea to coffee."

Call = Mapping[str, Any]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def laptop(model_folder: Path) -> Iterator[RunningService]:
    """A service in mode off, on the example config."""
    with fresh_folder() as folder, RunningService(configured(folder, model_folder)) as service:
        yield service


@pytest.fixture(scope="module")
def guarded(model_folder: Path) -> Iterator[RunningService]:
    """A service that asks who calls; none of its keys and tokens is bound to a project."""
    with fresh_folder() as folder:
        config = configured(folder, model_folder)
        (folder / "jwks.json").write_bytes(ISSUER.jwks())
        config.write_text(with_keys(config.read_text(), *KEYS) + JWT.format(issuer=ISSUER.url))
        with RunningService(config) as service:
            yield service


def configured(folder: Path, model_folder: Path) -> Path:
    config = write_config(folder, cache_dir=f'"{model_folder}"')
    assert 'project_id = "default"' in config.read_text().partition("\n[defaults]\n")[2]
    return config


@asynccontextmanager
async def over_http(service: RunningService, path: str = "/memory", **headers: str) -> AsyncIterator[Client]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    url = f"{service.mcp_url.removesuffix('/mcp')}/mcp{path}"
    async with (
        httpx2.AsyncClient(headers=named) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def over_stdio(config: Path, *arguments: str) -> Client:
    command, *rest = elf_mcp("-c", str(config), "--stdio", *arguments)
    return Client(StdioServerParameters(command=command, args=rest, cwd=REPO))


def desk(service: RunningService, folder: Path, key: str = "", **context: str) -> Path:
    """A config that reaches the service, with this [mcp.context]; with a key, one that lists none."""
    text = service.config.read_text()
    text = re.sub(
        r"^http_bind = .*$", f'http_bind = "{service.url.removeprefix("http://")}"', text, flags=re.MULTILINE
    )
    if key:
        text = with_keys(text, mode="off")
        (folder / "desk.key").write_text(key)
        (folder / "desk.key").chmod(0o600)
        context["key_file"] = "desk.key"
    head, _, rest = text.partition("\n[mcp.context]\n")
    for name, value in context.items():
        rest = re.sub(rf"^{name} = .*$", f'{name} = "{value}"', rest, count=1, flags=re.MULTILINE)
    config = folder / "elf.toml"
    config.write_text(f"{head}\n[mcp.context]\n{rest}")
    return config


async def remember(client: Client, **call: Any) -> None:
    messages = [{"content": ANA_SAYS}]
    told = read(await client.call_tool("remember", {"messages": messages, "wait_ms": PATIENCE_MS, **call}))
    (notes,) = [one for one in told["families"] if one["family"] == "notes"]
    assert [one["op"] for one in notes["written"]] == ["ADD"], told


async def recalled(client: Client, **call: Any) -> list[str]:
    """The families in which what ana said is found."""
    return [item["family"] for item in await told(client, **call)]


async def told(client: Client, **call: Any) -> list[dict[str, str]]:
    """The addresses of what is found of it, also of what states the same."""
    answer = read(await client.call_tool("recall", {"query": "tea or coffee?", **call}))
    items = [
        one for item in answer["items"] if "tea" in item["text"] for one in (item, *item.get("also", ()))
    ]
    return [{name: item[name] for name in ("family", "kind", "id")} for item in items]


async def check_apart(ana: Client, ben: Client, of_ana: Call = {}, of_ben: Call = {}) -> None:  # noqa: B006
    """What ana has remembered she finds, and ben neither finds nor forgets it."""
    await remember(ana, **of_ana)
    assert "notes" in await recalled(ana, **of_ana)
    assert await recalled(ben, **of_ben) == []
    items = await told(ana, **of_ana)
    shown = read(await ben.call_tool("forget", {"query": "tea or coffee?", **of_ben}))
    assert shown["candidates"] == []
    forgotten = read(await ben.call_tool("forget", {"items": items, **of_ben}))
    assert {one["outcome"] for one in forgotten["items"]} == {"not_found"}
    assert "notes" in await recalled(ana, **of_ana)


def erased_notes(service: RunningService, user: str, **headers: str) -> int:
    """How many notes an erasure of a user removes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"tenant_id": "default", "user_id": user}
    answer = service.admin.post("/v1/admin/erase", json=body, headers=named)
    assert answer.status_code == 200, answer.text
    count: int = answer.json()["erased"]["notes"]["notes"]
    return count


@pytest.fixture
def ana() -> str:
    return f"ana-{uuid4().hex[:8]}"


@pytest.fixture
def ben() -> str:
    return f"ben-{uuid4().hex[:8]}"


# One memory


async def test_users_that_calls_name_are_apart_and_an_erasure_has_all(
    laptop: RunningService, ana: str, ben: str
) -> None:
    async with over_http(laptop) as client:
        await check_apart(client, client, {"user_id": ana}, {"user_id": ben})
    assert erased_notes(laptop, ben) == 0
    assert erased_notes(laptop, ana) == 1


async def test_users_that_bearers_name_are_apart(laptop: RunningService, ana: str, ben: str) -> None:
    async with (
        over_http(laptop, authorization=f"Bearer {ana}") as hers,
        over_http(laptop, authorization=f"Bearer {ben}") as his,
    ):
        await check_apart(hers, his)
        assert "notes" in await recalled(his, user_id=ana), "in mode off, a call may name another user"
    async with over_http(laptop) as client:
        assert "notes" in await recalled(client, user_id=ana)
    assert erased_notes(laptop, ana) == 1


async def test_a_project_that_is_given_is_meant_as_it_is_over_http(
    laptop: RunningService, ana: str, ben: str
) -> None:
    async with over_http(laptop) as client:
        await remember(client, user_id=ana, project_id=ben)
        assert "notes" not in await recalled(client, user_id=ana)
        (over_mcp,) = notes_in(await told(client, user_id=ana, project_id=ben))
    place = {"tenant_id": "default", "user_id": ana, "agent_id": "default", "project_id": ben}
    asked = {"query": "tea or coffee?", **place}
    items = laptop.client.post("/v1/recall", json=asked).json()["items"]
    assert notes_in([one for item in items for one in (item, *item["also"])]) == [over_mcp]


def notes_in(items: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in items if item["family"] == "notes"]


async def test_who_names_no_user_has_the_project_of_the_defaults(laptop: RunningService) -> None:
    text = f"Fact: The kettle {uuid4().hex[:8]} is red."
    laptop.add("default", {"type": "fact", "text": text, "importance": 0.5, "confidence": 0.8, "source_ref": {}},
               project_id="default", agent_id="default", scope="agent_private")  # fmt: skip
    async with over_http(laptop) as client:
        answer = read(await client.call_tool("recall", {"query": text}))
        assert text in [item["text"] for item in answer["items"]]
        shown = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    for name in ("recall", "remember", "forget", "explain"):
        assert "default" not in shown[name]["properties"]["project_id"], "a model would send it beside a user"
        assert "project_id" not in shown[name]["required"]


@pytest.mark.parametrize("named", ["key", "header", "token"])
async def test_users_that_are_proved_are_apart(guarded: RunningService, named: str) -> None:
    proofs = {
        "key": ({"x_api_key": OF_ANA}, {"x_api_key": OF_BEN}),
        "header": tuple({"x_api_key": AGENCY, "x_user_id": f"{one} by header"} for one in ("ana", "ben")),
        "token": tuple(
            {"authorization": f"Bearer {ISSUER.token(f'{one}-by-token')}"} for one in ("ana", "ben")
        ),
    }[named]
    async with over_http(guarded, **proofs[0]) as hers, over_http(guarded, **proofs[1]) as his:
        await check_apart(hers, his)
        body = failure(await his.call_tool("recall", {"query": "tea or coffee?", "user_id": "ana"}))
        assert (body["error_code"], body["fields"]) == ("SCOPE_DENIED", ["$.user_id"])
    user = {"key": "ana", "header": "ana by header", "token": "ana-by-token"}[named]
    assert erased_notes(guarded, user, x_api_key=PLAIN) == 1


async def test_over_standard_input_users_are_apart(
    laptop: RunningService, tmp_path: Path, ana: str, ben: str
) -> None:
    for name in (ana, ben):
        (tmp_path / name).mkdir()
    async with (
        over_stdio(desk(laptop, tmp_path / ana, user=ana)) as hers,
        over_stdio(desk(laptop, tmp_path / ben, user=ben)) as his,
    ):
        await check_apart(hers, his)
    async with over_stdio(desk(laptop, tmp_path)) as client:
        assert "notes" in await recalled(client, user_id=ana)
    assert erased_notes(laptop, ana) == 1


async def test_the_user_of_the_defaults_is_one_as_well(
    laptop: RunningService, tmp_path: Path, ana: str
) -> None:
    config = desk(laptop, tmp_path)
    config.write_text(config.read_text().replace('\nuser = ""\n\n', f'\nuser = "{ana}"\n\n', 1))
    async with over_stdio(config) as client:
        await remember(client)
        assert "notes" in await recalled(client)
        assert "notes" in await recalled(client, user_id=ana)
    async with over_http(laptop) as client:
        assert "notes" in await recalled(client, user_id=ana)
    assert erased_notes(laptop, ana) == 1


async def test_over_standard_input_a_key_that_another_config_lists_is_of_its_user(
    guarded: RunningService, tmp_path: Path
) -> None:
    for name in ("ana", "ben"):
        (tmp_path / name).mkdir()
    async with (
        over_stdio(desk(guarded, tmp_path / "ana", OF_ANA)) as hers,
        over_stdio(desk(guarded, tmp_path / "ben", OF_BEN)) as his,
    ):
        await check_apart(hers, his)
    assert erased_notes(guarded, "ana", x_api_key=PLAIN) == 1


# Notes


async def test_notes_of_a_user_are_in_a_project_of_its_own(
    laptop: RunningService, ana: str, ben: str
) -> None:
    async with (
        over_http(laptop, "", authorization=f"Bearer {ana}") as hers,
        over_http(laptop, "", authorization=f"Bearer {ben}") as his,
    ):
        await check_notes_apart(hers, his, ana)
        shown = {tool.name: tool.input_schema for tool in (await hers.list_tools()).tools}
        assert json.dumps(shown) == json.dumps(
            {tool.name: tool.input_schema for tool in (await his.list_tools()).tools}
        )
        assert "project_id" not in shown["memory_list"]["required"]
        assert "default" not in shown["memory_list"]["properties"]["project_id"]
    assert erased_notes(laptop, ana) == 1


@pytest.mark.parametrize("named", ["key", "token"])
async def test_notes_of_a_proved_user_are_in_a_project_of_its_own(
    guarded: RunningService, named: str
) -> None:
    users = [f"{one}-of-notes" for one in ("ana", "ben")]
    hers_is, his_is = (
        {"x_api_key": AGENCY, "x_user_id": f"{user}-by-key"}
        if named == "key"
        else {"authorization": f"Bearer {ISSUER.token(f'{user}-by-token')}"}
        for user in users
    )
    async with over_http(guarded, "", **hers_is) as hers, over_http(guarded, "", **his_is) as his:
        await check_notes_apart(hers, his, f"{users[0]}-by-{named}")


async def test_notes_of_nobody_are_in_the_project_of_the_defaults(guarded: RunningService) -> None:
    async with over_http(guarded, "", x_api_key=PLAIN) as client:
        (written,) = read(await client.call_tool("memory_add_note", {"text": "Fact: The door is blue."}))[
            "results"
        ]
        note = read(await client.call_tool("memory_get", {"note_id": written["note_id"]}))
        assert note["project_id"] == "default"


async def test_a_key_that_another_config_lists_has_to_say_the_project_of_notes(
    guarded: RunningService, tmp_path: Path
) -> None:
    async with over_stdio(desk(guarded, tmp_path, OF_ANA), "--family", "notes") as client:
        body = failure(await client.call_tool("memory_list", {}))
        assert (body["error_code"], body["fields"]) == ("INVALID_REQUEST", ["$.project_id"])
        assert read(await client.call_tool("memory_list", {"project_id": "ana"}))["items"] is not None


# The command line, and a service of one's own


async def test_commands_write_notes_of_a_user_to_the_project_that_tools_do(
    laptop: RunningService, tmp_path: Path, ana: str, ben: str
) -> None:
    config = desk(laptop, tmp_path)
    text = f"Fact: The bicycle of {ana} is green."
    assert (await command(config, ana, "add", text))["results"][0]["op"] == "ADD"
    assert [note["text"] for note in (await command(config, ana, "list"))["items"]] == [text]
    assert (await command(config, ben, "list"))["items"] == []
    found = (await command(config, ben, "search", "Which bicycle is green?"))["items"]
    assert text not in [item["snippet"] for item in found]
    async with over_http(laptop, "", authorization=f"Bearer {ana}") as client:
        assert [item["text"] for item in read(await client.call_tool("memory_list", {}))["items"]] == [text]
    assert erased_notes(laptop, ana) == 1


async def command(config: Path, user: str, *arguments: str) -> Any:
    """Run `elf` for a user and return the service's answer."""
    environment = {**os.environ, "ELF_TOKEN": user}
    name, *rest = arguments
    done = await to_thread.run_sync(
        lambda: run_elf(name, "-c", config, "--json", *rest, environment=environment)
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("given_at", ["entry", "within"])
async def test_notes_of_a_service_of_ones_own_are_of_the_user_whom_the_key_acts_for(
    guarded: RunningService, monkeypatch: pytest.MonkeyPatch, ana: str, ben: str, given_at: str
) -> None:
    monkeypatch.setattr("actors.processes.background.BackgroundSystem", started_already(guarded))
    config = load(guarded.config)
    if given_at == "entry":
        async with local(config, api_key=AGENCY, for_user=ana) as hers:
            await hers.add_note("Fact: Ana plays the cello.", scope="project_shared")
            assert [note.project_id async for note in hers.list()] == [ana]
        async with local(config, api_key=AGENCY, for_user=ben) as his:
            assert [note async for note in his.list()] == []
        return
    async with local(config, api_key=AGENCY) as agency:
        await agency.within(for_user=ana).add_note("Fact: Ana plays the cello.", scope="project_shared")
        assert [note.project_id async for note in agency.within(for_user=ana).list()] == [ana]
        assert [note async for note in agency.within(for_user=ben).list()] == []
        shared = agency.within(project_id=f"site of {ana}")
        await shared.within(for_user=ana).add_note("Fact: The site is new.", scope="project_shared")
        assert [note.text async for note in shared.within(for_user=ben).list()] == ["Fact: The site is new."]


async def check_notes_apart(ana: Client, ben: Client, project: str) -> None:
    text = "Fact: Ana plays the cello."
    place = {"scope": "project_shared", "text": text}
    (written,) = read(await ana.call_tool("memory_add_note", place))["results"]
    one = {"note_id": written["note_id"]}
    assert read(await ana.call_tool("memory_get", one))["project_id"] == project
    assert read(await ben.call_tool("memory_list", {}))["items"] == []
    assert read(await ben.call_tool("memory_search", {"query": "Who plays the cello?"}))["items"] == []
    for name in ("memory_get", "memory_delete"):
        assert failure(await ben.call_tool(name, one))["error_code"] == "NOT_FOUND"
    changed = failure(await ben.call_tool("memory_update", {**one, "text": "Fact: Ben plays."}))
    assert changed["error_code"] == "NOT_FOUND"
    assert [item["text"] for item in read(await ana.call_tool("memory_list", {}))["items"]] == [text]
