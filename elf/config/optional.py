"""Tables that a config file may leave out, and each of their keys, too.

A key left out has the default that its field shows. A table left out means something else where its docstring says so:
with the spec's own tables alone, the spec's own rules hold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator

from elf.config.places import parse_folder
from elf.config.table import Table
from elf.config.values import Days, DaysOrNever, Positive, UnitInterval, Weight


class QdrantServer(Table):
    """[storage.qdrant.server]: how a Qdrant server is spoken to and its collection made.

    Without the table: REST, no API key, the server's own defaults and no tenant index. `shard_number`,
    `replication_factor` and `tenant_index` (points of a tenant lie together) take effect when the collection is made.
    """

    transport: Literal["rest", "grpc"] = "rest"
    grpc_port: Annotated[int, Field(ge=1, le=65_535)] = 6334
    api_key: Annotated[
        str, Field(pattern=r"^[\x21-\x7e]*\z", description="printable ASCII without spaces; empty for none")
    ] = ""
    shard_number: Annotated[int, Field(ge=1, le=10_000)] = 1
    replication_factor: Annotated[int, Field(ge=1, le=100)] = 1
    tenant_index: bool = False


class Merging(Table):
    """[memory.merging]: what becomes of a note without a key that is like a stored one.

    By the rule same_fact, the first of the `neighbours` nearest notes that states the same fact is the one, and only
    that. Without the table: SPEC_MERGING, by which the thresholds of [memory] alone decide about the nearest note.
    """

    rule: Literal["same_fact", "similarity"] = "same_fact"
    neighbours: Annotated[int, Field(ge=1, le=100)] = 8


SPEC_MERGING: Final = Merging(rule="similarity", neighbours=1)


class Fusion(Table):
    """[search.fusion]: how the two legs become one score of 0 to 1.

    `rerank_weight` and `retrieval_weight` weigh the reranker's score and the fused score in the final score. Without
    the table: SPEC_FUSION, reciprocal rank fusion with equal weights, where the rerank score alone ranks.
    """

    method: Literal["rrf", "minmax"] = "minmax"
    k: Positive = 60
    dense_weight: Weight = 0.5
    bm25_weight: Weight = 0.5
    rerank_weight: Weight = 0.9
    retrieval_weight: Weight = 0.1


SPEC_FUSION: Final = Fusion(
    method="rrf", k=60, dense_weight=1.0, bm25_weight=1.0, rerank_weight=1.0, retrieval_weight=0.0
)


class LocalRerank(Table):
    """[search.rerank]: how the `local:` reranker compares the words of chunks, and which matches are weak.

    `length_weight` is taken off a note's likeness for each time that its text is e times as long as 240 characters: the
    more words a note has, the better the best of them fits by chance. `weak_below` left out is WEAK_BELOW for `local:`;
    of the scores of another reranker nobody knows what they mean, unless it is given. `min_relevance` of 0 keeps all.
    Without the table, and for a reranker behind a URL, snippets are reranked, and their scores alone count.
    """

    max_words: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    chunks_per_note: Annotated[int, Field(ge=1, le=1000)] = 3
    words_per_chunk: Annotated[int, Field(ge=1, le=254)] = 254
    length_weight: Weight = 0.0275
    weak_below: float | None = None
    min_relevance: float = 0.0


WEAK_BELOW: Final = 0.42


class Budget(Table):
    """[search.budget]: how long a search may take before it answers without the parts that are slow.

    Without the table only the providers' own limits hold.
    """

    total_ms: Annotated[int, Field(ge=50, le=600_000)] = 5000


class Retention(Table):
    """[lifecycle.retention]: how long what gathers around notes is kept. Without the table: as long as they.

    Days are counted from when a hit, a decision or a version was made; 0 is for ever, and so is a key left out: what
    the file does not name is not thrown away. A note keeps its `versions_kept` newest versions whatever their age; what
    it is restored from is among the newest two.
    """

    hit_days: DaysOrNever = 0
    decision_days: DaysOrNever = 0
    version_days: DaysOrNever = 0
    versions_kept: Annotated[int, Field(ge=2, le=1_000_000)] = 20


class Indexing(Table):
    """[indexing]: how the outbox is worked off."""

    indexers: Annotated[int, Field(ge=1, le=64)] = 2
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 32
    lease_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    poll_interval_ms: Annotated[int, Field(ge=50, le=60_000)] = 1000


class Outbox(Table):
    """[outbox]: after how many deaths of processes that were at nothing else a job is given up."""

    max_process_deaths: Annotated[int, Field(ge=1, le=100)] = 3


class Recall(Table):
    """[recall]: what share of the answers of recall and context leave a trace; those that explain themselves all do."""

    trace_sample: UnitInterval = 1.0


REMEMBERED_BY: Final = ("conversations", "notes", "assistant")
"""The families that keep what is remembered where nobody says which, as far as they are on."""


class Remember(Table):
    """[remember]: the families that keep what is remembered, in their order. Without it: REMEMBERED_BY.

    A language model is asked about at most `max_extractions` messages of a request; what the user says in others stays
    in the conversation alone.
    """

    families: (
        Annotated[
            list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\z")]],
            Field(min_length=1, description="a list of names of families"),
        ]
        | None
    ) = None
    max_extractions: Annotated[int, Field(ge=1, le=64)] = 16


class Gc(Table):
    """[gc]: how often what has outlived its time is collected."""

    interval_hours: Annotated[int, Field(ge=1, le=8784)] = 24
    batch_size: Annotated[int, Field(ge=1, le=10_000)] = 500


class Audit(Table):
    """[audit]: how long calls of the admin server stay in the audit log."""

    retention_days: Days = 365


class LocalModel(Table):
    """[local_model]: the models behind `local:`.

    `cache_dir` is the folder of the fetched models and the graphs built from them; empty means the user's cache folder.
    """

    cache_dir: Annotated[str, Field(description="a folder; empty for the user's cache folder")] = ""
    threads: Annotated[int, Field(ge=1, le=256)] = 2
    token_cache_mb: Annotated[int, Field(ge=0, le=1_000_000)] = 8

    @field_validator("cache_dir")
    @classmethod
    def _is_a_folder(cls, value: str) -> str:
        return str(parse_folder(value)) if value.strip() else ""

    def anchored(self, folder: Path) -> Self:
        """Return the table with a relative folder taken as below `folder`."""
        return self.model_copy(update={"cache_dir": str(folder / self.cache_dir)}) if self.cache_dir else self
