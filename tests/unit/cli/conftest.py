"""Fixtures for the command line: a fake service, a config that points at it, and a way to run commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import CommandLine
from fake_service import FakeService, running_service

EXAMPLE = Path(__file__).resolve().parents[3] / "elf.example.toml"


@pytest.fixture
def service() -> Iterator[FakeService]:
    with running_service() as service:
        yield service


@pytest.fixture
def elf(service: FakeService, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Run `elf COMMAND -c CONFIG ...` against the fake service."""
    config = tmp_path / "elf.toml"
    config.write_text(EXAMPLE.read_text().replace("127.0.0.1:8765", f"127.0.0.1:{service.port}"))
    return CommandLine(config, capsys)
