"""docs/memory.md, docs/which-family.md and docs/store.md, each run as a program, and whether they name all there is."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from actors.families import FAMILIES
from elf.client.memory.verb import Verb
from elf.client.memory.verbs import Verbs
from tests.pages import DOCS, Page
from tests.system.service import RunningService

PAGES = ("memory.md", "which-family.md", "store.md")


OVER_ALL = ("memories", "webhooks")
"""What keeps no memory of its own."""


@pytest.mark.parametrize("name", PAGES)
def test_the_programs_of_a_page_print_what_it_says(name: str, service: RunningService) -> None:
    here = {
        "http://127.0.0.1:8765": service.url,
        '"acme"': f'"t-{uuid4()}"',  # such a name is one of a folder, too
        '"ana"': f'"ana-{uuid4()}"',
        '"bob"': f'"bob-{uuid4()}"',
    }
    Page(name, here).type_all()


def test_the_page_of_the_memory_names_every_verb() -> None:
    words = set(re.findall(r"`([a-z_]+)(?:\(.*?\))?`", (DOCS / "memory.md").read_text(encoding="utf-8")))
    assert {name for name, one in vars(Verbs).items() if isinstance(one, Verb)} - words == set()


def test_the_page_of_families_has_a_row_for_each_with_its_page() -> None:
    rows = re.findall(
        r"^\| ([a-z]+) \|.*\| `([a-z]+\.md)` \|$",
        (DOCS / "which-family.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert dict(rows) == {
        family.name: f"{family.name}.md" for family in FAMILIES if family.name not in OVER_ALL
    }
    assert all((DOCS / page).is_file() for _, page in rows)
