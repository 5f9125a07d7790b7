"""docs/claude-memory-tool.md, run as one program with a model that is played: it prints what the page says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from anthropic import Anthropic

from elf.client.families.assistant.filing import Filing
from elf.client.family import methods_of
from elf.families.assistant.api.files import FILES, PATH
from tests.adapters.fake_claude import fake_claude, says, uses
from tests.db.assistant.assistant_kit import assistant_config, served_beside_the_others
from tests.folders import fresh_folder
from tests.pages import DOCS, Page

PAGE = "claude-memory-tool.md"
DRINKS = "/memories/ana/drinks.md"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with fresh_folder() as folder, served_beside_the_others(assistant_config(Path(folder))) as url:
        yield url


def test_the_programs_and_commands_of_the_page_do_what_it_says(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key that nobody asks for")
    page = Page(PAGE, {"http://127.0.0.1:8765": address, "pip install 'elf-memory[anthropic]'": "true"})
    with fake_claude(
        [uses(1, command="view", path=DRINKS)],
        [uses(2, command="create", path=DRINKS, file_text="Ana prefers tea to coffee.\n")],
        [says("I have noted that you prefer tea.")],
    ) as claude:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.url)
        printed: list[str] = []
        page.type_all(printed.append)
        model = page.known["claude"]
        assert isinstance(model, Anthropic)
        model.close()
    assert claude.tools == [{"type": "memory_20250818", "name": "memory"}]
    missing, made = (one[0] for one in claude.heard[1:])
    assert (missing["is_error"], missing["content"]) == (
        True,
        f"The path {DRINKS} does not exist. Please provide a valid path.",
    )
    assert (made.get("is_error"), made["content"]) == (None, f"File created successfully at: {DRINKS}")
    assert json.loads(printed[-1])["text"].endswith(f"\t{DRINKS}")


def test_the_page_names_every_operation_and_method() -> None:
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    words = {*re.findall(r"`([a-z_]+)`", page)}
    own = {name for name, one in vars(Filing).items() if name in methods_of(Filing)}
    assert own - words == set()
    named = {*re.findall(r"`(?:GET|POST)( /[a-z_]+)?`", page)}
    assert {operation.path.removeprefix(PATH) for operation in FILES} == {one.strip() for one in named}
