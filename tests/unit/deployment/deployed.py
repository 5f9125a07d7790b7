"""What is deployed: the files of ops/ as tests read them, and what their commands may be."""

from __future__ import annotations

import argparse
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from elf.cli.arguments import parser

REPO = Path(__file__).resolve().parents[3]
OPS = REPO / "ops"
PROJECT: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
SCRIPTS = frozenset(PROJECT["project"]["scripts"])
INSTALLED_CONFIG = "/etc/elf/elf.toml"


def assert_runs_elf(command: Sequence[str]) -> None:
    """Assert that a command is one of the project's, with arguments that it takes, on the config it is given there."""
    program, *arguments = command
    assert program in SCRIPTS
    if program == "elf":
        config: object = parser().parse_args(arguments).config
    else:
        own = argparse.ArgumentParser()
        own.add_argument("-c", type=Path)
        config = own.parse_args(arguments).c
    assert config == Path(INSTALLED_CONFIG)


class Instruction(NamedTuple):
    """One instruction of a Dockerfile; `stage` counts the FROMs before it, its own included."""

    stage: int
    name: str
    value: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.value)


def read_dockerfile(path: Path) -> list[Instruction]:
    """Read the instructions: comments left out, continued lines joined."""
    lines = [
        line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")
    ]
    found: list[Instruction] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, value = line.strip().partition(" ")
            stage = (found[-1].stage if found else 0) + (name == "FROM")
            found.append(Instruction(stage, name, value.strip()))
    return found
