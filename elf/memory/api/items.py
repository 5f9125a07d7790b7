"""Reading an item by its address: request and operation."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.core.errors import NotFound, ScopeDenied
from elf.memory.api import fields as f
from elf.memory.api.recalling import TAG


class ReadItem(f.AboutSomebody):
    """The address of an item."""

    family: f.FamilyName
    kind: f.Kind
    id: f.ItemId


READ: Final = Operation(
    "read_item", "GET", "/v1/items/{family}/{kind}/{id}", "Read an item by its address", ReadItem, f.Item,
    tag=TAG, errors=(NotFound, ScopeDenied),
)  # fmt: skip
