"""Puts the keeping of how things are done to work in a process."""

from __future__ import annotations

from elf.families.assistant.api.procedures import ADD_PROCEDURE
from elf.families.assistant.kit import Kit
from elf.families.assistant.procedures.service import ProcedureAdding
from elf.family import Opened
from elf.ground import Ground


def open_procedures(ground: Ground, kit: Kit) -> Opened:
    """Return what adds how things are done."""
    if not ground.roles.serves:
        return Opened()
    return Opened(handlers={ADD_PROCEDURE.name: ProcedureAdding(kit).add})
