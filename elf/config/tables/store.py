"""[store]: values by namespace and key. The family is on where the file has the table."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from elf.config.table import Table
from elf.config.values import IndexedChars


class StoreTable(Table):
    """[store]; each key is optional.

    `most_vectors` is how many vectors one value may have: one for each text that its paths lead to. It is found by the
    first `indexed_content_chars` of these texts together.
    """

    most_vectors: Annotated[int, Field(ge=1, le=10_000)] = 500
    indexed_content_chars: IndexedChars = 100_000
