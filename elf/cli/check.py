"""`elf check`: say everything that is wrong with a config file, or that nothing is."""

from __future__ import annotations

import argparse

from elf.cli.outcome import ExitCode
from elf.config import load


def run(options: argparse.Namespace) -> int:
    load(options.config)
    print(f"{options.config}: fine")
    return ExitCode.DONE
