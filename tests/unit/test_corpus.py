"""What a family says of its corpus."""

from __future__ import annotations

import pytest

from elf.core.errors import InternalError
from elf.db.queries import Queries
from elf.indexing.corpus import STATEMENTS, Corpus
from tests.index_kit import TALKS


def corpus(name: str, *, without: str | None = None) -> Corpus:
    statements = {one: "SELECT 1" for one in STATEMENTS if one != without}
    return Corpus(
        name=name,
        space=TALKS,
        queries=Queries(statements),
        point=lambda row: row["point"],
        embedding_version="v",
    )


@pytest.mark.parametrize("missing", STATEMENTS)
def test_a_corpus_without_one_of_its_statements_is_refused_when_it_is_made(missing: str) -> None:
    with pytest.raises(InternalError, match=f"the corpus talks has no statement {missing}"):
        corpus("talks", without=missing)


def test_corpora_are_rebuilt_under_locks_of_their_own() -> None:
    locks = {corpus(name).rebuild_lock for name in ("notes", "talks", "notes2")}
    assert len(locks) == 3
    assert all(-(2**63) <= lock < 2**63 for lock in locks)
