"""Puts the store of ELF in the place of LangGraph's store in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from langgraph.store import memory

from elf.langgraph import ElfStore
from ops.upstream_tests import standing_in
from ops.upstream_tests.embedder import Characters

_MODEL: Final = "the model of a store: ELF's is the service's"
NOT_APPLICABLE: Final[Mapping[str, str]] = {
    r"test_vector_store_initialization": _MODEL,
    r"test_embed_with_path": "what has no vector, behind the others: ELF leaves it out, as a store in Postgres does",
}


def swap() -> None:
    memory.InMemoryStore = _InMemory  # type: ignore[misc]


def swap_in(module: Any) -> None:
    """All modules take it from the package."""


def fixture(name: str, request: pytest.FixtureRequest) -> Any:
    return Characters() if name == "fake_embeddings" else None


class _InMemory(ElfStore):
    """A store of somebody new; nothing is found by words where no model is given."""

    def __init__(self, *, index: Mapping[str, Any] | None = None) -> None:
        user = standing_in.user()
        fields = None if index is None else index.get("fields") or ["$"]
        super().__init__(standing_in.client(user), user_id=user, fields=fields)
