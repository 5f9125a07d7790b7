"""The command line of a family, against the service with all families."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from elf.cli import main
from elf.client.family import FamilyClient


class Ended(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class CommandLine:
    """Runs commands that are made from a family's client, in this process and for one tenant."""

    config: Path
    tenant: str
    capsys: pytest.CaptureFixture[str]

    def __call__(self, family: type[FamilyClient[Any]], verb: str, *arguments: str) -> Ended:
        command = [family.name, verb, *arguments, "-c", str(self.config), "--tenant", self.tenant]
        code = main(command, [family])
        printed = self.capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    def data(self, family: type[FamilyClient[Any]], verb: str, *arguments: str) -> Any:
        """Run a command that has to end well, and return its answer."""
        ended = self(family, verb, *arguments, "--json")
        assert (ended.code, ended.err) == (0, "")
        return json.loads(ended.out)
