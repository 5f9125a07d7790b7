"""The client of a family that this package has never heard of, and how a type checker sees it.

The lines that must not be are marked; a mark that is not needed is an error of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from typing import assert_type

import msgspec
from msgspec import Struct

from elf.client import AsyncClient, AsyncPages, Client, Note, Page, Pages, WriteResult, fail_open
from elf.client.call import Call, Listing, Stream, delete, filled, get, listing, nothing, post, reader
from elf.client.errors import ErrorBody, code_of
from elf.client.families.knowledge import ContextBlock, Episode, Fact, Rule
from elf.client.families.knowledge.results import StoredRule
from elf.client.family import C_co, FamilyClient
from elf.client.method import method


class Story(Struct, frozen=True):
    text: str


class Problem(Struct, frozen=True):
    problem: str


def told_plainly(status: int, content: bytes) -> ErrorBody | None:
    try:
        return ErrorBody(code_of(status), msgspec.json.decode(content, type=Problem).problem)
    except ValueError:
        return None


class Stories(FamilyClient[C_co]):
    name = "stories"
    about = "stories, found by what they tell"

    @method
    def tell(self, text: str, *, times: int = 1) -> Call[Story]:
        """Tell a story."""
        return post("/stories", {**self.owner, "text": text, "times": times}, reader(Story), repeat="undone")

    @method
    def tell_all(self, texts: Sequence[str]) -> Call[list[Story]]:
        """Tell several."""
        path = filled("/stories/{tenant_id}/{project_id}", self.owner)
        return post(path, list(texts), reader(list[Story]), method="PUT", whole="texts")

    @method
    def get(self, story_id: str) -> Call[Story]:
        """Hear a story again."""
        call = get(filled("/stories/{story_id}", {"story_id": story_id}), {}, reader(Story))
        return replace(call, read_error=told_plainly)

    @method
    def forget(self, story_id: str) -> Call[None]:
        """Forget a story."""
        return delete(filled("/stories/{story_id}", {"story_id": story_id}), self.owner, nothing)

    @method
    def list(self, *, limit: int | None = None) -> Listing[Story]:
        """List stories."""
        return listing("/stories", {"limit": limit}, Page[Story])

    @method
    def hear(self) -> Stream[Story]:
        """Hear one after the other."""
        return Stream(replace(get("/hear", {}, reader(Story)), read_error=told_plainly))


def plain(client: Client) -> None:
    stories = Stories(client)
    assert_type(stories.tell("x", times=3), Story)
    assert_type(stories.list(), Pages[Story])
    assert_type(stories.hear(), AbstractContextManager[Iterator[Story]])
    assert_type(client.add_note("x"), WriteResult)
    assert_type(client.list(), Pages[Note])
    assert_type(client.knowledge.store_rule("x"), StoredRule)
    assert_type(client.knowledge.get("rule", "x"), Episode | Fact | Rule)
    assert_type(client.knowledge.facts(tag="x"), Pages[Fact])
    assert_type(fail_open(client.knowledge.store_rule)("x"), StoredRule | None)
    fail_open(client.knowledge.store_rule)(3)  # type: ignore[arg-type]
    stories.tell(3)  # type: ignore[arg-type]
    stories.tell("x", time=3)  # type: ignore[call-arg]
    client.search()  # type: ignore[call-arg]


async def awaited(client: AsyncClient) -> None:
    stories = Stories(client)
    assert_type(stories.tell("x"), Awaitable[Story])
    assert_type(await stories.tell_all(["x"]), list[Story])
    assert_type(await stories.forget("x"), None)
    assert_type(stories.list(), AsyncPages[Story])
    assert_type(stories.hear(), AbstractAsyncContextManager[AsyncIterator[Story]])
    assert_type(await client.add_note("x"), WriteResult)
    assert_type(await client.knowledge.context("x", "y"), ContextBlock)
    assert_type(await fail_open(client.knowledge.context)("x", "y"), ContextBlock | None)
    assert_type(client.list(), AsyncPages[Note])
    await stories.tell(3)  # type: ignore[arg-type]
