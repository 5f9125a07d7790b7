"""What a memory family puts into the vector index: all that it says of it, and nothing of how it gets there.

A family has a table of subjects (notes, entries of a conversation), and a view over it that says what the index needs
to know of each: `subject_id`, `tenant_id`, `text`, `created_at`, `changed_at` (equal to it, then later with each
change), `is_active`, `expires_at` (may be null), `embedding_version` (that of whoever wrote it, see Fleet), and
whatever its points are to carry. Whoever writes a subject tells so in the same transaction (elf/indexing/writes.py);
all else is done here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from elf.core.errors import InternalError
from elf.db.queries import Queries, sql_folder
from elf.index.space import Space
from elf.indexing.chunk_vectors import KeepsVectors
from elf.indexing.chunks import Document
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import outbox_queries


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusTables:
    """The tables of a corpus, as sql/indexing names them.

    `rows` holds the subjects, by `key`, with the embedding_version that each is found by, `view` is told above,
    `chunks` and `vectors` are what is made of them, `outbox` are the jobs. `subject` is the column of these and of the
    chunks that names the subject. `fields` are the columns of the view that points are made of. `kind` is what
    operators call a subject, such as note.
    """

    kind: str
    rows: str
    key: str
    view: str
    chunks: str
    vectors: str
    outbox: str
    subject: str
    fields: Sequence[str]

    @classmethod
    def of(cls, corpus: str, *, kind: str, rows: str, key: str, fields: Sequence[str]) -> CorpusTables:
        r"""Return the tables that sql/indexing/tables.sql makes for a corpus, and its view `<corpus>_corpus`.

        The schema steps of a family make `rows` and the view, and have these lines for the others:

            \ir ../indexing/tables.sql corpus=talks rows=talk_entries key=entry_id
            \ir ../indexing/discarded-jobs.sql corpus=talks
            \ir ../indexing/lanes.sql corpus=talks
        """
        return cls(
            kind=kind,
            rows=rows,
            key=key,
            view=f"{corpus}_corpus",
            chunks=f"{corpus}_chunks",
            vectors=f"{corpus}_chunk_embeddings",
            outbox=f"{corpus}_indexing_outbox",
            subject="subject_id",
            fields=fields,
        )

    def queries(self, own: Queries | None = None) -> Queries:
        """Return the statements of the corpus with those of its outbox, and `own`, which replace those of one name.

        Raises StartupError when they cannot be read.
        """
        values = {
            "rows": self.rows,
            "key": self.key,
            "view": self.view,
            "chunks": self.chunks,
            "vectors": self.vectors,
            "outbox": self.outbox,
            "subject": self.subject,
            "fields": ", ".join(f"s.{field}" for field in self.fields),
        }
        common = Queries.load(sql_folder() / "indexing", values=values)
        tenant = f"(SELECT s.tenant_id FROM {self.view} AS s WHERE s.subject_id = o.{self.subject})"
        about = JobSubject(kind=f"'{self.kind}'", tenant=tenant)
        own = Queries({**common, **(own or {})})
        return outbox_queries(self.outbox, subject=self.subject, about=about, own=own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The chunks of one family's texts with their vectors in Postgres, of which the index is a copy.

    `name` is lower_snake_case and says in logs, in metrics and to operators which corpus is meant; `queue` is the name
    of the queue by which it gets into the index, and its own among those of all families. `queries` are those of its
    tables. `document` says what the points of a subject carry: it is given a row with the `fields` of the tables.
    `embedding_version` is that of the configured model. `keeper` keeps what is made of subjects where that is more
    than chunks and their vectors.
    """

    family: str
    name: str
    space: Space
    tables: CorpusTables
    queries: Queries
    document: Callable[[Mapping[str, Any]], Document]
    embedding_version: str
    queue: str
    keeper: KeepsVectors | None = None

    def __post_init__(self) -> None:
        if not self.tables.fields:
            raise InternalError(f"the points of the corpus {self.name} would carry nothing")

    @property
    def rebuild_lock(self) -> int:
        """The advisory lock of Postgres that whoever rebuilds this corpus holds."""
        name = f"elf rebuild {self.name}".encode()
        return int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True)
