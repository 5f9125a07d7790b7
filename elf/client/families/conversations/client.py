"""The client of the conversations family."""

from __future__ import annotations

from elf.client.families.conversations.finding import Finding
from elf.client.families.conversations.operating import Operating
from elf.client.families.conversations.sessions import Sessions
from elf.client.families.conversations.sharing import Sharing
from elf.client.families.conversations.talking import Talking
from elf.client.family import C_co


class ConversationsClient(
    Operating[C_co], Finding[C_co], Sharing[C_co], Sessions[C_co], Talking[C_co]
):  # help lists what the last of them has first
    """What users and agents said, and what agents remember of it. docs/conversations.md shows it."""

    name = "conversations"
    about = "what users and agents said, and what agents remember of it"
    owned_by = ()
