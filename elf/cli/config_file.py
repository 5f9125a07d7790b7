"""Which config file a command works on: the one that -c names, else that of the folder it runs in, else the default."""

from __future__ import annotations

from pathlib import Path

from elf.cli.outcome import UsageError
from elf.config.example import example_file
from elf.core.errors import StartupError

NAME = "elf.toml"


def config_path(given: Path | None) -> Path:
    """Return the file that was named, else ./elf.toml, else the default config. Raises UsageError without any."""
    if given is not None:
        return given
    if (own := Path(NAME)).exists():
        return own
    try:
        return example_file()
    except StartupError as error:
        raise UsageError(
            f"there is no {NAME} in this folder, and the installation lacks its default config: "
            "name a config with -c FILE, or write one with `elf init`"
        ) from error
