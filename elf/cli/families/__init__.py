"""What commands of families have of their own, beyond what is made from the families' clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elf.cli.families.assistant import ASSISTANT
from elf.cli.families.graph import GRAPH
from elf.cli.families.knowledge import KNOWLEDGE
from elf.cli.families.memories import MEMORIES
from elf.cli.families.own_commands import OwnCommands

NOTHING: Final = OwnCommands()
OWN_COMMANDS: Final[Mapping[str, OwnCommands]] = {
    "graph": GRAPH,
    "assistant": ASSISTANT,
    "knowledge": KNOWLEDGE,
    "memories": MEMORIES,
}
