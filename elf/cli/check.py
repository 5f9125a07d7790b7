"""`elf check`: say everything that is wrong with a config file, or that nothing is."""

from __future__ import annotations

import argparse

from elf.cli.outcome import ExitCode
from elf.cli.text import print_json
from elf.config import load
from elf.core.errors import ConfigError


def run(options: argparse.Namespace) -> int:
    """Check the file. With --json the faults are printed as data."""
    try:
        load(options.config)
    except ConfigError as error:
        if not options.json:
            raise
        faults = [{"key": fault.key, "problem": fault.problem} for fault in error.faults]
        print_json({"ok": False, "faults": faults})
        return ExitCode.USAGE
    if options.json:
        print_json({"ok": True, "faults": []})
    else:
        print(f"{options.config}: fine")
    return ExitCode.DONE
