"""What a family says of its corpus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elf.core.errors import InternalError
from elf.db.queries import Queries
from elf.indexing.chunks import Document
from elf.indexing.corpus import Corpus, CorpusTables
from tests.index_kit import TALKS

TABLES = CorpusTables(
    kind="talk",
    rows="talk_rows",
    key="entry_id",
    view="talks_corpus",
    chunks="talk_chunks",
    vectors="talk_vectors",
    outbox="talk_jobs",
    subject="talk_id",
    fields=("tenant_id", "speaker"),
)


def corpus(name: str, tables: CorpusTables = TABLES) -> Corpus:
    return Corpus(
        family="talks",
        name=name,
        space=TALKS,
        tables=tables,
        queries=tables.queries(),
        document=lambda row: Document({"tenant_id": row["tenant_id"]}),
        embedding_version="v",
        queue="talks_indexing",
    )


def test_the_statements_of_a_corpus_are_about_its_tables_and_no_others() -> None:
    text = "\n".join(TABLES.queries().values())
    assert "<" not in text.replace("<>", "").replace("<=", "").replace("< ", "")
    for name in (
        "talk_rows",
        "talk_id",
        "talks_corpus",
        "talk_chunks",
        "talk_vectors",
        "talk_jobs",
        "entry_id",
        "s.speaker",
    ):
        assert name in text
    assert "note" not in text


def test_a_statement_of_the_family_replaces_the_one_of_every_corpus() -> None:
    own = Queries({"lease_fairly": "SELECT 1", "find_talks": "SELECT 2"})
    queries = TABLES.queries(own)
    assert (queries["lease_fairly"], queries["find_talks"]) == ("SELECT 1", "SELECT 2")
    assert queries.keys() - {"find_talks"} == TABLES.queries().keys()


def test_a_corpus_whose_points_carry_nothing_is_refused() -> None:
    with pytest.raises(InternalError, match="the points of the corpus talks would carry nothing"):
        corpus("talks", replace(TABLES, fields=()))


def test_corpora_are_rebuilt_under_locks_of_their_own() -> None:
    locks = {corpus(name).rebuild_lock for name in ("notes", "talks", "notes2")}
    assert len(locks) == 3
    assert all(-(2**63) <= lock < 2**63 for lock in locks)
