"""Entries of histories as a corpus of the vector index: their texts, each under the tree it was said in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.db.queries import Queries
from elf.families.conversations.model import FAMILY
from elf.index.space import Space
from elf.indexing.chunks import Document
from elf.indexing.corpus import Corpus, CorpusTables
from elf.search.kept_tokens import ChunkVectorsAndTokens
from elf.search.token_store import TokenStore, TokenTable

QUEUE: Final = "conversations_indexing"
TENANT: Final = "tenant_id"
CREATOR: Final = "creator"
TREE: Final = "tree_id"
_VERSION: Final = "embedding_version"

CHUNK_TOKENS: Final = TokenTable(tokens="conversations_chunk_tokens", chunks="conversations_chunks")
TABLES: Final = CorpusTables.of(
    FAMILY, kind="entry", rows="conversation_texts", key="entry_id", fields=(TENANT, TREE, CREATOR)
)
SPACE: Final = Space(
    name=FAMILY,
    owner_field="entry_id",
    keyword_fields=(TENANT, CREATOR, TREE, _VERSION),
    average_length=30.0,  # most of what is said is a sentence or two, some of it pages
    place_fields=(TENANT,),
    reader_fields=(TENANT, CREATOR, TREE, _VERSION),
    combined_fields=((TENANT, _VERSION, CREATOR), (TENANT, _VERSION)),
)


def conversations_corpus(
    queries: Queries, *, embedding_version: str, tokens: TokenStore | None = None
) -> Corpus:
    """Return the corpus; `queries` are those of the family. Token vectors are kept where there are `tokens`."""
    own = TABLES.queries(queries)
    return Corpus(
        family=FAMILY,
        name=FAMILY,
        space=SPACE,
        tables=TABLES,
        queries=own,
        document=_document,
        embedding_version=embedding_version,
        queue=QUEUE,
        keeper=None if tokens is None else ChunkVectorsAndTokens(own, tokens, CHUNK_TOKENS),
    )


def _document(row: Mapping[str, Any]) -> Document:
    return Document({TENANT: row[TENANT], TREE: str(row[TREE]), CREATOR: row[CREATOR]})
