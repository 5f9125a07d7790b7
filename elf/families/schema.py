"""The families that are on, and where the steps of their schema are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from elf.db.queries import sql_folder
from elf.db.schema import Step, schema_steps

NOTES: Final = "notes"


def families_on() -> list[tuple[str, Path]]:
    """Return the name and the folder of the steps of each family that this process has."""
    return [(NOTES, sql_folder() / NOTES)]


def steps_on() -> tuple[Step, ...]:
    """Return the steps that the database of this process needs, in their order."""
    return schema_steps(families_on())
