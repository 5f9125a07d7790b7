"""docs/knowledge.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import re

import pytest

from elf.client.families.knowledge import KnowledgeClient
from elf.client.family import methods_of
from elf.config.tables.knowledge import KnowledgeTable
from elf.families.knowledge.manifest import KNOWLEDGE
from elf.families.knowledge.model import DECAY_RATES
from tests.pages import DOCS, Page
from tests.system.service import RunningService

PAGE = "knowledge.md"


@pytest.fixture
def page() -> str:
    return (DOCS / PAGE).read_text(encoding="utf-8")


def test_the_programs_of_the_page_print_what_it_says(service: RunningService, tenant: str) -> None:
    here = {
        "http://127.0.0.1:8765": service.url,
        "http://127.0.0.1:8767": service.admin_url,
        '"acme"': repr(tenant),
    }
    Page(PAGE, here).type_all()


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
