"""The flags of `elf search` that say what notes have to be to be found."""

from __future__ import annotations

import argparse
import json
from typing import Any, Never

from elf.config.model import NOTE_TYPES


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the flags to a command."""
    group = command.add_argument_group("filters", "find only notes for which all of these hold")
    group.add_argument(
        "--type", action="append", choices=NOTE_TYPES, help="of this type; given again, of that one as well"
    )
    add_key_and_period(group)
    group.add_argument("--scope", action="append", help="of this scope; given again, of that one as well")
    group.add_argument(
        "--source",
        action="append",
        type=_source_field,
        metavar="FIELD=VALUE",
        help="whose source_ref has this field (app.name is one within another); FIELD:=7 takes the value as JSON",
    )


def add_key_and_period(command: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add the flags that lists of notes have, too."""
    command.add_argument("--key-prefix", metavar="TEXT", help="whose key begins so, in the same case")
    command.add_argument(
        "--since",
        metavar="MOMENT",
        help="last changed then or later: 2026-01-31T09:30:00Z, or 2026-01-31, which is its midnight in UTC",
    )
    command.add_argument("--until", metavar="MOMENT", help="last changed before")


def given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of the client's search that the flags stand for."""
    return {
        "type": options.type,
        "key_prefix": options.key_prefix,
        "scope": options.scope,
        "updated_since": options.since,
        "updated_before": options.until,
        "source": dict(options.source) if options.source else None,
    }


def _source_field(text: str) -> tuple[str, Any]:
    path, is_given, value = text.partition("=")
    if not is_given:
        raise ValueError(text)
    if path.endswith(":"):
        return path[:-1], json.loads(value, parse_constant=_no_number)
    return path, value


_source_field.__name__ = "FIELD=VALUE"  # argparse names the function in its message


def _no_number(text: str) -> Never:
    raise ValueError(text)  # NaN and infinity, which are no JSON
