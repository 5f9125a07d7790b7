"""The conversations family, as everything that knows only families sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from elf.config.tables.conversations import ConversationsTable
from elf.families.conversations.api.operations import OPERATIONS, PATHS
from elf.families.conversations.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground


def _open(ground: Ground) -> Opened:
    from elf.families.conversations.opening import open_conversations

    return open_conversations(ground)


def _about(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    return "Keeps conversations: everything said between users and agents."


CONVERSATIONS: Final = Family(
    name=FAMILY, table=ConversationsTable, operations=OPERATIONS, paths=PATHS, about=_about, open=_open
)
