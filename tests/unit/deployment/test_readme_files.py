"""What the README says of files: they are there, and what it says to paste into the config is fine there."""

from __future__ import annotations

import re
import tomllib

import pytest
from deployed import REPO

from elf.config import Config, loads
from tests.readme import README, Block, blocks

TEXT = README.read_text(encoding="utf-8")
SNIPPETS = [block.text for block in blocks(TEXT) if block.language == "toml"]


def pasted(snippet: str) -> str:
    """The example config with the lines of the snippet in place of those of the same keys in the same table."""
    heading, *lines = snippet.splitlines()
    before, found, after = (REPO / "elf.example.toml").read_text(encoding="utf-8").partition(f"\n{heading}\n")
    assert found, f"the example config has no {heading}"
    table, following, rest = after.partition("\n[")
    for line in lines:
        key = line.partition(" = ")[0]
        table, count = re.subn(rf"^{key} = .*$", lambda _, line=line: line, table, flags=re.MULTILINE)
        assert count == 1, f"{heading} of the example config has no line {key}"
    return f"{before}{found}{table}{following}{rest}"


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_of_the_config_is_fine_where_it_belongs(snippet: str) -> None:
    config = loads(pasted(snippet), source="elf.toml")
    assert isinstance(config, Config)
    ((_, tables),) = tomllib.loads(snippet).items()
    ((name, values),) = tables.items()
    found = getattr(config.providers, name)
    assert {key: getattr(found, key) for key in values} == values
    assert not found.is_local


def test_there_are_snippets_of_the_config() -> None:
    assert SNIPPETS


def test_all_that_is_named_is_there() -> None:
    named = re.findall(r"(?<![\w/])(?:docs|ops)/[\w./-]*\w", TEXT)
    assert [name for name in named if not (REPO / name).exists()] == []
    assert len(named) > 10


def test_every_page_is_named() -> None:
    assert [name for name in pages() if name not in TEXT] == []


def pages() -> list[str]:
    return [f"docs/{path.name}" for path in sorted((REPO / "docs").glob("*.md"))]


def test_blocks_say_their_language() -> None:
    assert Block("python", "x\n") in blocks("```python\nx\n```\n\n```sh\n```\n")
    assert TEXT.count("\n```") == 2 * len(blocks(TEXT))
