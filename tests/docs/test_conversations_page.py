"""docs/conversations.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from annotated_types import Le

from elf.client.families.conversations import ConversationsClient
from elf.client.family import methods_of
from elf.config.tables.conversations import Bounds, ConversationsTable
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.manifest import CONVERSATIONS
from tests.folders import fresh_folder
from tests.readme import Block, blocks
from tests.system.service import RunningService, write_config

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conversations.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def own(page: str, model_folder: Path) -> Iterator[RunningService]:
    """A service with what the page says to put into the config."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        roles = "".join(block.text for block in blocks(page) if block.language == "toml")
        assert roles
        config.write_text(f"{config.read_text(encoding='utf-8')}\n{roles}", encoding="utf-8")
        with RunningService(config) as service:
            yield service


def test_the_commands_and_programs_of_the_page_do_what_it_says(page: str, own: RunningService) -> None:
    here = {"http://127.0.0.1:8765": own.url, "127.0.0.1:8768": own.grpc_address}
    known: dict[str, Any] = {}
    try:
        type_all(blocks(page), here)
        run_all(blocks(page), here, known)
    finally:
        for one in known.values():
            if isinstance(one, ConversationsClient):
                one._client.close()


def type_all(page: Sequence[Block], here: Mapping[str, str]) -> None:
    """Type the commands; each prints an answer, and none of them an error."""
    for block in page:
        if block.language == "sh":
            typed = subprocess.run(
                ["bash", "-ec", in_place(block.text, here)], capture_output=True, text=True, check=True
            )
            answers = [*objects(typed.stdout)]
            assert answers
            assert [answer for answer in answers if "error" in answer] == []


def objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects that stand one behind the other."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        yield value


def run_all(page: Sequence[Block], here: Mapping[str, str], known: dict[str, Any]) -> None:
    """Run the programs one after the other, each followed by what it prints."""
    shown = [block for block in page if block.language in ("python", "text")]
    for program, printed in zip(shown[::2], shown[1::2], strict=True):
        assert (program.language, printed.language) == ("python", "text")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(in_place(program.text, here), str(PAGE), "exec"), known)
        assert out.getvalue() == printed.text, program.text


def in_place(text: str, here: Mapping[str, str]) -> str:
    """Put the addresses of this service in."""
    for told, meant in here.items():
        text = text.replace(told, meant)
    return text


def test_the_page_names_every_operation_rpc_method_and_tool(page: str) -> None:
    named = {*re.findall(r"`([A-Z]+) ([/{][A-Za-z1/{}-]+)`", page)}
    for operation in CONVERSATIONS.operations:
        path = operation.path.removeprefix("/v1/admin").replace("/v1/conversations/{conversationId}", "{C}")
        assert (operation.method, path) in named, operation.name
    rpcs = {rpc for service in pb.DESCRIPTOR.services_by_name.values() for rpc in service.methods_by_name}
    assert rpcs - {*re.findall(r"`([A-Za-z]+)`", page)} == set()
    words = {*re.findall(r"`([a-z_]+)`", page)}
    assert methods_of(ConversationsClient).keys() - words == set()
    assert {tool.name for tool in CONVERSATIONS.tools} - words == set()


def test_the_page_has_the_defaults_of_the_config(page: str) -> None:
    table = ConversationsTable()
    for key, value in table:
        if value is not table.bounds:
            assert f"| `{key}` | {json.dumps(value)} |" in page, key


def test_the_page_has_the_bounds_and_how_far_each_is_raised(page: str) -> None:
    for key, field in Bounds.model_fields.items():
        (most,) = (mark.le for mark in field.metadata if isinstance(mark, Le))
        assert f"| `{key}` | {field.default} | {most} |" in page, key
