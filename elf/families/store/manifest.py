"""The store family, as everything that knows only families sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from elf.config.tables.store import StoreTable
from elf.families.store.api.operations import OPERATIONS
from elf.families.store.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.ground import Ground


def _about(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    return "Keeps values by namespace and key."


def _open(ground: Ground) -> Opened:
    from elf.families.store.opening import open_store

    return open_store(ground)


STORE: Final = Family(
    name=FAMILY,
    table=StoreTable,
    operations=OPERATIONS,
    about=_about,
    open=_open,
)
