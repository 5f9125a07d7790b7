"""The families of memory that this service offers: a new one is one entry here."""

from __future__ import annotations

from typing import Final

from elf.families.notes.manifest import NOTES
from elf.family import Family

FAMILIES: Final[tuple[Family, ...]] = (NOTES,)
