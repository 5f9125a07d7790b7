"""Rows of memories as they are told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from elf.families.knowledge import model as m
from elf.families.knowledge.api import rows
from elf.families.knowledge.rules.decay import effective_confidence

Row = Mapping[str, Any]


def told(kind: m.MemoryType, row: Row, now: datetime) -> rows.Episode | rows.Fact | rows.Rule:
    """Return a row, which has all columns but the vectors, as it is told at a moment."""
    if kind == "episode":
        return rows.Episode.model_construct(memory_type="episode", **row)
    return told_fact(row, now) if kind == "fact" else told_rule(row, now)


def told_fact(row: Row, now: datetime) -> rows.Fact:
    """Return a fact as it is told at a moment."""
    return rows.Fact.model_construct(memory_type="fact", effective_confidence=_effective(row, now), **row)


def told_rule(row: Row, now: datetime) -> rows.Rule:
    """Return a rule as it is told at a moment."""
    return rows.Rule.model_construct(memory_type="rule", effective_confidence=_effective(row, now), **row)


def _effective(row: Row, now: datetime) -> float:
    return effective_confidence(row["confidence"], row["decay_rate"], row["last_confirmed_at"], now)
