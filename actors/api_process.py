"""The process `elf-api`: the HTTP API and the admin front, without what works behind them."""

from __future__ import annotations

from collections.abc import Sequence

from actors.entry import entry_parser, run_entry
from actors.system import run
from elf.config import load


def main(argv: Sequence[str] | None = None) -> int:
    """Run `elf-api`; `argv` is without the program's name and defaults to the process's own. Returns the exit code."""
    parser = entry_parser(
        "elf-api",
        "Serve the HTTP API at service.http_bind and the admin front at service.admin_bind of the config. Notes are "
        "found once an elf-worker has indexed them.",
    )
    options = parser.parse_args(argv)
    return run_entry("elf-api", lambda: run(load(options.config), source=str(options.config), roles={"api"}))
