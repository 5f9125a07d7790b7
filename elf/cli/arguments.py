"""The arguments of every command."""

from __future__ import annotations

import argparse
import importlib.metadata
from pathlib import Path

from elf.cli import check, up


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(prog="elf", description="ELF: evidence-linked fact memory for agents.")
    root.add_argument("--version", action="version", version=f"elf {importlib.metadata.version('elf-memory')}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, help_text, run in (("up", "run the service", up.run), ("check", "check a config file", check.run)):
        command = commands.add_parser(name, help=help_text)
        command.add_argument("-c", "--config", type=Path, required=True, metavar="FILE", help="the config file")
        command.set_defaults(run=run)
    return root
