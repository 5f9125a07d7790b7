"""How commands are added to the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

from elf.cli.credentials import KEY, KEY_FILE

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 the service rejected something, 2 wrong usage or config, "
    "3 the service cannot be reached or is not available, 130 stopped by Ctrl-C."
)
CONFIG_HELP: Final = "the config file (default: elf.toml in this folder, else the one of the installation)"
KEY_HELP: Final = (
    f"a file with the key that says who calls (default: that of {KEY_FILE}, else the key {KEY} itself)"
)


class Parser(argparse.ArgumentParser):
    """A parser that makes the commands below it when they are needed.

    All families together have 150, and making them takes longer than most commands run.
    """

    below: Callable[[Commands], None] | None = None

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """Parse as argparse does, which calls this for a command as well as for the whole command line."""
        self.complete()
        return super().parse_known_args(*args, **kwargs)

    def complete(self) -> None:
        """Make the commands below it, unless they are made."""
        below, self.below = self.below, None
        if below is not None:
            below(Commands(self))


class Commands:
    """The commands of a parser, or those below one of them."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(
            title="commands", metavar="COMMAND", required=True, parser_class=Parser
        )

    def add(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        does: str,
        *,
        needs: Literal["service", "config", "nothing"] = "service",
    ) -> argparse.ArgumentParser:
        """Add a command that runs a function of the parsed options, which returns the exit code.

        What needs the service has flags that say where it is and who calls, what needs a config only the former.
        """
        added = self._parsers.add_parser(
            name, help=does, description=f"{does[0].upper()}{does[1:]}.", epilog=EXIT_CODES
        )
        if needs != "nothing":
            added.add_argument("-c", "--config", type=Path, metavar="FILE", help=CONFIG_HELP)
        if needs == "service":
            added.add_argument("--key-file", type=Path, metavar="FILE", help=KEY_HELP)
        added.set_defaults(run=run)
        return added

    def group(self, name: str, about: str, below: Callable[[Commands], None]) -> None:
        """Add a command that has others below it, which `below` adds when they are needed."""
        self._parsers.add_parser(name, help=about, epilog=EXIT_CODES).below = below
