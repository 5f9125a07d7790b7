"""Text files of users, asked for over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.db.assistant.assistant_kit import AssistantHouse

A, B = "/memories/a.md", "/memories/b.md"


async def create(
    house: AssistantHouse, path: str = A, text: str = "Tea.\n", **more: Any
) -> Mapping[str, Any]:
    written: Mapping[str, Any] = await house.post("files/create", path=path, file_text=text, **more)
    return written


async def replace(house: AssistantHouse, old: str, new: str, status: int = 200, **more: Any) -> Any:
    return await house.post("files/str_replace", status, **{"path": A} | more, old_str=old, new_str=new)


async def texts(house: AssistantHouse, **query: Any) -> dict[str, str]:
    """What all files of a user say."""
    listed = (await house.get("files", limit=200, **query))["items"]
    return {one["path"]: (await house.get("files/text", path=one["path"], **query))["text"] for one in listed}
