"""docs/knowledge.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from elf.client import Client
from elf.client.families.knowledge import KnowledgeClient
from elf.client.family import methods_of
from elf.config.tables.knowledge import KnowledgeTable
from elf.families.knowledge.manifest import KNOWLEDGE
from elf.families.knowledge.model import DECAY_RATES
from tests.readme import Block, blocks
from tests.system.service import RunningService

PAGE = Path(__file__).resolve().parents[2] / "docs" / "knowledge.md"


@pytest.fixture
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_programs_of_the_page_print_what_it_says(page: str, service: RunningService, tenant: str) -> None:
    here = {
        "http://127.0.0.1:8765": service.url,
        "http://127.0.0.1:8767": service.admin_url,
        '"acme"': repr(tenant),
    }
    known: dict[str, Any] = {}
    try:
        run_all(blocks(page), here, known)
    finally:
        for client in known.values():
            if isinstance(client, Client):
                client.close()


def run_all(page: Sequence[Block], here: Mapping[str, str], known: dict[str, Any]) -> None:
    """Run the programs one after the other, each followed by what it prints."""
    shown = [block for block in page if block.language in ("python", "text")]
    for program, printed in zip(shown[::2], shown[1::2], strict=True):
        assert (program.language, printed.language) == ("python", "text")
        text = program.text
        for told, meant in here.items():
            text = text.replace(told, meant)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, str(PAGE), "exec"), known)
        assert out.getvalue() == printed.text, program.text


def test_the_page_names_every_operation_method_and_tool(page: str) -> None:
    paths = {*re.findall(r"(?<=[` ])(/[a-z_{}/]+)(?=`)", page)}
    for operation in KNOWLEDGE.operations:
        assert operation.path.removeprefix("/v1/knowledge") in paths, operation.name
    for operation in KNOWLEDGE.admin_operations:
        assert operation.path.removeprefix("/v1/admin/knowledge") in paths, operation.name
    named = {*re.findall(r"`([a-z_]+)`", page)}
    assert {tool.name for tool in KNOWLEDGE.tools} - named == set()
    assert methods_of(KnowledgeClient).keys() - named == set()


def test_the_page_has_the_defaults_of_the_config(page: str) -> None:
    config = KnowledgeTable()
    tables = [config, config.retrieval, config.retrieval.score_weights, config.consolidation]
    for table in tables:
        for key, value in table:
            if isinstance(value, int | float | str):
                written = f'"{value}"' if isinstance(value, str) else f"{value}"
                assert f"`{key}` {written}" in page, key
    for name, line in config.schedule:
        assert f"`{name}`" in page
        assert f"`{line}`" in page or f'"{line}"' in page
    for permanence, rate in DECAY_RATES.items():
        assert re.search(rf"^\| `{permanence}` \| {rate:g} \|", page, re.MULTILINE), permanence
