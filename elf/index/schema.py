"""What points of every space have, and every engine lays out alike: names of vectors and of payload fields."""

from __future__ import annotations

from typing import Final
from uuid import UUID

DENSE: Final = "dense"
BM25: Final = "bm25"
UPDATED_AT_FIELD: Final = "updated_at"
CREATED_AT_FIELD: Final = "created_at"
MOMENT_FIELDS: Final = (CREATED_AT_FIELD, UPDATED_AT_FIELD)
KEY_FIELD: Final = "key"
TAGS_FIELD: Final = "_tags"
EVERY_TAG: Final = UUID(int=0)
"""The tag of a point that would have too many: it is found by any tag."""
