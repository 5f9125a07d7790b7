"""docs/assistant.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from elf.client import Client
from elf.client.families.assistant import AssistantClient
from elf.client.family import methods_of
from elf.config.table import Table
from elf.config.tables.assistant import AssistantTable
from elf.families.assistant.manifest import ASSISTANT
from tests.readme import blocks
from tests.system.service import RunningService

PAGE = Path(__file__).resolve().parents[2] / "docs" / "assistant.md"
OF_LISTS = {"categories", "allowlists"}


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_programs_and_commands_of_the_page_do_what_it_says(page: str, service: RunningService) -> None:
    here = {"http://127.0.0.1:8765": service.url, "http://127.0.0.1:8767": service.admin_url}
    known: dict[str, Any] = {}
    programs: list[str] = []
    with contextlib.ExitStack() as opened:
        for block in blocks(page):
            if block.language == "python":
                programs.append(block.text)
            elif block.language == "text":
                (program,) = programs
                assert _printed(program, here, known) == block.text, program
                programs.clear()
            elif block.language == "sh":
                _type(block.text, here)
            for client in [one for one in known.values() if isinstance(one, Client)]:
                opened.callback(client.close)
    assert programs == []


def _printed(program: str, here: Mapping[str, str], known: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(_in_place(program, here), str(PAGE), "exec"), known)
    return out.getvalue()


def _type(command: str, here: Mapping[str, str]) -> None:
    typed = subprocess.run(
        ["bash", "-ec", _in_place(command, here)], capture_output=True, text=True, check=True
    )
    (item,) = json.loads(typed.stdout)["items"]
    assert item["text"] == "[preferences] User prefers green tea over coffee."


def _in_place(text: str, here: Mapping[str, str]) -> str:
    """Put the addresses of this service in."""
    for told, meant in here.items():
        text = text.replace(told, meant)
    return text


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
