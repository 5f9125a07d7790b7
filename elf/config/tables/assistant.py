"""[assistant]: what an assistant remembers of its users. The family is on where the file has the table."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from elf.config.table import Table

Cosine = Annotated[float, Field(ge=-1.0, le=1.0)]
Weight = Annotated[float, Field(ge=0.0, le=100.0)]
Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="1-64 letters, digits, dots, _ and -",
    ),
]
AgentName = Annotated[str, Field(min_length=1, max_length=128)]

LARGEST_FILE: Final = 200_000
"""The most bytes that a config may let a file have."""

RAG_LENGTH: Final = 20
"""How many memories of a category are ranked where the config does not say."""


class Category(Table):
    """A category of memories, and how agents get them.

    `context` all: whole, with each answer; rag: the `rag_length` that suit a query best are ranked.
    """

    name: Name
    context: Literal["all", "rag"] = "rag"
    rag_length: Annotated[int, Field(ge=1, le=100)] | None = None

    @model_validator(mode="after")
    def _all_has_no_length(self) -> Self:
        if self.context == "all" and self.rag_length is not None:
            raise ValueError("rag_length is of categories whose context is rag")
        return self


def _of_the_system() -> list[Category]:
    return [
        Category(name="profile", context="all"),
        Category(name="event", rag_length=30),
        Category(name="activity", rag_length=50),
    ]


_SEVERAL: Final = "a list of tables with the keys name, context, rag_length"


class Categories(Table):
    """[assistant.categories]: those of the system, and one's own. A name that only allowlists have is rag, too."""

    system: Annotated[list[Category], Field(description=_SEVERAL)] = Field(default_factory=_of_the_system)
    custom: Annotated[list[Category], Field(description=_SEVERAL)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        names = Counter(category.name for category in (*self.system, *self.custom))
        if doubled := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"two categories are called {doubled[0]}")
        return self


def _allowlists() -> dict[str, list[str]]:
    return {
        "supervisor": [
            "profile", "goals", "preferences", "event", "activity", "relationships", "tasks", "relationship_dynamic",
        ],
        "planner": ["goals", "tasks", "projects", "procedural"],
        "stylist": ["preferences", "tone", "style"],
        "researcher": ["knowledge", "interests", "history"],
        "executor": ["tasks", "recent_activity", "constraints", "procedural"],
    }  # fmt: skip


class Ranking(Table):
    """[assistant.ranking]: how much each term counts in the score of a memory.

    `words` counts only where a query has a vector, too: without one, words stand in for the cosine.
    """

    cosine: Weight = 0.55
    importance: Weight = 0.20
    recency: Weight = 0.15
    pinned: Weight = 0.10
    related: Weight = 0.05
    words: Weight = 0.0


class Merging(Table):
    """[assistant.merging]: what is like what is known becomes one with it.

    Cosines of at least `auto_update` are decided by rules, those of at least `check_low` looked at one by one, and
    those of at least `fallback_low` where words are shared, too, and the category is one of `fallback_categories`, or
    these are empty. `mode` says whether a merge makes a new memory or changes the old one.
    """

    auto_update: Cosine = 0.85
    check_low: Cosine = 0.60
    fallback_low: Cosine = 0.30
    fallback_categories: Annotated[list[Name], Field(description="a list of names of categories")] = Field(
        default_factory=list
    )
    mode: Literal["recreate", "update"] = "recreate"

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.fallback_low <= self.check_low <= self.auto_update:
            raise ValueError("fallback_low must be at most check_low, and that at most auto_update")
        return self


class Extraction(Table):
    """[assistant.extraction]: how much turns may write, and the least importance of what they add."""

    max_writes_per_turn: Annotated[int, Field(ge=1, le=16)] = 3
    max_writes_per_day: Annotated[int, Field(ge=1, le=10_000)] = 50
    min_importance: Annotated[int, Field(ge=1, le=5)] = 1


class Background(Table):
    """[assistant.background]: what is made of the last words of threads behind the back of turns.

    Without any of it no words are kept.
    """

    insights: bool = True
    episodes: bool = True
    procedures: bool = True


class Consolidation(Table):
    """[assistant.consolidation]: how much is spent on comparing memories that may be one, once a day.

    `max_pairs_per_day` and `seconds_per_user` are of a user; `token_budget_per_day` is of a tenant, and counts what a
    language model is asked and the longest answers that it may give.
    """

    max_pairs_per_day: Annotated[int, Field(ge=1, le=1000)] = 50
    token_budget_per_day: Annotated[int, Field(ge=0, le=1_000_000_000)] = 100_000
    seconds_per_user: Annotated[float, Field(gt=0.0, le=60.0)] = 30.0


class Files(Table):
    """[assistant.files]: how many text files a user may have, how many bytes one, and how many older texts of it stay.

    The step of the schema that finds words in them counts on the largest size.
    """

    max_bytes: Annotated[int, Field(ge=1024, le=LARGEST_FILE)] = 102_400
    max_files: Annotated[int, Field(ge=1, le=100_000)] = 2000
    max_versions: Annotated[int, Field(ge=0, le=1000)] = 20


class AssistantTable(Table):
    """[assistant]; each key is optional.

    Memories whose cosine is at least `link_min` are linked when one of them is written. A query waits for its vector
    for `embed_deadline_ms` at most, where the embedding model is behind a URL. `allowlists` are the categories that
    each agent may read; an agent that is not named reads none. With `share_threads` every agent of a user may write the
    threads of graphs that another one began. With `readable_checkpoints` the newest checkpoint of a thread is kept as
    JSON, too, unless the graph's serializer encrypts.
    """

    link_min: Cosine = 0.55
    share_threads: bool = False
    readable_checkpoints: bool = True
    embed_deadline_ms: Annotated[int, Field(ge=10, le=10_000)] = 100
    categories: Categories = Categories()
    allowlists: Annotated[
        dict[AgentName, Annotated[list[Name], Field(description="a list of names of categories")]],
        Field(description="a list of categories for each agent"),
    ] = Field(default_factory=_allowlists)
    ranking: Ranking = Ranking()
    merging: Merging = Merging()
    extraction: Extraction = Extraction()
    background: Background = Background()
    consolidation: Consolidation = Consolidation()
    files: Files = Files()

    @property
    def undeclared(self) -> list[str]:
        """The names, sorted, that allowlists have and `categories` does not: they are custom categories, too."""
        declared = {category.name for category in (*self.categories.system, *self.categories.custom)}
        listed = {name for names in self.allowlists.values() for name in names}
        return sorted(listed - declared - BUILT_IN)


BUILT_IN: Final = frozenset({"relationship_dynamic", "procedural"})
"""Categories that are there whatever the config says: of insights, and of how things are done."""
