"""The client of the toy family."""

from __future__ import annotations

from uuid import UUID

from msgspec import Struct

from elf.client.call import Call, filled, get, post, reader
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ROOT = "/v1/toy_corpus"


class Story(Struct, frozen=True):
    story_id: UUID
    text: str
    score: float | None


class Stories(Struct, frozen=True):
    trace_id: UUID
    stories: list[Story]


class Explained(Struct, frozen=True):
    query: str
    story_ids: list[UUID]
    stages: list[str]
    degraded: list[str]


class StoryClient(FamilyClient[C_co]):
    name = "toy_corpus"
    about = "stories, found by what they tell"

    @method
    def tell(self, text: str) -> Call[Story]:
        """Tell a story."""
        return post(f"{ROOT}/stories", {**self.owner, "text": text}, reader(Story), repeat="undone")

    @method
    def retell(self, story_id: UUID | str, text: str) -> Call[Story]:
        """Tell a story anew. Raises NotFound."""
        return post(f"{ROOT}/retell", {**self.owner, "story_id": story_id, "text": text}, reader(Story))

    @method
    def end(self, story_id: UUID | str) -> Call[Story]:
        """End a story. Raises NotFound."""
        return post(f"{ROOT}/end", {**self.owner, "story_id": story_id}, reader(Story))

    @method
    def find(self, query: str, *, limit: int | None = None) -> Call[Stories]:
        """Find stories."""
        return post(f"{ROOT}/find", {**self.owner, "query": query, "limit": limit}, reader(Stories))

    @method
    def explain(self, trace_id: UUID | str) -> Call[Explained]:
        """Say how stories were found. Raises NotFound."""
        return get(
            filled(f"{ROOT}/searches/{{trace_id}}", {"trace_id": trace_id}), self.owner, reader(Explained)
        )
