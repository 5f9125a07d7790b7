"""The collection as every engine lays it out: names of vectors and of the payload fields that are indexed."""

from __future__ import annotations

from typing import Final
from uuid import UUID

DENSE: Final = "dense"
BM25: Final = "bm25"
OWNER_FIELD: Final = "note_id"
UPDATED_AT_FIELD: Final = "updated_at"
CREATED_AT_FIELD: Final = "created_at"
MOMENT_FIELDS: Final = (CREATED_AT_FIELD, UPDATED_AT_FIELD)
KEY_FIELD: Final = "key"
TAGS_FIELD: Final = "_tags"
EVERY_TAG: Final = UUID(int=0)
"""The tag of a point that would have too many: it is found by any tag."""
TENANT_FIELD: Final = "tenant_id"
KEYWORD_FIELDS: Final = (
    TENANT_FIELD,
    "project_id",
    "agent_id",
    "scope",
    "status",
    "type",
    "embedding_version",
)
PLACE_FIELDS: Final = (TENANT_FIELD, "project_id")
READER_FIELDS: Final = (*PLACE_FIELDS, "agent_id", "scope", "status", "embedding_version")
"""What a reader may see is a choice by these; any other field only says what is looked for."""
