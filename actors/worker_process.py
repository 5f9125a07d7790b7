"""The process `elf-worker`: what works behind the API. It listens at no port."""

from __future__ import annotations

from collections.abc import Sequence

from actors.entry import entry_parser, run_entry
from actors.system import run
from elf.config import load


def main(argv: Sequence[str] | None = None) -> int:
    """Run `elf-worker`; `argv` as that of `elf-api`. Returns the exit code."""
    parser = entry_parser(
        "elf-worker",
        "Index the notes that are written, store what searches did and the API could not, collect what is expired.",
    )
    options = parser.parse_args(argv)
    return run_entry(
        "elf-worker", lambda: run(load(options.config), source=str(options.config), roles={"worker"})
    )
