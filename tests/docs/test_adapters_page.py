"""docs/adapters.md, run as one program: it prints what the page says, and the page names what is offered."""

from __future__ import annotations

import gc
import re
import tomllib

import pytest

from elf.llama_index import ElfMemoryBlock
from tests.pages import DOCS, Page
from tests.system.service import REPO, RunningService

PAGE = "adapters.md"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / PAGE).read_text(encoding="utf-8")


# LlamaIndex leaves the SQLite open that a memory has by default.
@pytest.mark.filterwarnings("ignore:.*aiosqlite:ResourceWarning")
@pytest.mark.filterwarnings("ignore:.*aiosqlite:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:.*Connection.__del__:pytest.PytestUnraisableExceptionWarning")
def test_the_programs_of_the_page_do_what_it_says(service: RunningService) -> None:
    Page(PAGE, {"http://127.0.0.1:8765": service.url}).type_all()
    gc.collect()


def test_the_page_names_every_extra_of_a_framework(page: str) -> None:
    extras = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {*re.findall(r"`elf-memory\[([a-z-]+)\]`", page)}
    assert named == extras.keys() - {"service", "dev", "grpc"}


def test_the_page_names_every_field_of_the_block(page: str) -> None:
    words = {*re.findall(r"`([a-z_]+)`", page)}
    assert ElfMemoryBlock.model_fields.keys() - words == set()
