"""docs/recall.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import json
import re

import pytest

from elf.client.families.memories import MemoriesClient
from elf.client.family import methods_of
from elf.memory.api.recalling import LeftOut, RecallAnswer, RecalledItem, RecallMemory
from elf.memory.manifest import MEMORY
from tests.pages import DOCS, Page
from tests.system.service import RunningService

PAGE = "recall.md"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / PAGE).read_text(encoding="utf-8")


def test_the_programs_and_commands_of_the_page_do_what_it_says(service: RunningService, tenant: str) -> None:
    here = {"http://127.0.0.1:8765": service.url, '"acme"': f'"{tenant}"'}
    Page(PAGE, here).type_all(_prefers_tea)


def _prefers_tea(printed: str) -> None:
    (item,) = json.loads(printed)["items"]
    assert item["text"] == "User prefers green tea over coffee."


def test_the_page_names_every_operation_method_tool_and_field(page: str) -> None:
    paths = {*re.findall(r"`(?:[A-Z]+ )?(/[A-Za-z0-9_/{}]+)`", page)}
    assert {operation.path for operation in MEMORY.operations} - paths == set()
    words = {*re.findall(r"`([a-z_]+)`", page)}
    assert methods_of(MemoriesClient).keys() - words == set()
    assert {tool.name for tool in MEMORY.tools} - words == set()
    fields = (
        RecallMemory.model_fields.keys() | RecalledItem.model_fields.keys() | RecallAnswer.model_fields.keys()
    )
    assert fields - words == {"query", "trace_id"}
    assert LeftOut.model_fields.keys() <= words | {"reason"}
