"""The conversations family, as everything that knows only families sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from elf.config.model import Config
from elf.config.tables.conversations import ConversationsTable
from elf.families.conversations.api.operations import OPERATIONS, PATHS, operations_of
from elf.families.conversations.api.tools import TOOLS, instructions, tools_of
from elf.families.conversations.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground


def _open(ground: Ground) -> Opened:
    from elf.families.conversations.opening import open_conversations

    return open_conversations(ground)


def _fit(family: Family, config: Config) -> Family:
    bounds = config.of(ConversationsTable).bounds
    return replace(family, operations=operations_of(bounds), tools=tools_of(bounds))


CONVERSATIONS: Final = Family(
    name=FAMILY,
    table=ConversationsTable,
    operations=OPERATIONS,
    paths=PATHS,
    tools=TOOLS,
    about=instructions,
    open=_open,
    fit=_fit,
)
