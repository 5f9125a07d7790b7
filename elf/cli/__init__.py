"""The command line `elf`: `up` and `check` work on a config file, everything else is a thin HTTP client."""

from elf.cli.dispatch import main

__all__ = ["main"]
