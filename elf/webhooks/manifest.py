"""Webhooks, as everything that knows only families sees them: opened behind all that keep memory, as they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from elf.family import Family, Opened
from elf.webhooks.api import ADMIN_OPERATIONS
from elf.webhooks.model import FAMILY

if TYPE_CHECKING:
    from elf.ground import Ground


def _about(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    return "Tells receivers elsewhere what became of items."


def _open(ground: Ground) -> Opened:
    from elf.webhooks.opening import open_webhooks

    return open_webhooks(ground)


WEBHOOKS: Final = Family(
    name=FAMILY,
    operations=(),
    admin_operations=ADMIN_OPERATIONS,
    about=_about,
    open=_open,
)
