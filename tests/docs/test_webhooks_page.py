"""docs/webhooks.md, run as one program, with the very table that it shows."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from elf.config.webhooks import Webhook
from tests.folders import fresh_folder
from tests.pages import DOCS, Page
from tests.system.service import RunningService, write_config

PAGE = "webhooks.md"
ADDRESS = "127.0.0.1:9000"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / PAGE).read_text(encoding="utf-8")


def test_the_programs_of_the_page_do_what_it_says(page: str, model_folder: Path) -> None:
    with fresh_folder() as folder, socket.socket() as claim:
        claim.bind(("127.0.0.1", 0))
        port = claim.getsockname()[1]
        claim.close()
        (table,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        shown = table.replace(ADDRESS, f"127.0.0.1:{port}")
        config.write_text(f"{config.read_text()}\n{shown}")
        with RunningService(config) as service:
            here = {"http://127.0.0.1:8765": service.url, '("127.0.0.1", 9000)': f'("127.0.0.1", {port})'}
            Page(PAGE, here).type_all()


def test_the_page_says_after_how_many_attempts_an_event_is_given_up(page: str) -> None:
    assert f"`attempts`, {Webhook.model_fields['attempts'].default} by default" in page
