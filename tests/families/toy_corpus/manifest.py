"""A family whose texts are in the vector index: stories, found by what they tell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from elf.api.operation import Operation
from elf.api.tool import Tool
from elf.config.table import Table
from elf.core.errors import NotFound
from elf.family import Family, Opened
from elf.index.space import Space

if TYPE_CHECKING:
    from elf.ground import Ground

Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00]+$")]
Text = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
IDS: Final = dict.fromkeys(("tenant_id", "project_id", "agent_id"), "")

STORIES: Final = Space(
    name="toy_corpus",
    owner_field="story_id",
    keyword_fields=("tenant_id", "project_id", "embedding_version"),
    average_length=20.0,
    place_fields=("tenant_id", "project_id"),
)


class ToyCorpusTable(Table):
    """[toy_corpus]: for how many days stories that are over are kept."""

    keep_days: int


class Place(BaseModel):
    """Who tells; whoever shares the project hears."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    tenant_id: Name
    project_id: Name
    agent_id: Name


class TellStory(Place):
    text: Text


class OneStory(Place):
    story_id: UUID


class Retell(OneStory):
    text: Text


class FindStories(Place):
    query: Text
    limit: Annotated[int, Field(ge=1, le=100)] = 5


class OneSearch(Place):
    trace_id: UUID


class Story(BaseModel):
    story_id: UUID
    text: str
    score: float | None = None


class Stories(BaseModel):
    trace_id: UUID
    stories: list[Story]


class Explained(BaseModel):
    query: str
    story_ids: list[UUID]
    stages: list[str]
    degraded: list[str]


BASE: Final = "/v1/toy_corpus"
TELL: Final = Operation("tell_story", "POST", f"{BASE}/stories", "Tell a story", TellStory, Story)
RETELL: Final = Operation(
    "retell_story", "POST", f"{BASE}/retell", "Tell a story anew", Retell, Story, errors=(NotFound,)
)
END: Final = Operation("end_story", "POST", f"{BASE}/end", "End a story", OneStory, Story, errors=(NotFound,))
FIND: Final = Operation("find_stories", "POST", f"{BASE}/find", "Find stories", FindStories, Stories)
EXPLAIN: Final = Operation(
    "explain_stories", "GET", f"{BASE}/searches/{{trace_id}}", "Say how stories were found",
    OneSearch, Explained, errors=(NotFound,),
)  # fmt: skip


def _about(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    return "Tells stories and finds them again."


def _open(ground: Ground) -> Opened:
    from tests.families.toy_corpus.teller import open_stories

    return open_stories(ground)


TOY_CORPUS: Final = Family(
    name="toy_corpus",
    table=ToyCorpusTable,
    sql=Path(__file__).parent / "sql",
    operations=(TELL, RETELL, END, FIND, EXPLAIN),
    tools=(
        Tool(
            name="find_stories", title="Find stories", operation=FIND, description="Finds stories.",
            arguments={**IDS, "query": "What they tell."}, read_only=True,
        ),
    ),
    about=_about,
    open=_open,
)  # fmt: skip
