"""What the commands that run one kind of process share: their arguments, and their exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from actors.kernel.failure import ActorGaveUp
from elf.core.errors import ConfigError, StartupError
from elf.core.log_writer import write_in_background

USAGE, UNAVAILABLE = 2, 3  # exit codes, the same as those of the command line `elf`


def entry_parser(prog: str, description: str) -> argparse.ArgumentParser:
    """Return a parser that knows -c FILE, as `config`."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog=f"exit codes: 0 done, {USAGE} wrong usage or config, {UNAVAILABLE} it cannot be started",
    )
    parser.add_argument("-c", "--config", type=Path, required=True, metavar="FILE", help="the config file")
    return parser


def run_entry(prog: str, act: Callable[[], int]) -> int:
    """Do what a command does and return its exit code; what keeps it from starting is said in one line."""
    write_in_background("stderr")
    try:
        return act()
    except ConfigError as error:
        return _fail(f"{prog}: {error}", USAGE)
    except StartupError as error:
        return _fail(f"{prog}: {error}", UNAVAILABLE)
    except ActorGaveUp as error:
        return _fail(f"{prog}: {error}: {error.__cause__}", UNAVAILABLE)


def _fail(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # noqa: T201 - a command line prints
    return code
