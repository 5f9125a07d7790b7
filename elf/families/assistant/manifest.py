"""The assistant family, as everything that knows only families sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from elf.config.model import Config
from elf.config.tables.assistant import AssistantTable
from elf.families.assistant.api.operations import ADMIN_OPERATIONS, OPERATIONS, operations_of
from elf.families.assistant.api.spans import MEMORY_SPANS
from elf.families.assistant.api.tools import TOOLS, instructions
from elf.families.assistant.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground


def _open(ground: Ground) -> Opened:
    from elf.families.assistant.opening import open_assistant

    return open_assistant(ground)


def _fit(family: Family, config: Config) -> Family:
    return replace(family, operations=operations_of(config.of(AssistantTable).files))


ASSISTANT: Final = Family(
    name=FAMILY,
    table=AssistantTable,
    operations=OPERATIONS,
    admin_operations=ADMIN_OPERATIONS,
    tools=TOOLS,
    about=instructions,
    open=_open,
    fit=_fit,
    spans=MEMORY_SPANS,
)
