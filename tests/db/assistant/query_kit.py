"""Memories to be asked for, and asking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.db.assistant.assistant_kit import USER, AssistantHouse
from tests.notes_kit import at_cosine, unit

QUERY: Final = "deployment plan context"
"""What is asked; its vector is that which `near` counts from."""


async def ask(house: AssistantHouse, status: int = 200, /, **body: Any) -> Any:
    """Ask as the planner, of the user that the house has."""
    house.model.known[QUERY] = unit(1.0)
    filters = {"user_id": USER} | body.pop("filters", {})
    said = {"agent": "planner", "query": QUERY, "filters": filters, "user_id": None}
    return await house.post("memory/query", status, **(said | body))


async def near(
    house: AssistantHouse, cosine: float, text: str, category: str = "tasks", **other: Any
) -> Mapping[str, Any]:
    """Add a memory whose vector has this cosine to that of the query."""
    house.model.known[text] = at_cosine(cosine)
    added: Mapping[str, Any] = await house.add(text, category, **other)
    return added


def texts(memories: list[Mapping[str, Any]]) -> list[str]:
    return [memory["text"] for memory in memories]
