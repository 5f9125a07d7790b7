"""Who speaks MCP, and who is turned away before anything is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from exchange import Exchange
from structlog.testing import capture_logs
from werkzeug.datastructures import Headers

from elf.api.caller import ANONYMOUS, Caller
from elf.config import Config, load
from elf.config.access import Visitors
from elf.core.api_key import hash_of
from elf.core.errors import ConfigError, Unauthorized, Unavailable
from elf.mcp.callers import IDENTIFIED, Callers, Identified
from elf.mcp.gate import McpGate

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).resolve().parents[3] / "elf.example.toml"
BOT = Caller(client="bot", bound={"tenant_id": "acme"})
KEYS = [{"name": "bot", "hash": hash_of("elf_bot")}]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def config_with(
    *, auth: Mapping[str, Any] | None = None, context: Mapping[str, str] | None = None, **defaults: str
) -> Config:
    example = load(EXAMPLE)
    tables = example.model_dump()
    tables["security"]["auth"] = auth or {}
    return type(example).model_validate(tables | {"mcp": {"context": context or {}}, "defaults": defaults})


async def by_name(headers: Headers) -> Caller:
    """Take whoever says a name for that one, as mode off does, and know one key."""
    if key := headers.get("X-API-Key"):
        if key != "elf_bot":
            raise Unauthorized("the key in X-API-Key is not known")
        return BOT
    user = headers.get("Authorization", "Bearer local").removeprefix("Bearer ")
    return Caller(user=user, client=headers.get("X-Client-ID"))


async def turned_away(_: Headers) -> Caller:
    raise Unauthorized("say who you are")


async def nobody_can_say(_: Headers) -> Caller:
    raise Unavailable("the issuer is away", retry_after_s=7)


async def ask(callers: Callers, **headers: str) -> tuple[Exchange, list[Identified]]:
    """Send a request through a gate; returns it with its answer, and whom its handler saw."""
    seen: list[Identified] = []

    async def handler(scope: Any, _receive: Any, send: Any) -> None:
        seen.append(scope[IDENTIFIED])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    gate = McpGate(Visitors(local_only=True), callers, ["/mcp"])
    gate.open({"/mcp": handler})
    exchange = Exchange(headers={name.replace("_", "-"): value for name, value in headers.items()})
    await exchange.go(gate)
    return exchange, seen


async def test_the_handler_learns_who_calls_and_by_which_headers() -> None:
    sent = {"x_api_key": "elf_bot", "x_user_id": "ana", "accept": "application/json", "cookie": "c"}
    exchange, (who,) = await ask(Callers(config_with(), by_name), **sent)
    assert exchange.status == 200
    assert who.caller == BOT
    assert dict(who.headers)["X-API-Key"] == "elf_bot"
    assert set(who.headers.keys()) <= {"X-API-Key", "X-User-ID", "Authorization"}
    assert "elf_bot" not in repr(who)


async def test_a_stranger_is_answered_401_and_nothing_is_loaded() -> None:
    gate = McpGate(Visitors(local_only=True), Callers(config_with(), turned_away), ["/mcp"])
    exchange = Exchange(headers={"content-length": "1"})
    assert await exchange.go(gate) == 401
    assert (b"www-authenticate", b"Bearer") in exchange.headers
    assert exchange.body["error"]["message"] == "say who you are"
    assert exchange.body["jsonrpc"] == "2.0"
    assert not gate.wanted.is_set()


async def test_health_and_a_wrong_path_need_no_name() -> None:
    gate = McpGate(Visitors(local_only=True), Callers(config_with(), turned_away), ["/mcp"])
    for path, method, status in (("/health", "GET", 200), ("/other", "POST", 404), ("/mcp", "GET", 405)):
        exchange = Exchange()
        exchange.scope |= {"path": path, "method": method}
        assert await exchange.go(gate) == status


async def test_where_nobody_can_say_it_now_it_is_to_be_tried_again() -> None:
    exchange, seen = await ask(Callers(config_with(), nobody_can_say))
    assert (exchange.status, seen) == (503, [])
    assert [value for name, value in exchange.headers if name == b"retry-after"] == [b"7"]


@pytest.mark.parametrize(
    ("context", "defaults", "sent", "caller"),
    [
        ({}, {}, {}, Caller(user="local")),
        ({}, {"user": "ana"}, {}, Caller(user="ana")),
        ({"user": "bea"}, {"user": "ana"}, {}, Caller(user="bea")),
        ({}, {"user": "ana"}, {"authorization": "Bearer bea"}, Caller(user="bea")),
        ({"client": "desk"}, {}, {}, Caller(user="local", client="desk")),
        ({"client": "desk"}, {}, {"x_client_id": "desk"}, Caller(user="local", client="desk")),
        ({"user": "ana"}, {}, {"x_api_key": "elf_bot"}, BOT),
    ],
)
async def test_in_mode_off_the_config_names_who_calls_without_a_name(
    context: Mapping[str, str], defaults: Mapping[str, str], sent: Mapping[str, str], caller: Caller
) -> None:
    _, (who,) = await ask(Callers(config_with(context=context, **defaults), by_name), **sent)
    assert who.caller == caller


@pytest.mark.parametrize(
    ("sent", "what"),
    [
        ({"authorization": "Bearer bea"}, "one user"),
        ({"x_client_id": "phone"}, "one client"),
        ({"x_api_key": "elf_bot"}, "one client"),
    ],
)
async def test_another_than_the_fixed_one_is_not_served(sent: Mapping[str, str], what: str) -> None:
    callers = Callers(config_with(context={"user": "ana", "client": "desk"}), by_name)
    exchange, seen = await ask(callers, **sent)
    assert (exchange.status, seen) == (403, [])
    assert what in exchange.body["error"]["message"]


async def test_with_keys_required_nobody_is_named_by_the_config() -> None:
    config = config_with(auth={"mode": "required", "keys": KEYS}, user="ana")
    _, (who,) = await ask(Callers(config, by_name))
    assert who.caller.user == "local"
    assert list(who.headers) == []


@pytest.mark.parametrize(
    ("acts", "sent", "added"),
    [
        (False, {}, {}),
        (True, {}, {"Authorization": "Bearer ana"}),
        (True, {"x_user_id": "bea"}, {"X-User-ID": "bea"}),
    ],
)
async def test_a_default_user_takes_the_place_of_none_that_a_key_has(
    acts: bool, sent: Mapping[str, str], added: Mapping[str, str]
) -> None:
    config = config_with(auth={"keys": [{**KEYS[0], "acts_for_users": acts}]}, user="ana")
    _, (who,) = await ask(Callers(config, by_name), x_api_key="elf_bot", **sent)
    assert dict(who.headers) == {"X-API-Key": "elf_bot", **added}


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return written(tmp_path / "bot.key", "elf_bot\n")


def written(file: Path, key: str, mode: int = 0o600) -> Path:
    file.write_text(key)
    file.chmod(mode)
    return file


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ({}, {"X-API-Key": "elf_bot", "X-User-ID": "ana"}),
        ({"keys": KEYS}, {"X-API-Key": "elf_bot", "Authorization": "Bearer ana"}),
        ({"mode": "required", "keys": KEYS}, {"X-API-Key": "elf_bot", "X-User-ID": "ana"}),
    ],
)
async def test_at_standard_input_the_config_says_who_it_is(
    key_file: Path, auth: Mapping[str, Any], sent: Mapping[str, str]
) -> None:
    config = config_with(auth=auth, context={"user": "ana", "key_file": str(key_file)})
    who = await Callers(config, by_name).of_config(source="elf.toml")
    assert dict(who.headers) == sent
    assert who.caller == BOT


async def test_at_standard_input_a_client_is_named_in_mode_off() -> None:
    who = await Callers(config_with(context={"client": "desk"}), by_name).of_config(source="elf.toml")
    assert dict(who.headers) == {"X-Client-ID": "desk"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read"),
        ("", "is empty"),
        ("two words", "holds no key"),
        ("elf_other", "is not known"),
    ],
)
async def test_a_key_file_without_the_key_is_a_fault_that_does_not_show_it(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    file = tmp_path / "bot.key"
    if content is not None:
        written(file, content)
    config = config_with(auth={"keys": KEYS}, context={"key_file": str(file)})
    with pytest.raises(ConfigError) as caught:
        await Callers(config, by_name).of_config(source="elf.toml")
    (fault,) = caught.value.faults
    assert fault.key == "mcp.context.key_file"
    assert problem in fault.problem
    assert "words" not in str(caught.value)


async def test_the_keys_may_be_in_another_config(key_file: Path) -> None:
    config = config_with(context={"key_file": str(written(key_file, "elf_of_another_machine"))})
    who = await Callers(config, by_name).of_config(source="elf.toml")
    assert (who.caller, who.headers["X-API-Key"]) == (ANONYMOUS, "elf_of_another_machine")


async def test_where_keys_are_required_standard_input_needs_one() -> None:
    config = config_with(auth={"mode": "required", "keys": KEYS})
    with pytest.raises(ConfigError, match=r"mcp\.context\.key_file: is missing"):
        await Callers(config, by_name).of_config(source="elf.toml")


async def test_a_key_file_that_others_may_read_is_told(key_file: Path) -> None:
    for mode, told in ((0o600, []), (0o644, ["mcp.key_file_open_to_others"])):
        config = config_with(context={"key_file": str(written(key_file, "elf_bot", mode))})
        with capture_logs() as logs:
            await Callers(config, by_name).of_config(source="elf.toml")
        assert [line["event"] for line in logs] == told
        assert "elf_bot" not in json.dumps(logs)
