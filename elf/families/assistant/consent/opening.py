"""Puts what users agree to to work in a process."""

from __future__ import annotations

from elf.api.operation import Handler, Operation
from elf.db.garbage import GarbageStep
from elf.families.assistant.api import consent as c
from elf.families.assistant.consent.service import ConsentKeeping, ProposalExpiry
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import FAMILY
from elf.family import Opened
from elf.ground import Ground


def open_consent(ground: Ground, kit: Kit) -> Opened:
    """Return what tells and takes decisions, and what ends those that nobody takes."""
    expiry = ProposalExpiry(kit)
    garbage = [
        GarbageStep(FAMILY, "expired_assistant_proposals", expiry.expire),
        GarbageStep(FAMILY, "old_assistant_proposals", expiry.drop),
    ]
    if not ground.roles.serves:
        return Opened(garbage=garbage)
    consent = ConsentKeeping(kit)
    done_by: dict[Operation, Handler] = {
        c.CONTEXT: consent.context,
        c.LIST: consent.page,
        c.DECIDE: consent.decide,
    }
    return Opened(handlers={operation.name: handle for operation, handle in done_by.items()}, garbage=garbage)
