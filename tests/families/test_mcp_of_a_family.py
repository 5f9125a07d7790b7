"""`elf-mcp --family`: the tools of one family on standard input and output."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from mcp import Client, StdioServerParameters

from actors.processes.mcp_process import main
from elf.api.tool import Tool
from elf.config.table import Table
from tests.families.every import PROOFS, Proof
from tests.families.served import FAMILIES, config_of_all
from tests.system.fork_server import fork_server
from tests.system.service import REPO, RunningService, write_config

pytestmark = pytest.mark.anyio


def command(config: Path, family: str) -> list[str]:
    """The command line of the process `elf-mcp` of a service with all families."""
    return fork_server().command(f"{__name__}:with_all", "-c", config, "--stdio", "--family", family)


def with_all() -> int:
    return main(families=FAMILIES)


def _asks_for_a_query(tool: Tool) -> bool:
    fields = tool.operation.request.model_fields
    return "query" in fields and fields["query"].is_required()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("proof", [one for one in PROOFS if one.family.tools], ids=lambda proof: proof.name)
async def test_its_tools_are_offered_and_ask_the_service(
    service: RunningService, proof: Proof, tmp_path: Path
) -> None:
    config = config_of_all(tmp_path, http_bind=f'"{urlsplit(service.url).netloc}"')
    program, *arguments = command(config, proof.name)
    async with Client(StdioServerParameters(command=program, args=arguments, cwd=REPO)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {tool.name for tool in proof.family.tools}
        (tool,) = (tool for tool in proof.family.tools if tool.read_only and _asks_for_a_query(tool))
        place = {
            "tenant_id": str(uuid4()), "project_id": "p", "agent_id": "supervisor", "orchestrator_id": "a",
            "agent": "supervisor",
        }  # fmt: skip
        known = {name: value for name, value in place.items() if name in tool.operation.request.model_fields}
        result = await client.call_tool(tool.name, {**known, "query": "a bear"})
        assert not result.is_error, result.content
        answered = json.loads(result.content[0].text).keys()
        assert set() < answered <= tool.operation.response.model_fields.keys()


def test_one_that_is_off_or_unknown_is_refused_with_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(tmp_path, http_bind='"127.0.0.1:8765"'))
    off = replace(FAMILIES[0], name="off", table=Table, operations=(), admin_operations=(), mcp="")
    assert main(["-c", config, "--stdio", "--family", "off"], [*FAMILIES, off]) == 2
    assert "off: this table is missing" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["-c", config, "--stdio", "--family", "none"], FAMILIES)
    assert "invalid choice: 'none'" in capsys.readouterr().err
