"""Puts the taking in of turns to work in a process."""

from __future__ import annotations

from elf.db.garbage import GarbageStep
from elf.families.assistant.api import turn as t
from elf.families.assistant.kit import Kit
from elf.families.assistant.model import FAMILY
from elf.families.assistant.turn.garbage import TurnGarbage
from elf.families.assistant.turn.remembering import TurnRemembering
from elf.families.assistant.turn.service import TurnTaking
from elf.families.assistant.turn.writing import OUTCOMES
from elf.family import Opened, Total
from elf.ground import Ground


def open_turn(ground: Ground, kit: Kit) -> Opened:
    """Return what takes in turns, and what removes what they leave behind."""
    garbage = TurnGarbage(kit)
    steps = [
        GarbageStep(FAMILY, "old_assistant_turns", garbage.drop_turns),
        GarbageStep(FAMILY, "old_assistant_budgets", garbage.drop_budgets),
    ]
    passes = Total(
        name="elf_assistant_turn_texts_total",
        about="Texts that an engine took out of turns: those that passed at first, were trimmed, and were rejected.",
        labels=("engine", "outcome"),
        read=lambda: {(kit.engine, outcome): float(kit.passes[kit.engine, outcome]) for outcome in OUTCOMES},
    )
    if kit.texts is None:
        return Opened(garbage=steps, totals=[passes])
    taking = TurnTaking(kit)
    return Opened(
        handlers={t.TAKE.name: taking.take} if ground.roles.serves else {},
        garbage=steps,
        totals=[passes],
        remember=TurnRemembering(taking),
    )
