"""The flags that several commands share, and the kinds of values they take."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import Any, Final

from elf.config.model import NOTE_TYPES

CONTEXT: Final = ("tenant", "project", "agent")


def context(command: argparse.ArgumentParser, names: Sequence[str] = CONTEXT) -> None:
    """Add the flags of a context that have these names; the others have no value."""
    command.set_defaults(**dict.fromkeys(CONTEXT))
    for name in names:
        command.add_argument(f"--{name}", metavar="ID", help="(default: that of [defaults])")


def optional_context(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "context", "without any of these: that of [defaults], then the id alone"
    )
    for name in CONTEXT:
        group.add_argument(f"--{name}", metavar="ID")


def scope(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument("--scope", help=f"({default})")


def note_defaults(command: argparse.ArgumentParser) -> None:
    command.add_argument("--type", default="fact", help=f"one of {', '.join(NOTE_TYPES)} (default: fact)")
    for name, default in (("importance", 0.5), ("confidence", 0.8)):
        command.add_argument(
            f"--{name}", type=number, default=default, metavar="0..1", help=f"(default: {default})"
        )


def json_flag(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the service's answer as it is")


def number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


number.__name__ = "number"  # argparse names the function in its message


def json_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


json_object.__name__ = "JSON object"
