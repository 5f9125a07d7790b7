"""The store, asked as a user of a tenant of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from pgvector import Vector

from elf.api.caller import Caller
from elf.db.database import Database
from elf.db.garbage import GarbageStep
from elf.families.store.api import operations as a
from elf.offers import Subjects
from tests.families.offers_house import OffersHouse


@dataclass(frozen=True)
class Store:
    """`house` has the model and the clock, which a test may turn."""

    house: OffersHouse
    database: Database
    tenant: str
    user: str = "ana"

    def of(self, user: str) -> Store:
        return replace(self, user=user)

    async def ask(self, operation: Any, /, **request: Any) -> Any:
        """Return the JSON of an answer."""
        answer = await self.house.do(
            "store", operation, Caller(user=self.user), tenant_id=self.tenant, **request
        )
        return None if answer is None else msgspec.json.decode(msgspec.json.encode(answer))

    async def put(self, namespace: Sequence[str], key: str, value: Any, **other: Any) -> None:
        await self.ask(a.PUT, namespace=[*namespace], key=key, value=value, **other)

    async def get(self, namespace: Sequence[str], key: str, **other: Any) -> Any:
        return (await self.ask(a.GET, namespace=[*namespace], key=key, **other))["item"]

    async def find(self, *namespace: str, **other: Any) -> list[Any]:
        return (await self.ask(a.SEARCH, namespace=[*namespace], **other))["items"]  # type: ignore[no-any-return]

    async def keys(self, *namespace: str, **other: Any) -> list[str]:
        return [one["key"] for one in await self.find(*namespace, **other)]

    async def batch(self, *ops: dict[str, Any]) -> list[Any]:
        return (await self.ask(a.BATCH, ops=[*ops]))["results"]  # type: ignore[no-any-return]

    async def namespaces(self, **other: Any) -> list[list[str]]:
        return (await self.ask(a.NAMESPACES, **other))["namespaces"]  # type: ignore[no-any-return]

    async def rows(self, sql: str, *arguments: Any) -> list[Any]:
        """Look into the database; $1 is the tenant."""
        async with self.database.connection() as connection:
            return await connection.fetch(sql, self.tenant, *arguments)

    def garbage(self, name: str) -> GarbageStep:
        (step,) = (one for one in self.house.opened["store"].garbage if one.name == name)
        return step

    @property
    def subjects(self) -> Subjects:
        subjects = self.house.opened["store"].subjects
        assert subjects is not None
        return subjects


def one_hot(place: int) -> Any:
    """Return a vector that has nothing in common with that of another place."""
    return Vector([float(at == place) for at in range(384)]).to_numpy()
