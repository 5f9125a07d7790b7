"""A service whose config has no [graph]: nothing of the family is there, and who asks for it is told so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from elf.client.families.graph.client import GraphClient
from tests.families.command_line import CommandLine
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config


@pytest.fixture(scope="module")
def without(model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        before, _, of_graph = config.read_text(encoding="utf-8").partition("\n[graph]\n")
        _, begins, after = of_graph.partition("\n[assistant]\n")
        text = before + begins + after
        assert "[graph" not in text
        assert begins
        config.write_text(text, encoding="utf-8")
        with RunningService(config) as service:
            yield service


def test_it_has_no_route_tool_metric_or_folder(without: RunningService) -> None:
    for client, path in ((without.client, "/v1/graph/recall"), (without.admin, "/v1/admin/graph/erase")):
        answer = client.post(path, json={"tenant_id": "t", "orchestrator_id": "o", "query": "office"})
        assert answer.status_code == 404, answer.text
        assert "/graph/" not in client.get("/openapi.json").text
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    accepts = {"accept": "application/json, text/event-stream"}
    assert (
        without.client.post(f"{without.mcp_url}/mcp/graph", json=initialize, headers=accepts).status_code
        == 404
    )
    assert "graph" not in without.admin.get("/metrics").text
    assert not (without.config.parent / ".elf" / "graph").exists()


def test_its_commands_say_that_the_service_has_none(
    without: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = without.config.read_text(encoding="utf-8")
    config = tmp_path / "elf.toml"
    address = without.url.removeprefix("http://")
    config.write_text(text.replace('http_bind = "127.0.0.1:0"', f'http_bind = "{address}"'), encoding="utf-8")
    run = CommandLine(config, "t", capsys)
    for verb, *words in (["list"], ["recall", "office"], ["status"]):
        ended = run(GraphClient, verb, *words, "--agent", "o")
        assert (ended.code, ended.out) == (1, "")
        assert "there is nothing at /v1/graph/" in ended.err
