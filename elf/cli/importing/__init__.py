"""`elf import`: a file of notes, one JSON object a line, written in batches."""

from elf.cli.importing.command import run

__all__ = ["run"]
