"""The bounds of conversations as a document of the API tells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from elf.web.schemas import resolved, without_null

ROOT = "/v1/conversations"
ENTRIES = f"{ROOT}/{{conversationId}}/entries"


def documented_bounds(document: Mapping[str, Any]) -> dict[str, int]:
    """Return them by their keys; those of levels and of metadata stand in no document."""
    paths, schemas = document["paths"], document["components"]["schemas"]

    def body(path: str) -> dict[str, Any]:
        return resolved(paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"], schemas)

    def field(path: str, name: str) -> dict[str, Any]:
        return without_null(body(path)["properties"][name])

    def parameter(path: str, name: str) -> dict[str, Any]:
        (one,) = (one for one in paths[path]["get"]["parameters"] if one["name"] == name)
        return dict(one["schema"])

    def size(path: str) -> int:
        told = paths[path]["post"]["requestBody"].get("description") or document["info"]["description"]
        return int(re.search(r"(\d+) bytes", told)[1])  # type: ignore[index]

    return {
        "body_bytes": size(ROOT),
        "entry_body_bytes": size(ENTRIES),
        "title_chars": field(ROOT, "title")["maxLength"],
        "user_id_chars": field(f"{ROOT}/{{conversationId}}/memberships", "userId")["maxLength"],
        "content_type_chars": field(ENTRIES, "contentType")["maxLength"],
        "query_chars": field(f"{ROOT}/search", "query")["maxLength"],
        "indexed_content_chars": field(ENTRIES, "indexedContent")["maxLength"],
        "content_items": field(ENTRIES, "content")["maxItems"],
        "index_batch": body(f"{ROOT}/index")["maxItems"],
        "limit": parameter(ROOT, "limit")["maximum"],
        "admin_limit": parameter("/v1/admin/conversations", "limit")["maximum"],
    }
