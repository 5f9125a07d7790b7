"""Puts a session of ELF in the place of the package's own: that in SQLite, and the lists of its tests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, Final, TypeVar

import agents
import pytest

from elf.openai_agents import ElfSession
from ops.upstream_tests import standing_in

T = TypeVar("T")

_INSIDE: Final = "what is inside of a session in SQLite: its connections, locks, tables and corrupt rows"
_NATIVE: Final = "what the package does with sessions of its own alone, by their private methods"
NOT_APPLICABLE: Final[Mapping[str, str]] = {
    r"test_session\.py::test_sqlite_session_(close_|reaps_|closes_|keeps_|closed_|pop_item_(skips|returns)_)": _INSIDE,
    r"test_session\.py::test_sqlite_session_(get_items_limit_skips|get_items_session_settings_limit_skips)": _INSIDE,
    r"test_session\.py::test_sqlite_session_(file_lock|failed_|rollback_|post_commit_)": _INSIDE,
    r"test_encrypted_pop_(wrong_key|rechecks_auth|authentication_is_atomic|cancellation_waits)": _NATIVE,
    r"test_encrypted_compaction_skips_unencrypted": _NATIVE,
    r"scan_budget_rejects_negative_limit": "a limit below 0, which SQLite takes for all, and other sessions for none",
}


def swap() -> None:
    agents.SQLiteSession = _InAFile  # type: ignore[misc,assignment]
    lists: Any = import_module("tests.utils.simple_session")
    lists.SimpleListSession = _List
    for made_of_it in (lists.CountingSession, lists.IdStrippingSession):
        exec(inspect.getsource(made_of_it), vars(lists))


def swap_in(module: Any) -> None:
    """All modules take it from the package."""


def fixture(name: str, request: pytest.FixtureRequest) -> Any:
    return None


class _InAFile(ElfSession):
    """A session by its id, of the user who stands for the file."""

    def __init__(self, session_id: str, db_path: Any = None, **settings: Any) -> None:
        user = standing_in.user(None if db_path in (None, ":memory:") else str(db_path))
        super().__init__(session_id, standing_in.client(user), **settings)

    def close(self) -> None:
        """The client is closed behind the test."""


class _List(ElfSession):
    """A session with a history, whose items a test looks at."""

    def __init__(self, session_id: str = "test", history: list[Any] | None = None) -> None:
        super().__init__(session_id, standing_in.client(standing_in.user()))
        self._ignore_ids_for_matching = False
        if history:
            _done(ElfSession.add_items(self, history))

    @property
    def saved_items(self) -> list[Any]:
        return _done(ElfSession.get_items(self))

    @property
    def _items(self) -> list[Any]:
        return self.saved_items


def _done(doing: Coroutine[Any, Any, T]) -> T:
    """Do something async from within a loop, on another one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, doing).result()
