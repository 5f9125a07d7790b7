"""Which config file a command works on that names none: that of the folder it runs in, else the default."""

from __future__ import annotations

from pathlib import Path

from elf.cli.outcome import UsageError
from elf.config.example import example_file
from elf.core.errors import StartupError

NAME = "elf.toml"


def config_path() -> Path:
    """Return ./elf.toml, else the default config. Raises UsageError without either."""
    if (own := Path(NAME)).exists():
        return own
    try:
        return example_file()
    except StartupError as error:
        raise UsageError(
            f"there is no {NAME} in this folder, and the installation lacks its default config: "
            "name a config with -c FILE, or write one with `elf init`"
        ) from error
