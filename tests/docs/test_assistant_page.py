"""docs/assistant.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import json
import re

import pytest

from elf.client.families.assistant import AssistantClient
from elf.client.family import methods_of
from elf.config.table import Table
from elf.config.tables.assistant import AssistantTable
from elf.families.assistant.manifest import ASSISTANT
from tests.pages import DOCS, Page
from tests.system.service import RunningService

PAGE = "assistant.md"
OF_LISTS = {"categories", "allowlists"}


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / PAGE).read_text(encoding="utf-8")


def test_the_programs_and_commands_of_the_page_do_what_it_says(service: RunningService) -> None:
    here = {"http://127.0.0.1:8765": service.url, "http://127.0.0.1:8767": service.admin_url}
    Page(PAGE, here).type_all(_finds_tea)


def _finds_tea(printed: str) -> None:
    (item,) = json.loads(printed)["items"]
    assert item["text"] == "[preferences] User prefers green tea over coffee."


def test_the_page_names_every_operation_method_and_tool(page: str) -> None:
    named = {*re.findall(r"`(?:[A-Z]+ )?(/[a-z_/{}]+)`", page)}
    for operation in (*ASSISTANT.operations, *ASSISTANT.admin_operations):
        path = operation.path.removeprefix("/v1/admin/assistant").removeprefix("/v1/assistant")
        assert path in named, operation.name
    words = {*re.findall(r"`([a-z_]+)`", page)}
    assert methods_of(AssistantClient).keys() - words == set()
    assert {tool.name for tool in ASSISTANT.tools} - words == set()


def test_the_page_has_the_defaults_of_the_config(page: str) -> None:
    for key, value in AssistantTable():
        if key in OF_LISTS:
            continue
        if isinstance(value, Table):
            assert ", ".join(f"`{name}` {json.dumps(one)}" for name, one in value) in page, key
        else:
            assert f"| `{key}` | {json.dumps(value)} |" in page, key
