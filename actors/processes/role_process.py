"""The processes `elf-api` and `elf-worker`: one role each, whatever [processes] says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from actors.processes.entry import entry_parser, run_entry
from actors.system import run
from elf.config import load

_DESCRIPTIONS: Final = {
    "api": "Serve the HTTP API at service.http_bind and the admin front at service.admin_bind of the config. Notes are "
    "found once an elf-worker has indexed them.",
    "worker": "Index the notes that are written, store what searches did and the API could not, collect what is "
    "expired. It listens at no port.",
}


def main(role: Literal["api", "worker"], argv: Sequence[str] | None = None) -> int:
    """Run the process of a role; `argv` is without the program's name and defaults to this process's own.

    Returns the exit code.
    """
    prog = f"elf-{role}"
    options = entry_parser(prog, _DESCRIPTIONS[role]).parse_args(argv)
    return run_entry(prog, lambda: run(load(options.config), source=str(options.config), roles={role}))
