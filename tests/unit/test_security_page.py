"""docs/SECURITY.md: the configs that it shows load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elf.config import loads

ROOT = Path(__file__).resolve().parents[2]
SHOWN = re.findall(
    r"```toml\n(.*?)```", (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.parametrize("shown", SHOWN)
def test_a_config_that_the_page_shows_loads(shown: str) -> None:
    example = (ROOT / "elf.example.toml").read_text(encoding="utf-8")
    own = re.compile(r"^\[security\.auth\]\n(?:.*\n)*?(?=^\[)", re.MULTILINE)
    assert loads(own.sub("", example) + shown, source="elf.toml").security.auth.mode == "required"


def test_the_page_shows_keys_and_an_issuer() -> None:
    assert [*map(len, (re.findall(r"(?m)^\[\[?security", shown) for shown in SHOWN))] == [2, 3]
