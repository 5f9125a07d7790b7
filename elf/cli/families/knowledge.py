"""`elf knowledge`: how its answers look."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from elf.cli.families.own_commands import OwnCommands
from elf.cli.text import plain


def show_context(body: Mapping[str, Any]) -> None:
    """Print the text as an agent is to have it."""
    for name in body.get("degraded", ()):
        print(f"elf: answered without {plain(name)}", file=sys.stderr)
    for line in body["context"].splitlines():
        print(plain(line))


KNOWLEDGE: Final = OwnCommands(shown={"context": show_context})
