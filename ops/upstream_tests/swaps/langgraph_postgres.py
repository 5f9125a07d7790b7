"""Puts the store of ELF in the place of LangGraph's store in Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, LiteralString, TypeVar

import psycopg
import pytest

from elf.client import AsyncClient
from elf.langgraph import ElfStore
from ops.upstream_tests import standing_in
from ops.upstream_tests.embedder import Characters

T = TypeVar("T")

_SQL: Final = "its tables, migrations and patterns in SQL"
_MODEL: Final = "the model of a store: ELF's is the service's"
NOT_APPLICABLE: Final[Mapping[str, str]] = {
    r"\[.*(pipe|pool)": "the same, over another connection to Postgres",
    r"(halfvec|inner_product|l2|hamming)": "another type of vector, or another distance than the cosine",
    r"test_(escape_like_literal|namespace_match_pattern|nonnull_migrations)": _SQL,
    r"search_pagination\[default\]|single_pool_checkout": _SQL,
    r"test_vector_store_initialization": _MODEL,
    r"test_omit_expired_disabled": "reading what has expired: ELF never does",
    r"test_large_batches_async": "60,000 calls at once by one client: of ELF each is a request, which takes too long",
    r"test_no_running_loop": "refusing a sync call within a loop: ELF's holds the loop up",
}
TTL: Final[Any] = {"default_ttl": 0.1, "refresh_on_read": True, "sweep_interval_minutes": 0.05}
LONG: Final[Any] = {"default_ttl": 2.0, "refresh_on_read": True}


def swap() -> None:
    """Nothing is made but by fixtures and by a function of the tests."""


def swap_in(module: Any) -> None:
    is_async = module.__name__.endswith("test_async_store")
    if is_async:
        module._create_vector_store = _async_vector_store
        module._aexpire_now, module._arow_exists, module._astored_expires_at = (
            _awaited(one) for one in (_expire_now, _row_exists, _stored_expires_at)
        )
    else:
        module._create_vector_store = _vector_store
        module._expire_now, module._row_exists = _expire_now, _row_exists
        module._stored_expires_at = _stored_expires_at


def fixture(name: str, request: pytest.FixtureRequest) -> Any:
    is_async = request.module.__name__.endswith("test_async_store")
    match name:
        case "fake_embeddings":
            return Characters()
        case "store" if is_async:
            return request.getfixturevalue("elf_async_store")
        case "store":
            return _Store(standing_in.user())
        case "clear_test_db" | "conn":
            return "nothing"
        case _:
            return None


class _Store(ElfStore):
    """A store of a user, whose garbage the service collects: there is no sweeper to be started or stopped."""

    def __init__(
        self,
        user: str,
        client: AsyncClient | None = None,
        *,
        fields: Sequence[str] | None = None,
        ttl: Any = TTL,
    ) -> None:
        self.user = user
        super().__init__(standing_in.client(user), client, user_id=user, fields=fields, ttl=ttl)

    def start_ttl_sweeper(self) -> _Awaitable:
        return _Awaitable()

    def stop_ttl_sweeper(self) -> _Awaitable:
        return _Awaitable()


class _Awaitable:
    """What may be awaited or not."""

    def __await__(self) -> Iterator[None]:
        return iter(())


def _rows(store: _Store, sql: LiteralString, namespace: Sequence[str], key: str) -> list[Any]:
    """Ask the database of the service about an item."""
    with psycopg.connect(standing_in.dsn(), autocommit=True) as connection:
        where: LiteralString = " WHERE user_id = %s AND namespace = %s AND key = %s"
        cursor = connection.execute(sql + where, (store.user, [*namespace], key))
        return cursor.fetchall() if cursor.description else []


def _expire_now(store: _Store, ns: Sequence[str], key: str) -> None:
    _rows(store, "UPDATE store_items SET expires_at = now() - interval '1 minute'", ns, key)


def _row_exists(store: _Store, ns: Sequence[str], key: str) -> bool:
    return bool(_rows(store, "SELECT 1 FROM store_items", ns, key))


def _stored_expires_at(store: _Store, ns: Sequence[str], key: str) -> Any:
    ((expires_at,),) = _rows(store, "SELECT expires_at FROM store_items", ns, key)
    return expires_at


def _awaited(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
    async def call(*arguments: Any) -> T:
        return await asyncio.to_thread(function, *arguments)

    return call


@contextmanager
def _vector_store(
    vector_type: str,
    distance_type: str,
    fake_embeddings: Any,
    text_fields: Sequence[str] | None = None,
    enable_ttl: bool = True,
) -> Iterator[ElfStore]:
    yield _Store(standing_in.user(), fields=text_fields or ["$"], ttl=LONG if enable_ttl else None)


@asynccontextmanager
async def _async_vector_store(
    vector_type: str, distance_type: str, fake_embeddings: Any, text_fields: Sequence[str] | None = None
) -> AsyncIterator[ElfStore]:
    user = standing_in.user()
    async with standing_in.async_client(user) as client:
        yield _Store(user, client, fields=text_fields or ["$"], ttl=LONG)


@pytest.fixture
async def elf_async_store() -> AsyncIterator[ElfStore]:
    user = standing_in.user()
    async with standing_in.async_client(user) as client:
        yield _Store(user, client)
