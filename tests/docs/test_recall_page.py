"""The pages of the one memory, each run as one program: it prints what it says, and they name all that is offered."""

from __future__ import annotations

import json
import re
from uuid import uuid4

import pytest

from elf.client.families.memories import MemoriesClient
from elf.client.family import methods_of
from elf.memory.api.context import Citation, ContextAnswer, ContextOfMemory
from elf.memory.api.recalling import LeftOut, RecallAnswer, RecalledItem, RecallMemory
from elf.memory.api.remembering import InFamily, MessageSaid, Remembered, RememberMessages, WrittenItem
from elf.memory.manifest import MEMORY
from tests.pages import DOCS, Page
from tests.system.service import RunningService

PAGES = ("recall.md", "remembering.md")


@pytest.fixture(scope="module")
def pages() -> str:
    return "\n".join((DOCS / name).read_text(encoding="utf-8") for name in (*PAGES, "forgetting.md"))


def test_the_programs_and_commands_of_recall_do_what_it_says(service: RunningService, tenant: str) -> None:
    here = {"http://127.0.0.1:8765": service.url, '"acme"': f'"{tenant}"'}
    Page("recall.md", here).type_all(_prefers_tea)


def test_the_programs_and_commands_of_remembering_do_what_it_says(service: RunningService) -> None:
    here = {"http://127.0.0.1:8765": service.url, '"ana"': f'"user-{uuid4().hex}"'}
    Page("remembering.md", here).type_all(_shows_the_move)


def _prefers_tea(printed: str) -> None:
    (item,) = json.loads(printed)["items"]
    assert item["text"] == "User prefers green tea over coffee."


def _shows_the_move(printed: str) -> None:
    answer = json.loads(printed)
    assert {one["family"]: one["state"] for one in answer["families"]} == {
        "conversations": "shown", "notes": "shown", "assistant": "shown",
    }  # fmt: skip


def test_the_pages_name_every_operation_method_tool_and_field(pages: str) -> None:
    paths = {*re.findall(r"`(?:[A-Z]+ )?(/[A-Za-z0-9_/{}]+)`", pages)}
    assert {operation.path for operation in MEMORY.operations} - paths == set()
    words = {*re.findall(r"`([a-z_]+)`", pages)}
    assert methods_of(MemoriesClient).keys() - words == set()
    assert {tool.name for tool in MEMORY.tools} - words == set()
    shapes = (RecallMemory, RecalledItem, RecallAnswer, ContextOfMemory, ContextAnswer, Citation)
    fields = {name for shape in shapes for name in shape.model_fields}
    assert fields - words == set()
    said = (MessageSaid, RememberMessages, Remembered, InFamily, WrittenItem)
    assert {name for shape in said for name in shape.model_fields} - words == set()
    assert LeftOut.model_fields.keys() <= words | {"reason"}
