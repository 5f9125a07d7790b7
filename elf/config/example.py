"""The example config that comes with ELF: the embedded default."""

from __future__ import annotations

from pathlib import Path

from elf.config.load import EXAMPLE, PACKAGED, loads
from elf.config.model import Config
from elf.core.errors import StartupError


def example_file() -> Path:
    """Return the file: in the package `elf` of an installed wheel, or beside it in a checkout.

    Raises StartupError when there is neither.
    """
    for path in (PACKAGED, PACKAGED.parent.parent / EXAMPLE):
        if path.is_file():
            return path
    raise StartupError(f"the example config of ELF is missing: there is no {PACKAGED}")


def example_config(folder: Path) -> Config:
    """Return the example config with its data below `folder`. Raises StartupError, ConfigError."""
    path = example_file()
    return loads(path.read_text(encoding="utf-8"), source=str(path), folder=folder)
