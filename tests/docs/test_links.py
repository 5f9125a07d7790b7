"""Every link of README.md and docs/ leads somewhere: to a file of the repository, and to a heading of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import DOCS

REPO = DOCS.parent
PAGES = [REPO / "README.md", *sorted(DOCS.glob("*.md"))]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Files are also named as code: `docs/recall.md`, `ops/elf.scaled.toml`.
NAMED = re.compile(r"`((?:docs|ops|sql|elf|actors|tests)/[\w./@-]+\.\w+)(?:::\w+)?`")

# What a reader makes: the config of a composition of containers.
MADE_BY_READERS = frozenset({"ops/elf.toml"})


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as Markdown renderers make them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    dead = []
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_file_that_a_page_names_exists(page: Path) -> None:
    named = {path for path in NAMED.findall(page.read_text(encoding="utf-8")) if "NAME" not in path}
    assert [path for path in named - MADE_BY_READERS if not (REPO / path).exists()] == []


def test_the_readme_names_every_page() -> None:
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"docs/{page.name}" not in readme] == []
