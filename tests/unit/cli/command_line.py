"""Running the command line in the tests' own process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from elf.cli import main
from elf.client.family import FamilyClient


class Outcome(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass
class CommandLine:
    """Calls `main` with a config file; a command of a family is called by its two words."""

    config: Path
    capsys: pytest.CaptureFixture[str]
    families: Sequence[type[FamilyClient[Any]]] = ()

    def __call__(self, command: str, *arguments: str) -> Outcome:
        try:
            code = main([*command.split(), "-c", str(self.config), *arguments], self.families)
        except SystemExit as ended:  # how argparse ends a wrong command line
            code = int(ended.code or 0)
        printed = self.capsys.readouterr()
        return Outcome(code, printed.out, printed.err)
