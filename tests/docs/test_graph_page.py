"""docs/graph.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from elf.client.families.graph import GraphClient
from elf.client.family import methods_of
from elf.config.table import Table
from elf.config.tables.graph import GraphTable
from elf.families.graph.manifest import GRAPH
from tests.folders import fresh_folder
from tests.pages import DOCS, Page
from tests.readme import blocks
from tests.system.service import RunningService, write_config

PAGE = "graph.md"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / PAGE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def own(page: str, model_folder: Path) -> Iterator[RunningService]:
    """A service with what the page says to put into the config."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        added = "".join(block.text for block in blocks(page) if block.language == "toml")
        assert added
        config.write_text(f"{config.read_text(encoding='utf-8')}\n{added}", encoding="utf-8")
        with RunningService(config) as service:
            yield service


def test_the_programs_and_commands_of_the_page_do_what_it_says(own: RunningService) -> None:
    here = {"http://127.0.0.1:8765": own.url, ".elf/graph": str(own.config.parent / ".elf" / "graph")}
    Page(PAGE, here).type_all(_finds_the_office)


def _finds_the_office(printed: str) -> None:
    (node,) = json.loads(printed)["nodes"]
    assert node["memory"]["memoryId"] == "office"


def test_the_page_names_every_operation_method_and_tool(page: str) -> None:
    named = {*re.findall(r"`(?:[A-Z]+ )?(/[a-z_/{}]+)`", page)}
    for operation in (*GRAPH.operations, *GRAPH.admin_operations):
        path = operation.path.removeprefix("/v1/admin/graph").removeprefix("/v1/graph")
        assert path in named, operation.name
    words = {*re.findall(r"`([a-z_]+)`", page)}
    assert methods_of(GraphClient).keys() - words == set()
    assert {tool.name for tool in GRAPH.tools} - words == set()


def test_the_page_has_the_defaults_of_the_config(page: str) -> None:
    for key, value in GraphTable():
        if isinstance(value, Table):
            told = ", ".join(f"`{name}` {json.dumps(one)}" for name, one in value)
            assert f"| `{key}` | | {told}" in page, key
        elif not isinstance(value, dict | list):
            assert f"| `{key}` | {json.dumps(value)} |" in page, key
