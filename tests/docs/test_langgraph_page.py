"""docs/langgraph.md, run as one program: it prints what the page says, and the page names all methods of a saver."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elf.client import Client
from elf.langgraph import ElfSaver
from tests.db.assistant.assistant_kit import served_beside_the_others
from tests.folders import fresh_folder
from tests.readme import blocks
from tests.system.service import write_config

PAGE = Path(__file__).resolve().parents[2] / "docs" / "langgraph.md"
TOLD_ADDRESS = "http://127.0.0.1:8765"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with fresh_folder() as folder, served_beside_the_others(write_config(Path(folder))) as url:
        yield url


def test_the_programs_of_the_page_print_what_it_says(address: str) -> None:
    known: dict[str, Any] = {}
    programs: list[str] = []
    try:
        for block in blocks(PAGE.read_text(encoding="utf-8")):
            if block.language == "python":
                programs.append(block.text.replace(TOLD_ADDRESS, address))
            elif block.language == "text":
                (program,) = programs
                assert _printed(program, known) == block.text, program
                programs.clear()
    finally:
        if isinstance(client := known.get("memory"), Client):
            client.close()
    assert programs == []


def _printed(program: str, known: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(program, str(PAGE), "exec"), known)
    return out.getvalue()


def test_the_page_names_every_method_of_the_saver() -> None:
    words = {*re.findall(r"`([a-z_]+)`", PAGE.read_text(encoding="utf-8"))}
    own = {name for name in vars(ElfSaver) if not name.startswith("_")} - {"user_id", "get_next_version"}
    assert {name for name in own if name not in words and name.removeprefix("a") not in words} == set()
